package ignore

import (
	"io/fs"
	"os"
	"path/filepath"
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

func (d dirFS) Open(name string) (fs.File, error)          { return os.Open(d.at(name)) }
func (d dirFS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(d.at(name)) }
func (d dirFS) ReadFile(name string) ([]byte, error)       { return os.ReadFile(d.at(name)) }
func (d dirFS) Stat(name string) (fs.FileInfo, error)      { return os.Stat(d.at(name)) }
func (d dirFS) Lstat(name string) (fs.FileInfo, error)     { return os.Lstat(d.at(name)) }
func (d dirFS) ReadLink(name string) (string, error)       { return os.Readlink(d.at(name)) }
