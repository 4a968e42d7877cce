//go:build !unix

package worktree

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

func statEntry(_ *os.File, path string, e fs.DirEntry, seen int64) (File, error) {
	fi, err := e.Info()
	if err != nil {
		return File{}, err
	}
	return stateOf(path, fi, seen), nil
}

func readHead(_ *os.File, _, path string, root *Root, buf []byte) (int, error) {
	f, err := root.open(filepath.FromSlash(path))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return readFull(f, buf)
}

// readFull reads into buf until it is full or the content ends.
func readFull(f *os.File, buf []byte) (int, error) {
	n, err := io.ReadFull(f, buf)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return n, err
}
