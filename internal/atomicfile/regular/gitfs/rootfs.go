package gitfs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

// OpenIn opens the repository whose git directory is dir in a tree, for reading. It reads nothing
// outside that directory: links that lead out of the tree are refused, a commondir is not read, and
// neither are alternates. What it reads is bounded. The tree must stay open while the repository is
// in use.
func OpenIn(root *os.Root, dir string) (*git.Repository, error) {
	if info, err := root.Stat(filepath.FromSlash(dir)); err != nil || !info.IsDir() {
		return nil, git.ErrRepositoryNotExists
	}
	s := filesystem.NewStorageWithOptions(&rootFS{root, path.Clean(dir)}, cache.NewObjectLRUDefault(), filesystem.Options{LargeObjectThreshold: maxObject})
	return git.Open(objects{s}, nil)
}

// rootFS is a directory of a tree as a file system that only reads.
type rootFS struct {
	root *os.Root
	dir  string // with slashes; "." means all of the tree
}

var _ billy.Filesystem = (*rootFS)(nil)

// at returns the path of a file in the tree. A name cannot leave the directory by "..".
func (r *rootFS) at(name string) string {
	return filepath.FromSlash(path.Join(r.dir, path.Clean("/"+filepath.ToSlash(name))))
}

// borrows reports whether a file names other places with objects.
func (r *rootFS) borrows(name string) bool {
	return strings.HasSuffix(path.Clean("/"+filepath.ToSlash(name)), "/objects/info/alternates")
}

func (r *rootFS) Open(name string) (billy.File, error) { return r.OpenFile(name, os.O_RDONLY, 0) }

func (r *rootFS) OpenFile(name string, flag int, _ fs.FileMode) (billy.File, error) {
	if flag != os.O_RDONLY {
		return nil, billy.ErrReadOnly
	}
	if r.borrows(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	f, info, err := regular.OpenInfoIn(r.root, r.at(name), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return bounded(&rootFile{file{f}, name}, name, info.Size())
}

// rootFile is an open file with its name in the file system.
type rootFile struct {
	file
	name string
}

func (f *rootFile) Name() string { return f.name }

func (r *rootFS) Stat(name string) (os.FileInfo, error)  { return r.root.Stat(r.at(name)) }
func (r *rootFS) Lstat(name string) (os.FileInfo, error) { return r.root.Lstat(r.at(name)) }
func (r *rootFS) Readlink(name string) (string, error)   { return r.root.Readlink(r.at(name)) }
func (r *rootFS) Join(elem ...string) string             { return filepath.Join(elem...) }
func (r *rootFS) Root() string                           { return string(filepath.Separator) }

// ReadDir lists a directory. Entries that vanish meanwhile are left out.
func (r *rootFS) ReadDir(name string) ([]os.FileInfo, error) {
	entries, err := fs.ReadDir(regular.FS(r.root, maxFile), filepath.ToSlash(r.at(name)))
	if err != nil {
		return nil, err
	}
	infos := make([]os.FileInfo, 0, len(entries))
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			infos = append(infos, info)
		}
	}
	return infos, nil
}

func (r *rootFS) Chroot(name string) (billy.Filesystem, error) {
	return &rootFS{r.root, filepath.ToSlash(r.at(name))}, nil
}

func (*rootFS) Capabilities() billy.Capability { return billy.ReadCapability | billy.SeekCapability }

func (*rootFS) Create(string) (billy.File, error)           { return nil, billy.ErrReadOnly }
func (*rootFS) TempFile(string, string) (billy.File, error) { return nil, billy.ErrReadOnly }
func (*rootFS) MkdirAll(string, os.FileMode) error          { return billy.ErrReadOnly }
func (*rootFS) Rename(string, string) error                 { return billy.ErrReadOnly }
func (*rootFS) Remove(string) error                         { return billy.ErrReadOnly }
func (*rootFS) Symlink(string, string) error                { return billy.ErrReadOnly }
