package gguf

import (
	"fmt"
	"io"

	"github.com/luthier-dev/luthier/internal/atomicfile"
)

// Create writes the file at path and replaces any file that is there. The new file gets its name
// only when all its bytes are on the disk. So a reader that opens it, at any time and after any
// crash, finds either the old file or the new one. A crash can leave a file named
// .<name>.<digits>.tmp in the same directory, which may be deleted.
func (w *Writer) Create(path string) error {
	return w.create(path, func(f io.Writer) io.Writer { return f })
}

// create is like Create, with an additional writer between the bytes and the file, with which a
// test can end the process at any byte.
func (w *Writer) create(path string, between func(io.Writer) io.Writer) error {
	if w.err != nil {
		return w.err
	}
	err := atomicfile.Write(path, atomicfile.Options{Perm: 0o644, Sync: true}, func(f io.Writer) error {
		_, err := w.WriteTo(between(f))
		return err
	})
	if err != nil {
		return fmt.Errorf("gguf: create %s: %w", path, err)
	}
	return nil
}
