//go:build unix

package layers

import (
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// lockable reports why leases cannot be had on this system.
func lockable() error { return nil }

// lockShared waits until nobody removes the directory that f is, and keeps others
// from it while f is open. The kernel ends it with the process.
func lockShared(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_SH)
		if err != unix.EINTR {
			return err
		}
	}
}

// lockAlone reports whether nobody holds the directory, and keeps it so.
func lockAlone(f *os.File) bool { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }

// privateTo reports a directory of ours that no other user can write.
func privateTo(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && fi.Mode().Perm()&0o022 == 0
}

// bootPrefix begins the names of the parts of a store.
const bootPrefix = "boot-"

// bootName names this boot of the machine, where the system tells.
func bootName() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return bootPrefix + "any"
	}
	return bootPrefix + strings.TrimSpace(string(b))
}
