package tensor

import (
	"sync"
	"unsafe"
)

// Alloc returns n bytes of zeroed memory that starts at a multiple of 64. A nil Alloc stands for
// HeapAlloc.
type Alloc func(n int) []byte

// HeapAlloc is the Alloc that takes memory from Go's heap; the garbage collector frees it.
func HeapAlloc(n int) []byte {
	if n == 0 {
		return nil
	}
	b := make([]byte, n+alignment-1)
	off := int(-uintptr(unsafe.Pointer(&b[0])) & (alignment - 1))
	return b[off : off+n : off+n]
}

// alignment is the size of a cache line and of the widest vector.
const alignment = 64

// hugePage is the size of a huge page on Linux.
const hugePage = 2 << 20

// Arena allocates memory from large mappings that use huge pages if the system has them. A walk
// over gigabytes of weights needs huge pages: with pages of 4 KiB, address translation alone costs
// a fifth of the bandwidth. The memory is valid until Close. The zero value is not usable; see
// NewArena.
type Arena struct {
	mu    sync.Mutex
	chunk int
	free  []byte
	maps  [][]byte
	used  int
}

// NewArena returns an arena that requests at least chunk bytes from the system at a time; 0 means
// 64 MiB.
func NewArena(chunk int) *Arena {
	if chunk <= 0 {
		chunk = 64 << 20
	}
	return &Arena{chunk: (chunk + hugePage - 1) &^ (hugePage - 1)}
}

// Alloc returns n bytes of zeroed memory. It panics if the system has no more memory, as make does.
func (a *Arena) Alloc(n int) []byte {
	if n == 0 {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	size := (n + alignment - 1) &^ (alignment - 1)
	if size > len(a.free) {
		raw, fresh := mapMemory(max(a.chunk, (size+hugePage-1)&^(hugePage-1)))
		a.maps = append(a.maps, raw)
		if len(fresh)-size < len(a.free) { // a large request must not waste the rest of the current mapping
			a.used += size
			return fresh[:n:n]
		}
		a.free = fresh
	}
	b := a.free[:n:n]
	a.free = a.free[size:]
	a.used += size
	return b
}

// Bytes returns the size of the allocated memory.
func (a *Arena) Bytes() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.used
}

// Close returns all memory to the system. Nothing that was allocated may be used afterwards.
func (a *Arena) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var first error
	for _, m := range a.maps {
		if err := unmapMemory(m); err != nil && first == nil {
			first = err
		}
	}
	a.maps, a.free, a.used = nil, nil, 0
	return first
}
