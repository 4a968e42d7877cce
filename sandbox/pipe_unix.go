//go:build unix

package sandbox

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// readNow reads available data without waiting. It returns -1 if a writer exists but no data is
// available, and 0 at the end of the file.
func readNow(f *os.File, buf []byte) (n int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return -1, err
	}
	ctlErr := raw.Read(func(fd uintptr) bool {
		for {
			n, err = syscall.Read(int(fd), buf)
			if err != syscall.EINTR {
				return true
			}
		}
	})
	if ctlErr != nil {
		return -1, ctlErr
	}
	return n, err
}

// fileFeed reads a file of the host for a command. The command never gets the file's descriptor:
// through it, it could write to a terminal, open the file again for writing, or change flags,
// offset and locks, which all holders of a descriptor share.
//
// It reads by its own descriptor and stops as soon as the command has ended, so that it takes no
// input that is meant for the next reader.
type fileFeed struct {
	file int      // a duplicate of the caller's
	stop *os.File // readable when the command has ended
	end  *os.File // its other end
}

// newFileFeed returns a feed of f, and the function that stops it.
func newFileFeed(f *os.File) (io.ReadCloser, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	dup := -1
	ctlErr := raw.Control(func(fd uintptr) { dup, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 3) })
	if err = errors.Join(err, ctlErr); err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		unix.Close(dup)
		return nil, err
	}
	return &fileFeed{file: dup, stop: r, end: w}, nil
}

// Read waits for input or for the end of the command, for which it returns io.EOF.
func (f *fileFeed) Read(b []byte) (n int, err error) {
	stop := int32(f.stop.Fd())
	for {
		wait := -1
		p := []unix.PollFd{{Fd: stop, Events: unix.POLLIN}, {Fd: int32(f.file), Events: unix.POLLIN}}
		if background(f.file) { // reading would stop this process
			p, wait = p[:1], int(backgroundEvery/time.Millisecond)
		}
		if _, err := unix.Poll(p, wait); err != nil && err != unix.EINTR {
			return 0, os.NewSyscallError("poll", err)
		}
		if p[0].Revents != 0 {
			return 0, io.EOF
		}
		if len(p) < 2 || p[1].Revents == 0 {
			continue
		}
		n, err := unix.Read(f.file, b)
		switch {
		case err == unix.EINTR || err == unix.EAGAIN: // somebody else was faster
			continue
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

// backgroundEvery is the time between two looks whether a terminal has become ours.
const backgroundEvery = 250 * time.Millisecond

// background reports whether fd is a terminal of which another process group is in the foreground.
func background(fd int) bool {
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err == nil && group != unix.Getpgrp()
}

// Close makes Read return. It does not close what Read uses: see release.
func (f *fileFeed) Close() error { return f.end.Close() }

// release closes the descriptors; Read has returned for the last time.
func (f *fileFeed) release() {
	unix.Close(f.file)
	f.stop.Close()
}
