package codestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/luthier-dev/luthier/internal/filelock"
)

// A Store is an index of one work tree. It is safe for concurrent use: any number of Views, one
// writer at a time, in this process and in others.
type Store struct {
	format  Format
	opts    Options
	disk    disk
	writing chan struct{} // holds one token while a Sync or Update runs in this process

	mu      sync.Mutex
	state   *state
	stamp   stamp  // of the manifest that state was read from
	memory  string // why nothing is written; "" when it is
	rebuilt string // why what was found on disk could not be used, until a report has told it
	usable  bool   // stamp is that of the manifest that state was read from, not of one that cannot be read
	closed  bool
	// diverged says that state has changes that are in memory only.
	diverged bool
}

// ErrClosed says that the store was closed.
var ErrClosed = errors.New("codestore: the store is closed")

// Open opens the store in dir, making the directory when it is missing. What is found there is used
// as far as it can be; an index that cannot be used is no error, the next Sync builds it anew and
// says why. When the directory cannot be written the store works in memory, on top of what can be
// read, and says so in its reports.
func Open(dir string, f Format, opts Options) (*Store, error) {
	if f.Name == "" || f.Build == nil {
		return nil, errors.New("codestore: open store: the format needs a name and a Build function")
	}
	o := opts.withDefaults()
	s := &Store{format: f, opts: o, disk: disk{dir: dir, opts: o}, writing: make(chan struct{}, 1), state: &state{refs: 1}}
	s.memory = s.disk.prepare()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reload()
	return s, nil
}

// prepare makes the directory and tries whether it can be written; the result says why not.
func (d *disk) prepare() (reason string) {
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return fmt.Sprintf("the index is kept in memory only: %v", err)
	}
	f, err := os.OpenFile(d.at(lockName), os.O_RDWR|os.O_CREATE, 0o644)
	if err == nil {
		// Somebody may hold the lock now, which is fine; a system without locks is not.
		if _, err = filelock.Try(f); err == nil {
			return errText(f.Close())
		}
		_ = f.Close()
	}
	return fmt.Sprintf("the index is kept in memory only: %v", err)
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Close ends the store. Views stay usable until they are closed.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.release(s.state)
}

// release gives up a reference to a state. s.mu is held.
func (s *Store) release(st *state) error {
	if st.refs--; st.refs > 0 {
		return nil
	}
	var errs []error
	for _, seg := range st.segments {
		errs = append(errs, seg.file.release())
	}
	return errors.Join(errs...)
}

// release gives up a reference to an open segment. Store.mu is held.
func (f *segmentFile) release() error {
	if f.refs--; f.refs > 0 {
		return nil
	}
	f.values = nil
	return f.unmap()
}

// install makes st the current state. s.mu is held.
func (s *Store) install(st *state, at stamp) {
	for _, seg := range st.segments {
		seg.file.refs++
	}
	st.refs = 1
	old := s.state
	s.state, s.stamp, s.usable = st, at, true
	_ = s.release(old) // unmapping what was mapped does not fail
}

// rereads bounds how often a manifest is read again because another process replaced what it names
// meanwhile.
const rereads = 20

// reload looks whether the manifest has changed and opens the index it describes. What cannot be
// used is left out, with the reason in s.rebuilt. s.mu is held.
func (s *Store) reload() {
	if s.diverged {
		return
	}
	for range rereads {
		fi, err := os.Stat(s.disk.at(manifestName))
		if err != nil || stampOf(fi) == s.stamp {
			return // an index whose directory vanished stays readable
		}
		m, at, err := s.disk.readManifest(s.format)
		if err != nil {
			s.rebuilt, s.stamp, s.usable = err.Error(), at, false
			return
		}
		if m == nil {
			return
		}
		have := map[string]*segmentFile{}
		for _, seg := range s.state.segments {
			have[seg.file.name] = seg.file
		}
		st, lost := s.disk.loadState(m, s.format, have)
		if len(lost) > 0 {
			if fi, err := os.Stat(s.disk.at(manifestName)); err == nil && stampOf(fi) != at {
				dropUnused(st, have)
				continue
			}
			s.rebuilt = strings.Join(lost, "; ")
		} else {
			s.rebuilt = ""
		}
		s.install(st, at)
		return
	}
}

// dropUnused closes the segments of a state that was never installed.
func dropUnused(st *state, have map[string]*segmentFile) {
	for _, seg := range st.segments {
		if have[seg.file.name] == nil {
			_ = seg.file.unmap()
		}
	}
}

// begin waits until this process may write, and returns the state it is to change, up to date.
func (s *Store) begin(ctx context.Context) (st *state, end func(), err error) {
	select {
	case s.writing <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	unlock := func() {}
	s.mu.Lock()
	memory := s.memory
	s.mu.Unlock()
	if memory == "" {
		if unlock, err = s.disk.lock(ctx); err != nil {
			if ctx.Err() != nil {
				<-s.writing
				return nil, nil, err
			}
			unlock = func() {}
			s.degrade(err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		unlock()
		<-s.writing
		return nil, nil, ErrClosed
	}
	s.reload()
	st = s.base()
	st.refs++
	return st, func() {
		s.mu.Lock()
		_ = s.release(st)
		s.mu.Unlock()
		unlock()
		<-s.writing
	}, nil
}

// base returns the state that a writer starts from. It is empty when the manifest on disk is not
// that of the current state, since whoever did that may have removed segments too; those still
// there are found again. s.mu is held.
func (s *Store) base() *state {
	if s.diverged || s.memory != "" {
		return s.state
	}
	if _, err := os.Lstat(s.disk.at(manifestName)); err != nil || !s.usable {
		return &state{generation: s.state.generation}
	}
	var whole []*Segment
	var lost []string
	for _, seg := range s.state.segments {
		if why := seg.file.lost(); why != "" {
			lost = append(lost, seg.file.name+": "+why)
		} else {
			whole = append(whole, seg)
		}
	}
	if len(lost) == 0 {
		return s.state
	}
	s.rebuilt = strings.Join(lost, "; ")
	for _, seg := range whole {
		seg.file.refs++
	}
	return &state{generation: s.state.generation, segments: whole}
}

// degrade makes the store go on in memory.
func (s *Store) degrade(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.memory == "" {
		s.memory = fmt.Sprintf("the index is kept in memory only: %v", err)
	}
}

func (s *Store) inMemory() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.memory
}
