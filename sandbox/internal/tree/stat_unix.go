//go:build unix

package tree

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// chownIn makes the owner of the file that fi describes the owner of a path below a root. A user
// who may not change owners already owns both.
func chownIn(root *os.Root, rel string, fi fs.FileInfo) error {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	return root.Lchown(rel, int(st.Uid), int(st.Gid))
}

// Links returns the number of names a file has.
func Links(fi fs.FileInfo) int {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(st.Nlink)
	}
	return 1
}

// NotEmpty reports whether the error is that of removing a non-empty directory.
func NotEmpty(err error) bool { return errors.Is(err, unix.ENOTEMPTY) }

// NoFollow makes an open neither follow a link nor wait for the other end of a pipe.
const NoFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
