package dataset

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/luthier-dev/luthier/internal/atomicfile"
)

// A Writer writes examples to a file, which gets its name only when it is complete. So a reader
// that opens it, at any time and after any crash, finds either the old file or the new one. A crash
// can leave a file named .<name>.<digits>.tmp in the same directory, which may be deleted. A Writer
// is not safe for concurrent use.
type Writer struct {
	path  string
	vocab int
	tmp   *os.File
	out   *bufio.Writer
	crc   uint32
	count uint64
	buf   []byte
	err   error // first error of Write, which is kept

	closed error // result of Close
}

// Create returns a Writer for a file of tokens less than vocab. The caller must end with Close,
// which puts the file in place, or Abort, which leaves no file.
func Create(path string, vocab int) (*Writer, error) {
	return create(path, vocab, func(f io.Writer) io.Writer { return f })
}

// create is like Create, with an additional writer between the bytes and the file, with which a
// test can kill the process at any byte.
func create(path string, vocab int, between func(io.Writer) io.Writer) (*Writer, error) {
	if vocab < 1 || vocab > maxVocab {
		return nil, fmt.Errorf("dataset: create %s: a vocabulary of %d; it must have 1 to %d tokens", path, vocab, maxVocab)
	}
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	tmp, err := os.CreateTemp(dir, "."+name+".*.tmp")
	if err != nil {
		return nil, fmt.Errorf("dataset: create %s: %w", path, err)
	}
	w := &Writer{path: path, vocab: vocab, tmp: tmp, out: bufio.NewWriterSize(between(tmp), 1<<18)}
	if _, err := w.out.Write(make([]byte, headerSize)); err != nil { // Close fills it in
		w.Abort()
		return nil, fmt.Errorf("dataset: create %s: %w", path, err)
	}
	return w, nil
}

// Count is the number of examples written so far.
func (w *Writer) Count() int { return int(w.count) }

// Write adds an example. If the example is invalid, it returns an error and adds nothing; the
// Writer remains usable.
func (w *Writer) Write(e Example) error {
	if w.err != nil {
		return w.err
	}
	if err := check(e, w.vocab); err != nil {
		return fmt.Errorf("dataset: write example %d: %w", w.count, err)
	}
	b := binary.LittleEndian.AppendUint32(w.buf[:0], uint32(len(e.Tokens)))
	b = append(b, e.Kind)
	for _, t := range e.Tokens {
		b = binary.LittleEndian.AppendUint16(b, t)
	}
	b = append(b, e.Weights...)
	w.buf = b
	if _, err := w.out.Write(b); err != nil {
		w.err = fmt.Errorf("dataset: write %s: %w", w.path, err)
		return w.err
	}
	w.crc = crc32.Update(w.crc, crc32.IEEETable, b)
	w.count++
	return nil
}

// check returns an error if the format cannot hold the example.
func check(e Example, vocab int) error {
	if len(e.Tokens) == 0 || len(e.Tokens) > maxTokens {
		return fmt.Errorf("%d tokens; there must be 1 to %d", len(e.Tokens), maxTokens)
	}
	if len(e.Weights) != len(e.Tokens) {
		return fmt.Errorf("%d weights for %d tokens", len(e.Weights), len(e.Tokens))
	}
	for i, t := range e.Tokens {
		if int(t) >= vocab {
			return fmt.Errorf("token %d is %d, beyond the vocabulary of %d", i, t, vocab)
		}
	}
	return nil
}

// Close completes the file and replaces any file of that name. If Write failed before, it leaves no
// file.
func (w *Writer) Close() error {
	if w.tmp == nil {
		return w.closed
	}
	w.closed = w.err
	if w.err == nil {
		if err := w.finish(); err != nil {
			w.closed = fmt.Errorf("dataset: write %s: %w", w.path, err)
		}
	}
	err := w.closed
	w.Abort()
	w.closed, w.err = err, w.shut()
	return err
}

// shut returns the error for using a Writer after its end.
func (w *Writer) shut() error { return fmt.Errorf("dataset: write %s: the writer is closed", w.path) }

func (w *Writer) finish() error {
	if err := w.out.Flush(); err != nil {
		return err
	}
	if _, err := w.tmp.WriteAt(header(w.vocab, w.crc, w.count), 0); err != nil {
		return err
	}
	name := w.tmp.Name()
	if err := errors.Join(w.tmp.Chmod(0o644), w.tmp.Sync(), w.tmp.Close()); err != nil {
		return err
	}
	if err := os.Rename(name, w.path); err != nil {
		return err
	}
	w.tmp = nil
	return atomicfile.SyncDir(filepath.Dir(w.path))
}

func header(vocab int, crc uint32, count uint64) []byte {
	b := append(make([]byte, 0, headerSize), magic...)
	b = binary.LittleEndian.AppendUint32(b, uint32(vocab))
	b = binary.LittleEndian.AppendUint32(b, crc)
	return binary.LittleEndian.AppendUint64(b, count)
}

// Abort drops the file unless Close has completed it; after Close it does nothing.
func (w *Writer) Abort() {
	if w.tmp == nil {
		return
	}
	// The file is dropped: a failure to close or remove it makes no difference to the caller.
	_ = w.tmp.Close()
	_ = os.Remove(w.tmp.Name())
	w.tmp = nil
	w.err, w.closed = w.shut(), w.shut()
}
