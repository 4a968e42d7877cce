package tensor

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapMemory maps at least n bytes (a multiple of hugePage). usable starts at a multiple of hugePage
// and asks for huge pages; raw is the argument for unmapMemory.
func mapMemory(n int) (raw, usable []byte) {
	raw, err := unix.Mmap(-1, 0, n+hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		panic(fmt.Errorf("tensor: map %d bytes: %w", n, err))
	}
	// The surplus is address space only: it is never touched.
	off := int(-uintptr(unsafe.Pointer(&raw[0])) & (hugePage - 1))
	usable = raw[off : off+n]
	_ = unix.Madvise(usable, unix.MADV_HUGEPAGE) // on failure only speed is lost
	return raw, usable
}

func unmapMemory(raw []byte) error { return unix.Munmap(raw) }
