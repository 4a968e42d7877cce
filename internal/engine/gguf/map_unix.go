//go:build linux || darwin

package gguf

import (
	"errors"
	"fmt"
	"math"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapping holds a file's bytes in memory, and the open file.
type mapping struct {
	data []byte
	file *os.File
}

func mapFile(path string) (*mapping, error) {
	size, err := regularSize(path)
	if err != nil || size == 0 {
		return &mapping{}, err
	}
	fd, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if size > math.MaxInt {
		fd.Close()
		return nil, fmt.Errorf("%d bytes do not fit this system's memory", size)
	}
	data, err := unix.Mmap(int(fd.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		fd.Close()
		return nil, fmt.Errorf("map %d bytes: %w", size, err)
	}
	return &mapping{data, fd}, nil
}

func (m *mapping) close() error {
	if m.data == nil {
		return nil
	}
	data := m.data
	m.data = nil
	return errors.Join(unix.Munmap(data), m.file.Close())
}

// offset returns the offset in the file at which b begins, if b is inside the mapping.
func (m *mapping) offset(b []byte) (uintptr, bool) {
	if len(b) == 0 || len(m.data) == 0 {
		return 0, false
	}
	base := uintptr(unsafe.Pointer(unsafe.SliceData(m.data)))
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	if at < base || at-base > uintptr(len(m.data)) || uintptr(len(b)) > uintptr(len(m.data))-(at-base) {
		return 0, false
	}
	return at - base, true
}

// read copies view, a part of the mapping, into dst by reading the file.
func (m *mapping) read(dst, view []byte) (found bool, err error) {
	at, ok := m.offset(view)
	if !ok {
		return false, nil
	}
	_, err = m.file.ReadAt(dst[:len(view)], int64(at))
	return true, err
}

// release frees the memory of the whole pages inside b, if b is inside the mapping.
func (m *mapping) release(b []byte) {
	at, ok := m.offset(b)
	if !ok {
		return
	}
	page := uintptr(os.Getpagesize())
	lo := (at + page - 1) / page * page
	hi := (at + uintptr(len(b))) / page * page
	if lo < hi {
		// This is only advice. If it is refused, the pages stay, which only costs memory.
		_ = unix.Madvise(m.data[lo:hi], unix.MADV_DONTNEED)
	}
}
