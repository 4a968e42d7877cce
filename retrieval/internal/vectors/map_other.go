//go:build !unix

package vectors

import (
	"fmt"
	"io"
	"math"
	"os"
)

// mapped reports whether mapFile shares memory with the file instead of reading it.
const mapped = false

// mapFile returns the bytes of the file and a function that releases them.
func mapFile(f *os.File, size int64) ([]byte, func() error, error) {
	if size > math.MaxInt {
		return nil, nil, fmt.Errorf("%d bytes do not fit this system's memory", size)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, size), data); err != nil {
		return nil, nil, err
	}
	return data, func() error { return nil }, nil
}
