package regular

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// FS returns a tree as a file system. It is like [os.Root.FS] but accepts every name that a file
// system can hold, and waits for no FIFO. ReadFile refuses files of more than max bytes.
func FS(root *os.Root, max int64) fs.FS { return rootFS{root, max} }

type rootFS struct {
	root *os.Root
	max  int64
}

var (
	_ fs.ReadDirFS  = rootFS{}
	_ fs.ReadFileFS = rootFS{}
	_ fs.ReadLinkFS = rootFS{}
	_ fs.StatFS     = rootFS{}
)

func (r rootFS) Open(name string) (fs.File, error) {
	f, err := OpenIn(r.root, filepath.FromSlash(name), os.O_RDONLY)
	if errors.Is(err, ErrNotRegular) {
		f, err = OpenDirIn(r.root, filepath.FromSlash(name))
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (r rootFS) ReadDir(name string) ([]fs.DirEntry, error) {
	return ReadDirIn(r.root, filepath.FromSlash(name))
}

func (r rootFS) ReadFile(name string) ([]byte, error) {
	return ReadIn(r.root, filepath.FromSlash(name), r.max)
}

func (r rootFS) Stat(name string) (fs.FileInfo, error) { return r.root.Stat(filepath.FromSlash(name)) }
func (r rootFS) Lstat(name string) (fs.FileInfo, error) {
	return r.root.Lstat(filepath.FromSlash(name))
}
func (r rootFS) ReadLink(name string) (string, error) {
	return r.root.Readlink(filepath.FromSlash(name))
}
