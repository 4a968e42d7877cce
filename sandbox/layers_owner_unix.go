//go:build unix

package sandbox

import (
	"io/fs"
	"os"
	"syscall"
)

// chownIn gives a path below a root to the owner of the file that fi tells of. A user
// who may not give files away owns both already.
func chownIn(root *os.Root, rel string, fi fs.FileInfo) error {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	return root.Lchown(rel, int(st.Uid), int(st.Gid))
}
