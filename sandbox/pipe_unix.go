//go:build unix

package sandbox

import (
	"os"
	"syscall"
)

// readNow reads available data without waiting. It returns -1 if a writer exists but no data is
// available, and 0 at the end of the file.
func readNow(f *os.File, buf []byte) (n int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return -1, err
	}
	ctlErr := raw.Read(func(fd uintptr) bool {
		for {
			n, err = syscall.Read(int(fd), buf)
			if err != syscall.EINTR {
				return true
			}
		}
	})
	if ctlErr != nil {
		return -1, ctlErr
	}
	return n, err
}
