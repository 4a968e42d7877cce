//go:build unix

package codestore

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes a lock that ends with the file or the process.
func tryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return err == nil, err
}
