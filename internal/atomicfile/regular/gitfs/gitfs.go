// Package gitfs lets go-git read repositories that another program may change at any moment: it
// opens only regular files, and never waits for a FIFO in the place of one.
package gitfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/helper/chroot"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

// New returns the file system below dir. It is as osfs.New makes it, except that it opens only
// regular files and that Lock does nothing: what writes a repository with it holds its own lock.
func New(dir string) billy.Filesystem {
	if real, err := filepath.EvalSymlinks(dir); dir != "" && err == nil {
		dir = real
	}
	return chroot.New(&system{}, dir)
}

type system struct{ osfs.ChrootOS }

func (s *system) Open(name string) (billy.File, error) { return s.OpenFile(name, os.O_RDONLY, 0) }

func (s *system) Create(name string) (billy.File, error) {
	return s.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

func (s *system) OpenFile(name string, flag int, perm fs.FileMode) (billy.File, error) {
	if flag&os.O_CREATE != 0 {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return nil, err
		}
	}
	f, err := regular.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &file{f}, nil
}

type file struct{ *os.File }

func (*file) Lock() error   { return nil }
func (*file) Unlock() error { return nil }

// maxPath limits what is read of a file that holds a path.
const maxPath = 8 << 10

// Open opens the repository of the work tree top, or of a directory above it if detect is set. It
// does what git.PlainOpenWithOptions does, through [New].
func Open(top string, detect bool) (*git.Repository, error) {
	top, err := filepath.Abs(top)
	if err != nil {
		return nil, err
	}
	dir, tree, err := find(top, detect)
	if err != nil {
		return nil, err
	}
	dot, err := existing(dir, git.ErrRepositoryNotExists)
	if err != nil {
		return nil, err
	}
	at, err := commonOf(dir)
	if err != nil {
		return nil, err
	}
	var common billy.Filesystem
	if at != dir {
		if common, err = existing(at, git.ErrRepositoryIncomplete); err != nil {
			return nil, err
		}
	}
	s := filesystem.NewStorageWithOptions(dotgit.NewRepositoryFilesystem(dot, common), cache.NewObjectLRUDefault(), filesystem.Options{
		AlternatesFS: New(filepath.VolumeName(dir) + string(filepath.Separator)), // they may be anywhere
	})
	if tree == "" {
		return git.Open(s, nil)
	}
	return git.Open(s, New(tree))
}

// CommonDir returns the directory with the objects and branches of the repository that [Open]
// opens. Of a linked work tree, that is the one of the main work tree.
func CommonDir(top string, detect bool) (string, error) {
	top, err := filepath.Abs(top)
	if err != nil {
		return "", err
	}
	dir, _, err := find(top, detect)
	if err != nil {
		return "", err
	}
	return commonOf(dir)
}

// commonOf follows the link from the git directory of a linked work tree to the common one.
func commonOf(dir string) (string, error) {
	text, err := regular.Read(filepath.Join(dir, "commondir"), maxPath)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 {
		return dir, nil
	}
	if err != nil {
		return "", err
	}
	return under(dir, string(text)), nil
}

// find returns the git directory of a work tree, or a bare repository and no work tree.
func find(top string, detect bool) (dir, tree string, err error) {
	for at := top; ; at = filepath.Dir(at) {
		dot := filepath.Join(at, ".git")
		info, err := os.Stat(dot)
		switch {
		case err == nil && info.IsDir():
			return dot, at, nil
		case err == nil:
			dir, err := linked(dot)
			return dir, at, err
		case !errors.Is(err, fs.ErrNotExist) && !notDir(at):
			return "", "", err
		}
		if !detect || filepath.Dir(at) == at {
			return at, "", nil // a bare repository, or none
		}
	}
}

// notDir reports whether a path is a file, so that nothing can be below it.
func notDir(at string) bool {
	info, err := os.Stat(at)
	return err == nil && !info.IsDir()
}

// linked reads the file that stands for the git directory of a linked work tree or submodule.
func linked(dot string) (string, error) {
	text, err := regular.Read(dot, maxPath)
	if err != nil {
		return "", err
	}
	const prefix = "gitdir: "
	line, ok := strings.CutPrefix(string(text), prefix)
	if !ok {
		return "", errors.New(dot + " does not begin with " + prefix)
	}
	line, _, _ = strings.Cut(line, "\n")
	return under(filepath.Dir(dot), line), nil
}

func under(dir, path string) string {
	if path = strings.TrimSpace(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// existing opens a directory that must exist.
func existing(dir string, missing error) (billy.Filesystem, error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, missing
	} else if err != nil {
		return nil, err
	}
	return New(dir), nil
}
