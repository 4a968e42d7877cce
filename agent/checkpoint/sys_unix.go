//go:build unix

package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFlags keep an open from waiting, should the file have become a pipe meanwhile.
const openFlags = os.O_RDONLY | unix.O_NONBLOCK

// tryLock takes a lock that ends with the file or the process.
func tryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return err == nil, err
}

// identity returns what tells a file from another one that took its name.
func identity(fi fs.FileInfo) (inode uint64, changed int64) {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino), changeTime(st)
	}
	return 0, 0
}
