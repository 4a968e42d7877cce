//go:build unix

package coding

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// keepOwner sets the owner of f to that of the file it replaces. This matters if the agent runs as
// root in another user's directory; otherwise the owner is the same already, or cannot be kept.
func keepOwner(f *os.File, was fs.FileInfo) {
	st, ok := was.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) == os.Geteuid() && int(st.Gid) == os.Getegid() {
		return
	}
	_ = f.Chown(int(st.Uid), int(st.Gid))
}

func isReadOnlyFS(err error) bool { return errors.Is(err, syscall.EROFS) }

// lockRoot takes the directory's advisory lock, which all programs that use this package share. If
// the file system has no such locks, it does nothing.
func lockRoot(root *os.Root) (unlock func()) {
	d, err := root.Open(".")
	if err != nil {
		return func() {}
	}
	for {
		if err = syscall.Flock(int(d.Fd()), syscall.LOCK_EX); err != syscall.EINTR {
			break
		}
	}
	return func() { d.Close() } // closing releases the lock
}
