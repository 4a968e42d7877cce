package workspacetest

import (
	"fmt"
	"os"
	"syscall"
)

// statText returns the owner, the links, the inode and the time of the last change of an entry.
func statText(info os.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d links %d inode %d changed %d.%09d", st.Uid, st.Gid, st.Nlink, st.Ino, st.Ctim.Sec, st.Ctim.Nsec)
}
