package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// lockDir marks a scratch directory as in use while the file is open. The file gets its name only
// after it is locked. Another host's sweep therefore never finds a lock that nobody holds yet,
// which it would take for a dead host's.
func lockDir(dir string) (*os.File, error) {
	lock := filepath.Join(dir, Lock)
	f, err := os.OpenFile(lock+".new", os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err = unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		err = &os.PathError{Op: "flock", Path: f.Name(), Err: err}
	} else {
		err = os.Rename(f.Name(), lock)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// takeOver takes over a directory whose owner is dead. If the directory never had a lock, it fails
// with fs.ErrNotExist.
func takeOver(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, Lock), os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		f.Close()
		return nil, errors.Join(err, fs.ErrInvalid)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	if fi, err := f.Stat(); err != nil || tree.Links(fi) == 0 {
		f.Close() // its living owner, or another sweep, removed it meanwhile
		return nil, errors.Join(err, fs.ErrInvalid)
	}
	return f, nil
}

func ownedByUs(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
