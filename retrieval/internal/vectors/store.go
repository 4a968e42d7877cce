package vectors

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/internal/filelock"
)

// Errors of a store.
var (
	ErrReadOnly = errors.New("vectors: another process is writing this store; what it adds is seen after Refresh")
	ErrClosed   = errors.New("vectors: the store is closed")
)

// Config describes the vectors of a store.
type Config struct {
	// Model identifies the model that made the vectors, with its version: vectors of different
	// models cannot be compared. A file with vectors of another model is replaced.
	Model string
	// Dim is the number of components of the vectors. If it is 0, the number is taken from the
	// file, or else from the first vector appended. A file with another number is replaced.
	Dim int
}

// Store holds embeddings by the keys of their texts. It is safe for concurrent use.
type Store struct {
	path string
	cfg  Config

	write  sync.Mutex // held while the file is changed
	memory bool       // appended vectors stay in memory
	lock   *os.File   // held while this process may write; nil if it may not
	file   *os.File   // open for appending; nil if the file must be created again
	seen   os.FileInfo
	note   string // reason why the file is not used unchanged
	broken error  // error after which this store and its file may differ

	mu     sync.RWMutex
	st     *state
	closed bool
}

// Open opens the store in the file path, which is created when the first vector is appended. An
// empty path means a store in memory.
//
// If the file is damaged, of another version or for other vectors, Open does not fail: the file is
// replaced, and Status reports the reason. If the directory is not writable, vectors are kept in
// memory.
func Open(path string, cfg Config) (*Store, error) {
	if cfg.Model == "" || len(cfg.Model) > maxName {
		return nil, fmt.Errorf("vectors: open store: Config.Model has %d bytes, want 1 to %d; name what makes the vectors, with its version", len(cfg.Model), maxName)
	}
	if cfg.Dim < 0 || cfg.Dim > MaxDim {
		return nil, fmt.Errorf("vectors: open store: Config.Dim is %d, want 0 to %d", cfg.Dim, MaxDim)
	}
	s := &Store{path: path, cfg: cfg, memory: path == "", st: &state{dim: cfg.Dim}}
	if path == "" {
		return s, nil
	}
	if err := s.enter(); err != nil {
		return nil, fmt.Errorf("vectors: open %s: %w", path, err)
	}
	if err := s.load(); err != nil {
		_ = s.Close() // the first error matters
		return nil, fmt.Errorf("vectors: open %s: %w", path, err)
	}
	return s, nil
}

// enter makes this process the writer, if there is no other.
func (s *Store) enter() error {
	err := os.MkdirAll(filepath.Dir(s.path), 0o777)
	var f *os.File
	if err == nil {
		f, err = regular.OpenFile(s.path+".lock", os.O_RDWR|os.O_CREATE, 0o666)
	}
	if err != nil {
		s.memory, s.note = true, fmt.Sprintf("vectors are not kept: %v", err)
		return nil
	}
	ok, err := filelock.Try(f)
	if errors.Is(err, errors.ErrUnsupported) {
		ok, err = true, nil // without locks, programs must not write to one store at the same time
	}
	if !ok {
		return errors.Join(err, f.Close())
	}
	s.lock = f
	return nil
}

// load reads the file, if there is one, and installs its contents in the store.
func (s *Store) load() error {
	f, info, err := s.openFile()
	if err != nil || f == nil {
		return err
	}
	st := &state{dim: s.cfg.Dim}
	note, err := s.parse(st, f, info.Size())
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if note != "" {
		s.note = note
	}
	if s.lock == nil || st.end == 0 { // read-only, or to be replaced
		err = f.Close()
		f = nil
	} else if st.end < info.Size() {
		err = f.Truncate(st.end) // remove a block that a crash cut off
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.st
	st.gen += old.gen + 1
	s.st, s.file, s.seen = st, f, info
	if old.unmap != nil {
		err = errors.Join(err, old.unmap())
	}
	return err
}

// openFile opens the file with the access rights that this process has. It returns nil if there is
// no file.
func (s *Store) openFile() (*os.File, os.FileInfo, error) {
	how := os.O_RDONLY
	if s.lock != nil {
		how = os.O_RDWR
	}
	f, err := regular.OpenFile(s.path, how, 0)
	if errors.Is(err, fs.ErrNotExist) || err != nil && s.memory {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// parse reads the file into st. A file that cannot be used is ignored, and the result note is the
// reason.
func (s *Store) parse(st *state, f *os.File, size int64) (note string, err error) {
	data, unmap, err := mapFile(f, size)
	if err != nil {
		return "", err
	}
	err = guarded(func() error {
		h, err := parseHeader(data)
		switch {
		case err != nil:
			note = fmt.Sprintf("the file is made anew: %v", err)
		case h.model != s.cfg.Model:
			note = fmt.Sprintf("the file is made anew: its vectors are of %q", h.model)
		case s.cfg.Dim != 0 && h.dim != s.cfg.Dim:
			note = fmt.Sprintf("the file is made anew: its vectors have %d components, not %d", h.dim, s.cfg.Dim)
		}
		if note != "" {
			return nil
		}
		st.dim, st.end = h.dim, h.size()
		blocks, end, lost := parseBlocks(data, h.size(), h.dim)
		for _, b := range blocks {
			st.add(b)
		}
		st.end, st.lost = end, lost
		return nil
	})
	if err != nil || len(st.blocks) == 0 {
		return note, errors.Join(err, unmap())
	}
	st.unmap = unmap
	return note, nil
}

// Refresh loads vectors that another process has written since the last load. It does nothing if
// this process is the writer.
func (s *Store) Refresh() error {
	s.write.Lock()
	defer s.write.Unlock()
	if s.isClosed() {
		return ErrClosed
	}
	if s.lock != nil || s.memory {
		return nil
	}
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && s.seen != nil && os.SameFile(info, s.seen) && info.Size() == s.seen.Size() {
		return nil
	}
	if err == nil {
		err = s.load()
	}
	if err != nil {
		return fmt.Errorf("vectors: refresh %s: %w", s.path, err)
	}
	return nil
}

func (s *Store) isClosed() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.closed
}

// Close releases memory and files. It waits for running searches. It may be called more than once.
func (s *Store) Close() error {
	s.write.Lock()
	defer s.write.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	var errs []error
	if s.st.unmap != nil {
		errs = append(errs, s.st.unmap())
	}
	s.st = &state{gen: s.st.gen + 1}
	for _, f := range []*os.File{s.file, s.lock} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// Status describes a store.
type Status struct {
	Rows     int    // live vectors
	Dead     int    // vectors that were deleted, replaced or found damaged; Tidy removes them
	Dim      int    // components of a vector; 0 until known
	Bytes    int64  // of the file
	Lost     int64  // bytes of the file that were damaged
	Writable bool   // this process may append
	Note     string // reason why the file is created again, or why vectors are not stored
}

// Status returns the state of the store.
func (s *Store) Status() Status {
	s.write.Lock()
	defer s.write.Unlock()
	s.mu.RLock()
	defer s.mu.RUnlock()
	st := s.st
	u := Status{Rows: st.alive, Dead: st.rows - st.alive, Dim: st.dim, Lost: st.lost, Note: s.note,
		Writable: !s.closed && s.broken == nil && (s.memory || s.lock != nil)}
	if !s.memory {
		u.Bytes = st.end
	}
	return u
}
