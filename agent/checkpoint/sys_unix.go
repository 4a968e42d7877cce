//go:build unix

package checkpoint

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFlags keep an open from waiting, should the file have become a pipe meanwhile.
const openFlags = os.O_RDONLY | unix.O_NONBLOCK

// identity returns what tells a file from another one that took its name.
func identity(fi fs.FileInfo) (inode uint64, changed int64) {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino), changeTime(st)
	}
	return 0, 0
}
