// Package atomicfile replaces files atomically: a reader finds the whole old file or the whole new
// one, even if the writer is killed.
package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// Options describe how a file is replaced. With the zero value only the owner can read the file,
// and it may be lost in a power failure.
type Options struct {
	// Perm is the new file's mode, whatever the umask is; 0 means 0600.
	Perm fs.FileMode
	// Temp is the name pattern, as for os.CreateTemp, of the temporary file in the same directory.
	// A killed process leaves that file behind. "" means a pattern made from the file's own name.
	Temp string
	// Sync makes the file survive a crash of the machine: the bytes are on the disk before the
	// rename, and the rename is on the disk before Write returns.
	Sync bool
}

// Write replaces the contents of path with what fill writes. If fill or any other step fails, path
// is unchanged and no temporary file is left next to it.
func Write(path string, o Options, fill func(io.Writer) error) error {
	err := replace(path, o, fill)
	if err == nil && o.Sync {
		err = SyncDir(filepath.Dir(path))
	}
	return err
}

func replace(path string, o Options, fill func(io.Writer) error) (err error) {
	dir, pattern := filepath.Dir(path), o.Temp
	if pattern == "" {
		pattern = "." + filepath.Base(path) + ".*.tmp"
	}
	tmp, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tmp.Close() // usually closed already
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	if err := fill(tmp); err != nil {
		return err
	}
	if o.Perm != 0 {
		err = tmp.Chmod(o.Perm)
	}
	if err == nil && o.Sync {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// WriteBytes calls [Write] to write data.
func WriteBytes(path string, o Options, data []byte) error {
	return Write(path, o, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// SyncDir makes renames in a directory survive a crash of the machine. If the system or the file
// system cannot sync a directory, a rename is only as durable as the file system makes it.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // directories cannot be opened for syncing there
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err = d.Sync(); errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
