//go:build unix

package worktree

import (
	"io/fs"
	"syscall"
)

// Identity returns data that distinguishes a file from another one of the same size and time.
func Identity(fi fs.FileInfo) (inode uint64, changed int64) {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino), changeTime(st)
	}
	return 0, 0
}
