package vectors

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/luthier-dev/luthier/internal/atomicfile"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

const (
	blockRows  = 4096    // maximum number of rows in a block
	blockBytes = 8 << 20 // approximate size in bytes
	maxHeap    = 8 << 20 // bytes of new blocks kept outside the mapping before the file is mapped again
)

// Append stores the vectors of keys. When it returns without an error, they are on the disk and
// visible to searches. Keys that the store already has are skipped.
//
// All vectors must have the store's number of components, at most MaxDim. They need not be of
// length 1, but all components must be finite and not all zero. If one vector is invalid, none is
// stored.
func (s *Store) Append(keys []Key, vectors [][]float32) error {
	if len(keys) != len(vectors) {
		return fmt.Errorf("vectors: append: %d keys with %d vectors", len(keys), len(vectors))
	}
	if len(keys) == 0 {
		return nil
	}
	s.write.Lock()
	defer s.write.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	s.mu.RLock()
	dim := s.st.dim
	s.mu.RUnlock()
	if dim == 0 {
		dim = len(vectors[0])
	}
	rows, err := unitRows(vectors, dim)
	if err != nil {
		return err
	}
	if keys, rows, err = s.missing(keys, rows); err != nil {
		return err
	}
	for len(keys) > 0 {
		n := min(rowsOf(dim), len(keys))
		b, data := encodeRows(keys[:n], rows[:n], dim)
		if err := s.put(b, data, dim); err != nil {
			return fmt.Errorf("vectors: append %d vectors to %s: %w", n, s.path, err)
		}
		keys, rows = keys[n:], rows[n:]
	}
	return nil
}

// rowsOf returns the maximum number of rows of dim components in a block.
func rowsOf(dim int) int { return min(blockRows, blockBytes/int(blockSize(kindRows, 1, dim))) }

// unitRows returns the vectors scaled to length 1.
func unitRows(vectors [][]float32, dim int) ([][]float32, error) {
	if dim < 1 || dim > MaxDim {
		return nil, fmt.Errorf("vectors: append: the vectors have %d components, want 1 to %d", dim, MaxDim)
	}
	all := make([]float32, len(vectors)*dim)
	rows := make([][]float32, len(vectors))
	for i, v := range vectors {
		if len(v) != dim {
			return nil, fmt.Errorf("vectors: append: vector %d has %d components, the store's have %d", i, len(v), dim)
		}
		rows[i] = all[i*dim : (i+1)*dim]
		if err := unit(rows[i], v); err != nil {
			return nil, fmt.Errorf("vectors: append: vector %d: %w", i, err)
		}
	}
	return rows, nil
}

// missing leaves out keys that the store has, and all but the first of repeated keys.
func (s *Store) missing(keys []Key, rows [][]float32) (newKeys []Key, newRows [][]float32, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	given := make(map[Key]bool, len(keys))
	err = guarded(func() error {
		for i, k := range keys {
			if _, ok := s.st.find(k); ok || given[k] {
				continue
			}
			given[k] = true
			newKeys, newRows = append(newKeys, k), append(newRows, rows[i])
		}
		return nil
	})
	return newKeys, newRows, err
}

// Delete removes the vectors of keys. Tidy frees their space in the file.
func (s *Store) Delete(keys []Key) error {
	s.write.Lock()
	defer s.write.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	had, err := s.present(keys)
	for err == nil && len(had) > 0 {
		n := min(maxRows, len(had))
		b, data := encodeDead(had[:n])
		err = s.put(b, data, s.st.dim)
		had = had[n:]
	}
	if err != nil {
		return fmt.Errorf("vectors: delete from %s: %w", s.path, err)
	}
	return nil
}

// present returns the keys that the store has.
func (s *Store) present(keys []Key) (had []Key, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	err = guarded(func() error {
		for _, k := range keys {
			if _, ok := s.st.find(k); ok {
				had = append(had, k)
			}
		}
		return nil
	})
	return had, err
}

// ready checks that Append can be called, before vectors are computed.
func (s *Store) ready() error {
	s.write.Lock()
	defer s.write.Unlock()
	return s.writable()
}

// missing leaves out keys that the store has, and repetitions of a key.
func (s *Store) writable() error {
	switch {
	case s.isClosed():
		return ErrClosed
	case s.broken != nil:
		return fmt.Errorf("vectors: write %s: an earlier write failed; open the store again: %w", s.path, s.broken)
	case s.memory || s.lock != nil:
		return nil
	}
	if err := s.enter(); err != nil {
		return fmt.Errorf("vectors: lock %s: %w", s.path, err)
	}
	if s.lock == nil {
		return ErrReadOnly
	}
	if err := s.load(); err != nil {
		return fmt.Errorf("vectors: open %s: %w", s.path, err)
	}
	return nil
}

// put writes a block and adds it to the state.
func (s *Store) put(b *block, data []byte, dim int) error {
	if !s.memory {
		if err := s.writeBlock(b, data, dim); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.st.dim = dim
	s.st.add(b)
	s.st.heap += int64(len(data))
	if !s.memory && mapped && s.st.heap >= maxHeap {
		s.remap()
	}
	return nil
}

// remap moves all blocks from the heap to the mapped file. If mapping fails, they stay on the heap,
// which only costs memory.
func (s *Store) remap() {
	if data, unmap, err := mapFile(s.file, s.st.end); err == nil {
		s.st.rebind(data, unmap)
	}
}

// writeBlock appends a block to the file, which it creates if there is none.
func (s *Store) writeBlock(b *block, data []byte, dim int) (err error) {
	if s.st.end == 0 { // changed only while s.write is held
		h := header{model: s.cfg.Model, dim: dim}
		b.off = h.size()
		_, err := s.replace(func(w io.Writer) error {
			_, err := w.Write(append(h.encode(), data...))
			return err
		})
		return err
	}
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() < s.st.end {
		return errCut
	}
	b.off = s.st.end
	if _, err = s.file.WriteAt(data, b.off); err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		return errors.Join(err, s.file.Truncate(b.off))
	}
	return nil
}

// replace writes a new file and renames it over the old one. The result renamed reports whether the
// old file was replaced.
func (s *Store) replace(write func(w io.Writer) error) (renamed bool, err error) {
	temp := s.path + ".tmp" // only one process may write
	f, err := regular.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return false, err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return false, errors.Join(err, os.Remove(temp))
	}
	if s.file != nil { // for systems on which an open file cannot be replaced
		err = s.file.Close()
		s.file = nil
	}
	if err == nil {
		err = os.Rename(temp, s.path)
		renamed = err == nil
	}
	if renamed {
		err = atomicfile.SyncDir(filepath.Dir(s.path))
	}
	file, openErr := regular.OpenFile(s.path, os.O_RDWR, 0)
	if openErr == nil {
		s.file = file
	}
	return renamed, errors.Join(err, openErr)
}
