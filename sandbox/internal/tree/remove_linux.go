package tree

import (
	"crypto/rand"
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxDescent is the depth below which a removal moves directories to the top: every step down holds
// a descriptor, and commands can nest directories without limit.
const maxDescent = 64

// Remove removes dir, whatever modes commands left in it and however deep it is. It follows no
// links. If nothing exists, that is not an error.
func Remove(dir string) error {
	r := &remover{top: -1}
	if err := r.drop(unix.AT_FDCWD, dir, 0); err != nil {
		return &os.PathError{Op: "remove", Path: dir, Err: err}
	}
	return nil
}

type remover struct{ top int }

// drop removes the entry called name. An empty directory costs one call; a scratch directory
// consists mostly of these.
func (r *remover) drop(in int, name string, depth int) error {
	err := unix.Unlinkat(in, name, unix.AT_REMOVEDIR)
	switch {
	case orGone(err) == nil:
		return nil
	case err == unix.ENOTDIR:
		return orGone(unix.Unlinkat(in, name, 0))
	case err != unix.ENOTEMPTY && err != unix.EEXIST:
		return err
	}
	if depth >= maxDescent && r.lift(in, name) == nil {
		return nil
	}
	fd, err := openToEmpty(in, name)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if depth == 0 {
		r.top = fd
	}
	return r.empty(fd, depth, func() error { return unix.Unlinkat(in, name, unix.AT_REMOVEDIR) })
}

// empty removes the content of a directory until finish succeeds in removing the directory. It
// calls finish early, since reading to the end costs more.
func (r *remover) empty(fd, depth int, finish func() error) error {
	var first error // first failure to remove an entry in this round
	removed := 0
	var buf [4096]byte
	for {
		n, err := unix.ReadDirent(fd, buf[:])
		if err != nil {
			return err
		}
		for left := buf[:n]; len(left) > 0; {
			e, rest := nextDirent(left)
			left = rest
			if e.name == "" {
				continue
			}
			if err := r.entry(fd, e, depth+1); err != nil && first == nil {
				first = err
			} else if err == nil {
				removed++
			}
		}
		err = finish()
		if err != unix.ENOTEMPTY && err != unix.EEXIST {
			return err
		}
		if n > 0 {
			continue
		}
		if removed == 0 || first != nil {
			return errors.Join(first, err)
		}
		// Entries lifted here are new, and some file systems skip names while a directory changes.
		if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
			return err
		}
		removed = 0
	}
}

func (r *remover) entry(fd int, e dirent, depth int) error {
	if !e.mayBeDir {
		if err := unix.Unlinkat(fd, e.name, 0); err != unix.EISDIR {
			return orGone(err)
		}
	}
	return r.drop(fd, e.name, depth)
}

// lift moves a directory up into the one that is being removed.
func (r *remover) lift(in int, name string) error {
	to := rand.Text()
	err := unix.Renameat(in, name, r.top, to)
	if err == unix.EACCES && makeWritable(in, name) == nil { // it must be writable to be moved to another parent
		err = unix.Renameat(in, name, r.top, to)
	}
	return err
}

// openToEmpty opens a directory for removing its content. An overlay's work directory has mode 0,
// and directories that commands made may have it too.
func openToEmpty(in int, name string) (int, error) {
	const how = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(in, name, how, 0)
	if err == nil && (os.Geteuid() == 0 || ownersOwn(fd)) {
		return fd, nil
	}
	if err == nil {
		unix.Close(fd)
	} else if err != unix.EACCES {
		return -1, err
	}
	if err := makeWritable(in, name); err != nil {
		return -1, err
	}
	return unix.Openat(in, name, how, 0)
}

// ownersOwn reports whether a directory's owner has all permissions in it.
func ownersOwn(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&0o700 == 0o700
}

// makeWritable grants the owner of a directory all permissions in it. It does not follow a link.
func makeWritable(in int, name string) error {
	fd, err := unix.Openat(in, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o700)
}

// orGone returns nil if the error means that nothing is left to remove.
func orGone(err error) error {
	if err == unix.ENOENT {
		return nil
	}
	return err
}
