package treefd

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/sandbox/internal/scratch"
)

// OpenRoot opens the directory of a descriptor. The name of the root is a path that no longer
// exists, and not one of /proc, so that nobody finds another directory by it. at is a directory for
// a link that exists meanwhile.
func OpenRoot(f *os.File, at string) (*os.Root, error) {
	dir, err := os.MkdirTemp(at, scratch.Prefix+"tree-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(dir)
	link := filepath.Join(dir, "workspace")
	if err := os.Symlink("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), link); err != nil {
		return nil, err
	}
	defer os.Remove(link)
	root, err := os.OpenRoot(link)
	runtime.KeepAlive(f)
	return root, err
}

// Owner returns the user and group that own the top of a tree.
func Owner(root *os.Root) (uid, gid int, err error) {
	fi, err := root.Stat(".")
	if err != nil {
		return 0, 0, err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, errors.ErrUnsupported
	}
	return int(st.Uid), int(st.Gid), nil
}

// As runs f with the file rights of a user, on a thread that does nothing else meanwhile. It needs
// root's rights. Goroutines that f starts do not have the user's rights.
//
// A change of these ids makes the kernel forget the thread's signal for the death of its parent,
// which As sets again, and makes the process one of which no core is dumped.
func As(uid, gid int, f func() error) (err error) {
	if uid == 0 && gid == 0 {
		return f()
	}
	runtime.LockOSThread()
	ownUID, ownGID := fsid(unix.SYS_SETFSUID, -1), fsid(unix.SYS_SETFSGID, -1)
	var orphaned int32
	_, _, _ = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_GET_PDEATHSIG, uintptr(unsafe.Pointer(&orphaned)), 0) // it does not fail
	defer func() {
		if orphaned != 0 {
			defer unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(orphaned), 0, 0, 0)
		}
		// The group can be set only with root's file rights.
		if set(unix.SYS_SETFSUID, ownUID) && set(unix.SYS_SETFSGID, ownGID) {
			runtime.UnlockOSThread()
			return
		}
		// The thread stays locked, and ends with this goroutine.
		err = errors.Join(err, errors.New("this goroutine cannot get its file rights back"))
	}()
	if !set(unix.SYS_SETFSGID, gid) || !set(unix.SYS_SETFSUID, uid) {
		return errors.New("take the file rights of the workspace's user: not permitted")
	}
	return f()
}

// fsid calls setfsuid(2) or setfsgid(2), which change the calling thread only, and returns the
// earlier id. An id of -1 changes nothing.
func fsid(call uintptr, id int) int {
	old, _, _ := unix.RawSyscall(call, uintptr(id), 0, 0)
	return int(int32(old))
}

// set sets an id of the thread and reports whether it is set now.
func set(call uintptr, id int) bool {
	fsid(call, id)
	return fsid(call, -1) == id
}
