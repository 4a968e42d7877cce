package layers

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// Collected reports what a collection removed and kept.
type Collected struct {
	Layers int   // removed
	Bytes  int64 // freed
	Kept   int   // layers that remain, used or not
	Held   int64 // bytes that remain
}

// Collect removes the incomplete layers of killed processes and those of earlier boots of the
// machine. While the store is larger than MaxBytes, it then removes layers that nobody holds, the
// longest unused first. The store collects by itself after making a layer.
func (s *Store) Collect() (Collected, error) { return s.collect(true) }

// stored is a layer as a collection sees it.
type stored struct {
	home  string
	used  time.Time
	bytes int64 // bytes not shared with other layers
}

// bootAge is the time for which data of other boots is kept: a store on a network may be in use by
// another machine, whose boots have other names.
const bootAge = 7 * 24 * time.Hour

func (s *Store) collect(all bool) (Collected, error) {
	var c Collected
	if all {
		s.sweepMaking()
		s.sweepBoots()
	}
	layers, err := s.list()
	if err != nil {
		return c, err
	}
	c.Kept = len(layers)
	if c.Held, err = s.sweepBlobs(false); err != nil {
		return c, err
	}
	for _, l := range layers {
		c.Held += l.bytes
	}
	before := c.Held
	for _, l := range layers {
		if s.MaxBytes < 0 || c.Held <= s.MaxBytes {
			break
		}
		freed, ok, err := s.evict(l)
		if err != nil {
			return c, err
		}
		if ok {
			c.Layers, c.Kept, c.Held = c.Layers+1, c.Kept-1, c.Held-freed
		}
	}
	if c.Layers > 0 || all {
		if _, err := s.sweepBlobs(true); err != nil {
			return c, err
		}
	}
	c.Bytes = before - c.Held
	return c, nil
}

// list returns the layers, longest unused first.
func (s *Store) list() ([]stored, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, layersByID))
	if err != nil {
		return nil, err
	}
	var out []stored
	for _, e := range entries {
		l := stored{home: filepath.Join(s.dir, layersByID, e.Name())}
		used := filepath.Join(l.home, layerUsed)
		b, err := os.ReadFile(used)
		if err == nil {
			var fi fs.FileInfo
			if fi, err = os.Stat(used); err == nil {
				l.used = fi.ModTime()
				l.bytes, err = strconv.ParseInt(string(b), 10, 64)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process is removing it
		}
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b stored) int { return a.used.Compare(b.used) })
	return out, nil
}

// evict removes a layer that nobody holds.
func (s *Store) evict(l stored) (freed int64, ok bool, err error) {
	f, err := os.Open(l.home)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	if !lockAlone(f) || !same(f, l.home) {
		return 0, false, nil
	}
	// Move it out of sight first: a process that waits for the lock must find it gone.
	gone := filepath.Join(s.dir, layersMaking, "gone-"+filepath.Base(l.home)+"-"+strconv.FormatInt(time.Now().UnixNano(), 36))
	if err := os.Rename(l.home, gone); err != nil {
		return 0, false, err
	}
	freed = l.bytes
	_ = filepath.WalkDir(gone, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if fi, err := d.Info(); err == nil && tree.Links(fi) == 2 {
				freed += fi.Size() // the only other link of the blob
			}
		}
		return nil
	})
	return freed, true, tree.Remove(gone)
}

// sweepBlobs adds up the sizes of the blobs and, if remove is set, removes those that no layer
// uses. A layer in progress that wanted one of them then writes it itself.
func (s *Store) sweepBlobs(remove bool) (int64, error) {
	var sum int64
	err := filepath.WalkDir(filepath.Join(s.dir, layersBlobs), func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return nil
		}
		if tree.Links(fi) == 1 && remove {
			_ = os.Remove(p)
			return nil
		}
		sum += fi.Size()
		return nil
	})
	return sum, err
}

// sweepMaking removes the directories that killed processes left.
func (s *Store) sweepMaking() {
	dir := filepath.Join(s.dir, layersMaking)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		p := filepath.Join(dir, e.Name())
		if !e.IsDir() { // an alias about to be renamed, unless it is old
			if fi, err := e.Info(); err == nil && time.Since(fi.ModTime()) > time.Hour {
				_ = os.Remove(p)
			}
			continue
		}
		f, err := os.Open(p)
		if err != nil {
			continue
		}
		fi, err := f.Stat()
		young := err != nil || time.Since(fi.ModTime()) < time.Minute && !strings.HasPrefix(e.Name(), "gone-")
		if !young && lockAlone(f) {
			_ = tree.Remove(p)
		}
		f.Close()
	}
}

// sweepBoots removes the data of earlier boots of the machine.
func (s *Store) sweepBoots() {
	entries, _ := os.ReadDir(s.top)
	for _, e := range entries {
		fi, err := e.Info()
		if err == nil && e.IsDir() && strings.HasPrefix(e.Name(), bootPrefix) && e.Name() != filepath.Base(s.dir) && time.Since(fi.ModTime()) > bootAge {
			_ = tree.Remove(filepath.Join(s.top, e.Name()))
		}
	}
}
