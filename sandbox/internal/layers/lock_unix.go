//go:build unix

package layers

import (
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// lockable returns the reason if leases are not available on this system.
func lockable() error { return nil }

// lockShared waits until nobody is removing the directory f, and prevents its removal while f is
// open. The kernel releases the lock when the process ends.
func lockShared(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_SH)
		if err != unix.EINTR {
			return err
		}
	}
}

// lockAlone takes the directory's exclusive lock, and reports false if somebody holds the
// directory.
func lockAlone(f *os.File) bool { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }

// privateTo reports whether a directory is ours and no other user can write to it.
func privateTo(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && fi.Mode().Perm()&0o022 == 0
}

// bootPrefix is the prefix of the names of a store's parts.
const bootPrefix = "boot-"

// bootName returns a name for this boot of the machine, if the system provides one.
func bootName() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return bootPrefix + "any"
	}
	return bootPrefix + strings.TrimSpace(string(b))
}
