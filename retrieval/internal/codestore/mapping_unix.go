//go:build unix

package codestore

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

const canMap = true

func mapFile(f *os.File, size int64) (data []byte, unmap func() error, err error) {
	if size != int64(int(size)) || size <= 0 {
		return nil, nil, fmt.Errorf("codestore: map %s: %d bytes are more than this system can map", f.Name(), size)
	}
	data, err = unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("codestore: map %s: %w", f.Name(), err)
	}
	return data, func() error { return unix.Munmap(data) }, nil
}
