package gguf

import (
	"errors"
	"fmt"
	"slices"
)

// Tensor is a named array of numbers in a file.
type Tensor struct {
	Name string
	Type Type
	Dims []int  // Dims[0] varies fastest: the columns of a matrix, as in ggml
	Data []byte // a read-only view of the file, invalid after File.Close
}

// Rows returns the number of rows of Dims[0] values: the product of the other dimensions.
func (t Tensor) Rows() int {
	n := 1
	for _, d := range t.Dims[1:] {
		n *= d
	}
	return n
}

// File is an opened GGUF file. Its methods may be used concurrently, except Close.
type File struct {
	version   int
	alignment int
	size      int64
	open      bool
	keys      []string
	values    map[string]value
	tensors   []Tensor
	index     map[string]int
	maps      []*mapping
}

// Open maps the file into memory and parses it. If the operating system cannot map files, Open
// reads the file instead. If path names the first file of a split model, Open opens all of them.
// The file must not be truncated while it is open: the operating system ends a program that
// accesses a mapped page that the file no longer has.
func Open(path string) (*File, error) {
	f, err := openOne(path)
	if err != nil {
		return nil, err
	}
	if err := f.openSplits(path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func openOne(path string) (*File, error) {
	m, err := mapFile(path)
	if err != nil {
		return nil, fmt.Errorf("gguf: open %s: %w", path, err)
	}
	f, err := parse(m.data)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("gguf: parse %s: %w", path, err), m.close())
	}
	f.maps = []*mapping{m}
	return f, nil
}

// Close unmaps the file. Afterwards every Tensor's Data is invalid and must not even be read; keys,
// strings and results of the array getters stay valid. Closing twice is not an error.
func (f *File) Close() error {
	f.open = false
	var errs []error
	for _, m := range f.maps {
		errs = append(errs, m.close())
	}
	f.maps = nil
	for i := range f.tensors {
		f.tensors[i].Data = nil
	}
	return errors.Join(errs...)
}

// Tensor finds a tensor by its name.
func (f *File) Tensor(name string) (Tensor, bool) {
	i, ok := f.index[name]
	if !ok {
		return Tensor{}, false
	}
	return f.tensors[i], true
}

// Tensors lists the tensors in the order of the file.
func (f *File) Tensors() []Tensor { return slices.Clone(f.tensors) }

// Size returns the number of bytes of the file, or of all files of a split model.
func (f *File) Size() int64 { return f.size }

// Release frees the memory of the pages with t's bytes, which the caller does not need for now, so
// that a repacked copy does not double the resident size. The bytes can still be read; in that case
// they are read from the file again.
func (f *File) Release(t Tensor) {
	for _, m := range f.maps {
		m.release(t.Data)
	}
}

// Read copies view, a part of a tensor's Data, to the front of dst. It reads the file instead of
// touching mapped pages, which is faster for bytes that are needed only once. If the file was
// truncated meanwhile, Read returns an error.
func (f *File) Read(dst, view []byte) error {
	if len(dst) < len(view) {
		return fmt.Errorf("gguf: read: %d bytes into room for %d", len(view), len(dst))
	}
	for _, m := range f.maps {
		if found, err := m.read(dst, view); found {
			if err != nil {
				return fmt.Errorf("gguf: read: the file is not what it was when it was opened: %w", err)
			}
			return nil
		}
	}
	copy(dst, view)
	return nil
}
