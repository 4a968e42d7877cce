//go:build unix

package coding

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// keepOwner sets the owner of f to that of the file it replaces. This matters if the agent runs as
// root in another user's directory, or as a member of a group in a shared one; otherwise the owner
// is the same already.
func keepOwner(f *os.File, was fs.FileInfo) error {
	st, ok := was.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) == os.Geteuid() && int(st.Gid) == os.Getegid() {
		return nil
	}
	if f.Chown(int(st.Uid), int(st.Gid)) == nil {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if now, ok := info.Sys().(*syscall.Stat_t); ok && now.Uid == st.Uid && now.Gid == st.Gid {
		return nil
	}
	return &notKept{"owner"}
}

// linkCount returns the number of names of a file.
func linkCount(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Nlink)
	}
	return 1
}

// privateToUs reports whether only the user of this process can read a file, which is never true of
// one that came with a repository.
func privateToUs(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && info.Mode().Perm() == 0o600
}

// isBusy reports whether a file could not be replaced because it is a mount point.
func isBusy(err error) bool { return errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EXDEV) }

func isReadOnlyFS(err error) bool { return errors.Is(err, syscall.EROFS) }
