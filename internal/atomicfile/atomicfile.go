// Package atomicfile replaces files so that whoever looks finds the old one or the new one, whole,
// whenever the writer dies.
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

// Options say how a file is replaced. The zero value is a file for its owner alone that may be lost
// with the machine's power.
type Options struct {
	// Perm is the new file's mode, whatever the umask is; 0 means 0600.
	Perm fs.FileMode
	// Temp is the pattern of the name, as os.CreateTemp takes it, under which the file is written
	// in the same directory; a killed process leaves it behind. "" means one made of the file's own
	// name.
	Temp string
	// Sync makes the file last over a crash of the machine: its bytes are on the disk before its
	// name is, and that before Write returns.
	Sync bool
}

// Write makes path hold what fill writes. Where fill or anything else fails, path is as before and
// nothing is left beside it.
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
			_ = tmp.Close() // a second time, mostly
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

// WriteBytes is [Write] of data.
func WriteBytes(path string, o Options, data []byte) error {
	return Write(path, o, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// SyncDir makes renames in a directory last over a crash of the machine. Where a system or a file
// system cannot, a rename is as durable as it makes it.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // directories cannot be opened for it there
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
