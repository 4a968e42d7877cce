package worktree

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// open opens a path below the root without following any link: in one call if the kernel supports
// it (5.6) and no policy forbids it, otherwise element by element.
func (r *Root) open(name string) (*os.File, error) {
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOFOLLOW, // opening a pipe must not block
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	}
	for range 16 {
		fd, err := unix.Openat2(int(r.dir.Fd()), name, &how)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), name), nil
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN): // EAGAIN: something was renamed meanwhile
			continue
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM), errors.Is(err, unix.E2BIG):
			return r.openSlowly(name)
		}
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return r.openSlowly(name)
}
