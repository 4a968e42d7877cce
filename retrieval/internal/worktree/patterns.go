package worktree

import (
	"io/fs"
	"strings"
	"time"
)

// patternFS is a file system that contains only a .gitignore file, at its root, with this text.
type patternFS string

const patternFile = ".gitignore"

func (p patternFS) Open(name string) (fs.File, error) {
	if name != patternFile {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &openPattern{Reader: strings.NewReader(string(p)), size: int64(len(p))}, nil
}

type openPattern struct {
	*strings.Reader
	size int64
}

func (f *openPattern) Stat() (fs.FileInfo, error) { return patternInfo(f.size), nil }
func (f *openPattern) Close() error               { return nil }

type patternInfo int64

func (i patternInfo) Name() string     { return patternFile }
func (i patternInfo) Size() int64      { return int64(i) }
func (patternInfo) Mode() fs.FileMode  { return 0o444 }
func (patternInfo) ModTime() time.Time { return time.Time{} }
func (patternInfo) IsDir() bool        { return false }
func (patternInfo) Sys() any           { return nil }
