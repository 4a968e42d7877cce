//go:build unix

package checkpoint

import (
	"io/fs"
	"syscall"
)

// identity returns values that distinguish a file from another file that replaced it under the same
// name.
func identity(fi fs.FileInfo) (inode uint64, changed int64) {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino), changeTime(st)
	}
	return 0, 0
}
