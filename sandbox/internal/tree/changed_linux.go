package tree

import (
	"io/fs"
	"syscall"
	"time"
)

// ChangedAt returns when a file's content, mode, owner or name last changed. Unlike the
// modification time, no program can set it.
func ChangedAt(fi fs.FileInfo) time.Time {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return fi.ModTime()
}
