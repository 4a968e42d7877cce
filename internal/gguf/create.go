package gguf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// Create writes the file at path, in place of any that is there. It appears under that name only when all its bytes
// are on the disk: whoever opens it, at any time and after any crash, finds the old file or the new one. A crash can
// leave a file named .<name>.<digits>.tmp beside it, which may be deleted.
func (w *Writer) Create(path string) error {
	return w.create(path, func(f io.Writer) io.Writer { return f })
}

// create is Create with something between the bytes and the file, by which a test can end the process at any byte.
func (w *Writer) create(path string, between func(io.Writer) io.Writer) (err error) {
	if w.err != nil {
		return w.err
	}
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	tmp, err := os.CreateTemp(dir, "."+name+".*.tmp")
	if err != nil {
		return fmt.Errorf("gguf: create %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			// Closing a second time fails, removing after the rename as well: neither matters here.
			_ = tmp.Close()
			_ = os.Remove(tmp.Name())
		}
	}()
	if _, err := w.WriteTo(between(tmp)); err != nil {
		return fmt.Errorf("gguf: create %s: %w", path, err)
	}
	err = errors.Join(tmp.Chmod(0o644), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("gguf: create %s: %w", path, err)
	}
	return nil
}

// syncDir makes a rename in dir last over a crash.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // directories cannot be synced there
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
