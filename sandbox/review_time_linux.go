package sandbox

import (
	"io/fs"
	"syscall"
	"time"
)

// changedAt is when a file's content, mode, owner or name last changed. Unlike the
// time of modification, no program can set it.
func changedAt(fi fs.FileInfo) time.Time {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return fi.ModTime()
}
