//go:build unix

package vectors

import (
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// mapped reports whether mapFile shares memory with the file instead of reading it.
const mapped = true

// mapFile returns the bytes of the file and a function that releases them.
func mapFile(f *os.File, size int64) ([]byte, func() error, error) {
	if size == 0 {
		return nil, func() error { return nil }, nil
	}
	if size > math.MaxInt {
		return nil, nil, fmt.Errorf("%d bytes do not fit this system's memory", size)
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("map %d bytes: %w", size, err)
	}
	return data, func() error { return unix.Munmap(data) }, nil
}
