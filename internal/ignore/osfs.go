package ignore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

// dirFS is like os.DirFS but accepts every name that a file system can hold: os.DirFS refuses names
// that are not UTF-8.
type dirFS string

var (
	_ fs.ReadDirFS  = dirFS("")
	_ fs.ReadFileFS = dirFS("")
	_ fs.ReadLinkFS = dirFS("")
	_ fs.StatFS     = dirFS("")
)

func (d dirFS) at(name string) string { return filepath.Join(string(d), filepath.FromSlash(name)) }

// Open opens a regular file or a directory.
func (d dirFS) Open(name string) (fs.File, error) {
	f, err := regular.Open(d.at(name))
	if errors.Is(err, regular.ErrNotRegular) {
		f, err = regular.OpenDir(d.at(name))
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (d dirFS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(d.at(name)) }
func (d dirFS) ReadFile(name string) ([]byte, error)       { return regular.Read(d.at(name), maxRuleFile) }
func (d dirFS) Stat(name string) (fs.FileInfo, error)      { return os.Stat(d.at(name)) }
func (d dirFS) Lstat(name string) (fs.FileInfo, error)     { return os.Lstat(d.at(name)) }
func (d dirFS) ReadLink(name string) (string, error)       { return os.Readlink(d.at(name)) }
