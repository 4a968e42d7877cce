package codestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/internal/filelock"
)

// A Store is an index of one work tree. It is safe for concurrent use: any number of Views, one
// writer at a time, in this process and in others.
type Store struct {
	format  Format
	opts    Options
	disk    disk
	writing chan struct{} // holds one token while this process runs a Sync or Update

	mu      sync.Mutex
	state   *state
	stamp   stamp  // of the manifest that state was read from
	memory  string // the reason why nothing is written; "" if the store writes
	rebuilt string // the reason why files found on disk were not used, until it has been reported
	usable  bool   // stamp is that of the manifest that state was read from, not that of an unreadable manifest
	closed  bool
	// diverged reports whether state has changes that are only in memory.
	diverged bool
}

// ErrClosed means that the store was closed.
var ErrClosed = errors.New("codestore: the store is closed")

// Open opens the store in dir, creating the directory if it is missing. An index in the directory
// is used if possible. An index that cannot be used is not an error: the next Sync builds it again
// and reports the reason. If the directory is not writable, the store works in memory, starting
// from the part that can be read, and says so in its reports.
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

// prepare creates the directory and checks whether it is writable. It returns the reason if it is
// not.
func (d *disk) prepare() (reason string) {
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return fmt.Sprintf("the index is kept in memory only: %v", err)
	}
	f, err := regular.OpenFile(d.at(lockName), os.O_RDWR|os.O_CREATE, 0o644)
	if err == nil {
		// Another process may hold the lock now, which is fine; a system without locks is not.
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

// Close closes the store. Views stay usable until they are closed.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.release(s.state)
}

// release drops a reference to a state. s.mu is held.
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

// release drops a reference to an open segment. Store.mu is held.
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
	_ = s.release(old) // unmapping a mapping does not fail
}

// rereads limits how often a manifest is read again because another process has meanwhile replaced
// the files it names.
const rereads = 20

// reload checks whether the manifest has changed and opens the index that it describes. Parts that
// cannot be used are left out, with the reason in s.rebuilt. s.mu is held.
func (s *Store) reload() {
	if s.diverged {
		return
	}
	for range rereads {
		fi, err := os.Stat(s.disk.at(manifestName))
		if err != nil || stampOf(fi) == s.stamp {
			return // an index whose directory has vanished stays readable
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

// begin waits until this process may write, and returns the up-to-date state that the caller is
// about to change.
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

// base returns the state that a writer starts from. The state is empty if the manifest on disk is
// not that of the current state: the process that replaced the manifest may have removed segments
// too, and the remaining ones are found again. s.mu is held.
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

// degrade switches the store to memory only.
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
