//go:build unix

package vectors

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes a lock that the kernel drops when the file is closed or the process dies; false when another holds it.
func lockFile(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
