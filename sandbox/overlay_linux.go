package sandbox

import (
	"errors"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// isWhiteout reports an overlay's mark for a deleted path: a character device
// 0/0, or an empty file with the attribute that stands for it.
func isWhiteout(path string, fi fs.FileInfo) bool {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok && fi.Mode()&fs.ModeCharDevice != 0 {
		return st.Rdev == 0
	}
	if !fi.Mode().IsRegular() || fi.Size() != 0 {
		return false
	}
	_, err := unix.Lgetxattr(path, "user.overlay.whiteout", nil)
	return err == nil
}

// isOpaque reports a directory that hides the one below it.
func isOpaque(path string) bool {
	var b [1]byte
	n, err := unix.Lgetxattr(path, "user.overlay.opaque", b[:])
	return err == nil && n == 1 && b[0] == 'y'
}

func isNotDir(err error) bool { return errors.Is(err, unix.ENOTDIR) }
