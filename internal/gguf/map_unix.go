//go:build linux || darwin

package gguf

import (
	"fmt"
	"math"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapping is a file's bytes in memory.
type mapping struct{ data []byte }

func mapFile(path string) (*mapping, error) {
	size, err := regularSize(path)
	if err != nil || size == 0 {
		return &mapping{}, err
	}
	fd, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer fd.Close()
	if size > math.MaxInt {
		return nil, fmt.Errorf("%d bytes do not fit this system's memory", size)
	}
	data, err := unix.Mmap(int(fd.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", size, err)
	}
	return &mapping{data}, nil
}

func (m *mapping) close() error {
	if m.data == nil {
		return nil
	}
	data := m.data
	m.data = nil
	return unix.Munmap(data)
}

// release gives back the whole pages inside b, when b is inside the mapping.
func (m *mapping) release(b []byte) {
	if len(b) == 0 || len(m.data) == 0 {
		return
	}
	base := uintptr(unsafe.Pointer(unsafe.SliceData(m.data)))
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	if at < base || at-base > uintptr(len(m.data)) || uintptr(len(b)) > uintptr(len(m.data))-(at-base) {
		return
	}
	page := uintptr(os.Getpagesize())
	lo := (at - base + page - 1) / page * page
	hi := (at - base + uintptr(len(b))) / page * page
	if lo < hi {
		// Advice only: when it is refused the pages stay, which costs memory but breaks nothing.
		_ = unix.Madvise(m.data[lo:hi], unix.MADV_DONTNEED)
	}
}
