package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/internal/filelock"
)

// entryLog receives a session's entries.
type entryLog interface {
	append(e *Entry) error
	close() error
}

// fileLog appends entries to a file, one JSON line each, and syncs after each.
type fileLog struct {
	f      *os.File
	buf    bytes.Buffer
	noSync bool
	size   int64
}

func (l *fileLog) append(e *Entry) error {
	if l.buf.Cap() > 1<<20 {
		l.buf = bytes.Buffer{} // one huge entry must not occupy memory for the rest of the session
	}
	l.buf.Reset()
	enc := json.NewEncoder(&l.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return &encodeError{err}
	}
	n, err := l.f.Write(l.buf.Bytes())
	if err != nil {
		// Remove a partial line, so that the file ends with a whole entry.
		return errors.Join(err, l.f.Truncate(l.size))
	}
	l.size += int64(n)
	if l.noSync {
		return nil
	}
	return l.f.Sync()
}

// encodeError reports an entry that cannot be written because of its content; the log is unchanged.
type encodeError struct{ err error }

func (e *encodeError) Error() string { return e.err.Error() }
func (e *encodeError) Unwrap() error { return e.err }

func (l *fileLog) close() error { return l.f.Close() }

// SessionOptions configures a session on disk. The zero value works.
type SessionOptions struct {
	ID     string            // letters, digits, '_' and '-'; empty creates one from the time and random bits
	Dir    string            // the workspace, for listings
	Labels map[string]string // for the host's own use
	Limits SessionLimits     // what all runs of the session may spend together; in OpenSession, zero keeps those of the log
	NoSync bool              // do not wait for the disk: entries then survive a killed process, not a power cut
	Now    func() time.Time  // nil means time.Now
}

var sessionID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)

// CreateSession creates a session whose log is dir/ID.jsonl, readable only by its owner. The
// directory is created if it is missing.
func CreateSession(dir string, opts SessionOptions) (*Session, error) {
	s := &Session{now: opts.Now}
	if s.now == nil {
		s.now = time.Now
	}
	id := opts.ID
	if id == "" {
		id = newSessionID(s.now())
	}
	s.meta = SessionMeta{ID: id, Created: s.now().UTC(), Dir: opts.Dir, Labels: opts.Labels, Limits: opts.Limits}
	if err := s.createFile(dir, opts.NoSync); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Session) createFile(dir string, noSync bool) error {
	if !sessionID.MatchString(s.meta.ID) {
		return fmt.Errorf("agent: create session: id %q must be letters, digits, '_' or '-', at most 128", s.meta.ID)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("agent: create session: %w", err)
	}
	path := filepath.Join(dir, s.meta.ID+".jsonl")
	f, err := regular.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("agent: create session: %w", err)
	}
	if err := lockFile(f); err != nil {
		f.Close()
		return fmt.Errorf("agent: create session %s: %w", path, err)
	}
	s.log = &fileLog{f: f, noSync: noSync}
	if err := s.write(&Entry{Type: EntrySession, Meta: &s.meta}); err != nil {
		f.Close()
		return err
	}
	return nil
}

// Recovery reports what [OpenSession] found and repaired.
type Recovery struct {
	Torn        *TornError // the log ended in the middle of an entry, which was cut off; nil otherwise
	Interrupted []ToolCall // calls that had begun without a recorded result: they may or may not have taken effect
	Skipped     []ToolCall // calls that were requested but never began
}

// OpenSession opens the log of an existing session to continue it, after a clean end or a crash at
// any point. Calls without a result receive one that tells the model what happened to them. The
// file is locked against use by a second process.
func OpenSession(path string, opts SessionOptions) (*Session, *Recovery, error) {
	f, err := regular.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("agent: open session: %w", err)
	}
	s, rec, err := openSession(f, opts)
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("agent: open session %s: %w", path, err)
	}
	return s, rec, nil
}

// lockFile keeps other processes from writing the log, if the system has locks that end with the
// process.
func lockFile(f *os.File) error {
	ok, err := filelock.Try(f)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil
	case err == nil && !ok:
		return errors.New("another process or session object has it open; close that one first, or fork it")
	}
	return err
}

func openSession(f *os.File, opts SessionOptions) (*Session, *Recovery, error) {
	if err := lockFile(f); err != nil {
		return nil, nil, err
	}
	s := &Session{now: opts.Now}
	if s.now == nil {
		s.now = time.Now
	}
	rec := &Recovery{}
	var l loader
	l.s = s
	for e, err := range ReadEntries(f) {
		if torn, ok := errors.AsType[*TornError](err); ok {
			rec.Torn = torn
			if err := f.Truncate(torn.Offset); err != nil {
				return nil, nil, fmt.Errorf("cut off the torn last entry: %w", err)
			}
			break
		}
		if err != nil {
			return nil, nil, err
		}
		if err := l.apply(e); err != nil {
			return nil, nil, err
		}
	}
	if s.meta.ID == "" {
		return nil, nil, errors.New("the log has no session entry; it is empty, or not a session")
	}
	if opts.Limits != (SessionLimits{}) {
		s.meta.Limits = opts.Limits
	}
	size, err := f.Seek(0, 2)
	if err != nil {
		return nil, nil, err
	}
	s.log = &fileLog{f: f, noSync: opts.NoSync, size: size}
	return s, rec, l.repair(rec)
}
