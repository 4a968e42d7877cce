package layers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// Hold takes a lease on a layer in the store. If the layer is not in the store, the error is
// fs.ErrNotExist.
func (s *Store) Hold(id string) (*Layer, error) {
	if !validLayerID(id) {
		return nil, fmt.Errorf("layer %q: %w", id, fs.ErrNotExist)
	}
	home := filepath.Join(s.dir, layersByID, id)
	for {
		lease, err := os.Open(home)
		if err != nil {
			return nil, err
		}
		if err := lockShared(lease); err != nil {
			lease.Close()
			return nil, err
		}
		// It may have been removed while we waited.
		if same(lease, home) {
			return &Layer{id: id, path: filepath.Join(home, layerTree), from: home, lease: lease}, touch(home)
		}
		lease.Close()
	}
}

func same(f *os.File, path string) bool {
	a, errA := f.Stat()
	b, errB := os.Lstat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// validLayerID guards paths that are built from ids, which a caller may have made up.
func validLayerID(id string) bool {
	kind, hash, ok := strings.Cut(id, "-")
	if !ok || kind != "git" && kind != "dir" && kind != "clone" || len(hash) < 40 {
		return false
	}
	return strings.Trim(hash, "0123456789abcdef") == ""
}

// begin makes a directory for a new layer; its lock shows Collect that the layer is being made.
func (s *Store) begin() (string, *os.File, error) {
	home, err := os.MkdirTemp(filepath.Join(s.dir, layersMaking), "layer-*")
	if err != nil {
		return "", nil, err
	}
	lock, err := os.Open(home)
	if err == nil {
		err = lockShared(lock)
	}
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(home))
	}
	return home, lock, nil
}

// make fills a new layer and publishes it.
func (s *Store) make(id string, fill func(dst string) (int64, error)) (*Layer, error) {
	home, lock, err := s.begin()
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	into := filepath.Join(home, layerTree)
	err = os.Mkdir(into, 0o755)
	var bytes int64
	if err == nil {
		bytes, err = fill(into)
	}
	var l *Layer
	if err == nil {
		l, err = s.publish(home, id, bytes)
	}
	if err != nil {
		return nil, errors.Join(err, tree.Remove(home))
	}
	return l, nil
}

// publish moves a complete layer to its place and holds it. If two made the same layer, the second
// uses the first one's, unless that is being collected just then.
func (s *Store) publish(home, id string, bytes int64) (*Layer, error) {
	text := strconv.FormatInt(bytes, 10)
	if err := os.WriteFile(filepath.Join(home, layerUsed), []byte(text), 0o600); err != nil {
		return nil, err
	}
	l, err := s.settle(home, id)
	if err != nil {
		return nil, err
	}
	if _, err := s.collect(false); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// settle is publish without the collection that follows. The maker's lock keeps the new layer from
// being collected.
func (s *Store) settle(home, id string) (*Layer, error) {
	for {
		err := os.Rename(home, filepath.Join(s.dir, layersByID, id))
		if err == nil {
			return s.Hold(id)
		}
		if !errors.Is(err, fs.ErrExist) && !tree.NotEmpty(err) {
			return nil, err
		}
		l, err := s.Hold(id)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := tree.Remove(home); err != nil {
			return nil, errors.Join(err, l.Close())
		}
		return l, nil
	}
}

// aliased holds the layer of a commit that was stored before.
func (s *Store) aliased(commit string) (*Layer, error) {
	b, err := os.ReadFile(filepath.Join(s.dir, layersAlias, commit))
	if err != nil {
		return nil, err
	}
	return s.Hold(string(b))
}

func (s *Store) alias(commit, id string) error {
	f, err := os.CreateTemp(filepath.Join(s.dir, layersMaking), "alias-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(id)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(s.dir, layersAlias, commit))
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
