//go:build unix

package coding

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives f the owner of the file it replaces. It matters where the agent runs as root in
// somebody's directory; elsewhere the owner is the same already, or cannot be kept.
func keepOwner(f *os.File, was fs.FileInfo) {
	st, ok := was.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) == os.Geteuid() && int(st.Gid) == os.Getegid() {
		return
	}
	_ = f.Chown(int(st.Uid), int(st.Gid))
}

func isReadOnlyFS(err error) bool { return errors.Is(err, syscall.EROFS) }

// lockRoot takes the advisory lock of the directory, which all programs that use this package
// share. Where the file system has no such locks, there is none.
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
	return func() { d.Close() } // closing gives the lock back
}
