package remote

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/sandbox"
)

// stager copies the paths of a set of changes from a tree into an empty directory.
type stager struct {
	from, to *os.Root
	src, dst string
}

// stage fills the directory dst with the changed paths that exist in the tree src, and with the
// directories above them. Files are linked, not copied: an export replaces files and never writes
// into them.
func stage(src, dst string, changes []sandbox.Change) error {
	from, err := regular.OpenRoot(src)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := regular.OpenRoot(dst)
	if err != nil {
		return err
	}
	defer to.Close()
	s := stager{from, to, src, dst}
	for _, c := range changes {
		ok, err := s.above(c.Path)
		if err == nil && ok && c.Kind != sandbox.Added {
			err = s.bring(c.Path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// above makes those directories above a path that exist in the tree, and reports whether all of
// them do.
func (s stager) above(rel string) (bool, error) {
	dir := path.Dir(rel)
	if dir == "." {
		return true, nil
	}
	at := ""
	for name := range strings.SplitSeq(dir, "/") {
		at = path.Join(at, name)
		if _, err := s.to.Lstat(at); err == nil {
			continue
		}
		fi, err := s.from.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !fi.IsDir() {
			return false, nil // it is made by the changes
		}
		if err == nil {
			err = s.mkdir(at, fi)
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

func (s stager) mkdir(rel string, fi fs.FileInfo) error {
	// The server, which owns it, must be able to write below it. Permissions are compared only for
	// directories that change.
	return errors.Join(s.to.Mkdir(rel, 0o700), s.to.Chmod(rel, fi.Mode().Perm()|0o700))
}

// bring makes one path as it is in the tree.
func (s stager) bring(rel string) error {
	fi, err := s.from.Lstat(rel)
	if err != nil {
		return err
	}
	switch {
	case fi.IsDir():
		if _, err := s.to.Lstat(rel); err == nil {
			return nil // above already made it
		}
		return s.mkdir(rel, fi)
	case fi.Mode()&fs.ModeSymlink != 0:
		target, err := s.from.Readlink(rel)
		if err != nil {
			return err
		}
		return s.to.Symlink(target, rel)
	}
	return os.Link(filepath.Join(s.src, filepath.FromSlash(rel)), filepath.Join(s.dst, filepath.FromSlash(rel)))
}
