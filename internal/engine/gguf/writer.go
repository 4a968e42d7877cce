package gguf

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
)

// maxName is the longest tensor name that ggml accepts.
const maxName = 63

// Writer collects metadata and tensors and writes them as a GGUF file of version 3. The zero value
// is ready to use. The bytes depend only on the metadata and tensors, and on their order.
//
// Mistakes, such as a duplicate name, are recorded and reported by WriteTo and Create.
type Writer struct {
	keys    []string
	values  map[string][]byte // kind and value as in the file
	tensors []pending
	names   map[string]bool
	err     error
}

// pending is a tensor to be written.
type pending struct {
	Tensor
	size  uint64
	write func(io.Writer) error
}

func (w *Writer) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("gguf: write: "+format, args...)
	}
}

// Set sets a metadata value: a bool, an integer or float of fixed size, a string, or a slice of one
// of these (slices may nest). A key that was set before keeps its position.
func (w *Writer) Set(key string, value any) {
	raw, kind, err := appendValue(nil, value)
	if err != nil {
		w.fail("metadata key %q: %v", key, err)
		return
	}
	w.set(key, kind, raw)
}

func (w *Writer) set(key string, kind Kind, raw []byte) {
	if len(key) == 0 || len(key) > math.MaxUint16 {
		w.fail("metadata key of %d bytes (1 to 65535 are allowed)", len(key))
		return
	}
	if w.values == nil {
		w.values = map[string][]byte{}
	}
	if _, there := w.values[key]; !there {
		w.keys = append(w.keys, key)
	}
	w.values[key] = append(binary.LittleEndian.AppendUint32(nil, uint32(kind)), raw...)
}

// SetString sets a string.
func (w *Writer) SetString(key, value string) { w.Set(key, value) }

// SetUint32 sets an unsigned number of 32 bits, the usual kind of sizes and counts.
func (w *Writer) SetUint32(key string, value uint32) { w.Set(key, value) }

// SetFloat32 sets a number of single precision.
func (w *Writer) SetFloat32(key string, value float32) { w.Set(key, value) }

// SetBool sets a boolean.
func (w *Writer) SetBool(key string, value bool) { w.Set(key, value) }

// SetStrings sets an array of strings.
func (w *Writer) SetStrings(key string, value []string) { w.Set(key, value) }

// CopyMetadata copies the keys of f that keep accepts, or all if keep is nil, byte for byte. The
// file f must be open.
func (w *Writer) CopyMetadata(f *File, keep func(key string) bool) {
	for _, k := range f.keys {
		if keep == nil || keep(k) {
			w.set(k, f.values[k].kind, f.values[k].raw)
		}
	}
}

// AddTensor adds a tensor whose bytes are in memory; data must not change until the file is
// written.
func (w *Writer) AddTensor(name string, t Type, dims []int, data []byte) {
	w.AddTensorFunc(name, t, dims, func(out io.Writer) error {
		_, err := out.Write(data)
		return err
	})
}

// AddTensorFunc adds a tensor whose bytes are produced by write when the file is written. The
// function write must write exactly the number of bytes that t and dims imply.
func (w *Writer) AddTensorFunc(name string, t Type, dims []int, write func(io.Writer) error) {
	p := pending{Tensor: Tensor{Name: name, Type: t, Dims: slices.Clone(dims)}, write: write}
	switch {
	case name == "" || len(name) > maxName:
		w.fail("tensor name %q has %d bytes (1 to %d are allowed)", name, len(name), maxName)
		return
	case w.names[name]:
		w.fail("tensor %q is there twice", name)
		return
	case len(dims) < 1 || len(dims) > maxDims:
		w.fail("tensor %q has %d dimensions (1 to %d are allowed)", name, len(dims), maxDims)
		return
	}
	values := uint64(1)
	for _, d := range dims {
		if d < 1 || values > math.MaxInt/uint64(d) {
			w.fail("tensor %q has dimensions %v", name, dims)
			return
		}
		values *= uint64(d)
	}
	var err error
	if p.size, err = tensorBytes(t, dims[0], values); err != nil {
		w.fail("tensor %q: %v", name, err)
		return
	}
	if w.names == nil {
		w.names = map[string]bool{}
	}
	w.names[name] = true
	w.tensors = append(w.tensors, p)
}

// alignment returns the value set for general.alignment.
func (w *Writer) alignment() (uint64, error) {
	v, ok := w.values[keyAlignment]
	if !ok {
		return defaultAlignment, nil
	}
	a := uint64(0)
	if Kind(binary.LittleEndian.Uint32(v)) == KindUint32 {
		a = uint64(binary.LittleEndian.Uint32(v[4:]))
	}
	if a < 8 || a > 1<<30 || a&(a-1) != 0 {
		return 0, fmt.Errorf("gguf: write: %s must be a uint32 and a power of two from 8 to 2^30", keyAlignment)
	}
	return a, nil
}

// WriteTo writes the file and returns the number of bytes written.
func (w *Writer) WriteTo(out io.Writer) (int64, error) {
	if w.err != nil {
		return 0, w.err
	}
	align, err := w.alignment()
	if err != nil {
		return 0, err
	}
	buf := bufio.NewWriterSize(out, 1<<20)
	c := &counter{w: buf}
	if err := w.write(c, align); err != nil {
		return c.n - int64(buf.Buffered()), err
	}
	if err := buf.Flush(); err != nil {
		return c.n - int64(buf.Buffered()), fmt.Errorf("gguf: write: %w", err)
	}
	return c.n, nil
}

func (w *Writer) write(c *counter, align uint64) error {
	if _, err := c.Write(w.header(align)); err != nil {
		return fmt.Errorf("gguf: write header: %w", err)
	}
	for _, t := range w.tensors {
		if err := c.pad(align); err != nil {
			return fmt.Errorf("gguf: write tensor %q: %w", t.Name, err)
		}
		start := c.n
		if err := t.write(c); err != nil {
			return fmt.Errorf("gguf: write tensor %q: %w", t.Name, err)
		}
		if n := c.n - start; n != int64(t.size) {
			return fmt.Errorf("gguf: write tensor %q: %d bytes were given, %v of dimensions %v has %d", t.Name, n, t.Type, t.Dims, t.size)
		}
	}
	if err := c.pad(align); err != nil {
		return fmt.Errorf("gguf: write: %w", err)
	}
	return nil
}

// header returns everything that precedes the tensors' bytes.
func (w *Writer) header(align uint64) []byte {
	le := binary.LittleEndian
	b := []byte(magic)
	b = le.AppendUint32(b, 3)
	b = le.AppendUint64(b, uint64(len(w.tensors)))
	b = le.AppendUint64(b, uint64(len(w.keys)))
	for _, k := range w.keys {
		b = appendString(b, k)
		b = append(b, w.values[k]...)
	}
	offset := uint64(0)
	for _, t := range w.tensors {
		b = appendString(b, t.Name)
		b = le.AppendUint32(b, uint32(len(t.Dims)))
		for _, d := range t.Dims {
			b = le.AppendUint64(b, uint64(d))
		}
		b = le.AppendUint32(b, uint32(t.Type))
		b = le.AppendUint64(b, offset)
		offset += (t.size + align - 1) / align * align
	}
	return b
}

// counter counts the bytes written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

func (c *counter) pad(align uint64) error {
	n := (align - uint64(c.n)%align) % align
	for n > 0 {
		var zero [4096]byte
		k, err := c.Write(zero[:min(n, uint64(len(zero)))])
		if err != nil {
			return err
		}
		n -= uint64(k)
	}
	return nil
}
