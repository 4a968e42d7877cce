package tensor

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapMemory maps at least n bytes (a multiple of hugePage). The result usable starts at a multiple
// of hugePage and has huge pages if possible; raw is the argument for unmapMemory.
func mapMemory(n int) (raw, usable []byte) {
	raw, err := unix.Mmap(-1, 0, n+hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		panic(fmt.Errorf("tensor: map %d bytes: %w", n, err))
	}
	// The surplus takes only address space, since it is never accessed.
	off := int(-uintptr(unsafe.Pointer(&raw[0])) & (hugePage - 1))
	usable = raw[off : off+n]
	_ = unix.Madvise(usable, unix.MADV_HUGEPAGE) // if this fails, only speed is lost
	return raw, usable
}

func unmapMemory(raw []byte) error { return unix.Munmap(raw) }
