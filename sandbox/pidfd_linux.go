package sandbox

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// pidfd is a process identified by a descriptor, so that a signal can never reach another process
// that was given its PID. Waiting for it takes no thread.
type pidfd struct {
	f   *os.File
	raw syscall.RawConn
}

// newPidfd takes over the descriptor.
func newPidfd(fd int) (*pidfd, error) {
	if err := unix.SetNonblock(fd, true); err != nil { // otherwise the poller would not accept it
		unix.Close(fd)
		return nil, err
	}
	return pidfdOf(os.NewFile(uintptr(fd), "pidfd"))
}

func pidfdOf(f *os.File) (*pidfd, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &pidfd{f: f, raw: raw}, nil
}

// Kill ends the process if it has not ended already.
func (p *pidfd) Kill() error {
	var err error
	if ctlErr := p.raw.Control(func(fd uintptr) {
		err = unix.PidfdSendSignal(int(fd), unix.SIGKILL, nil, 0)
	}); ctlErr != nil {
		return ctlErr
	}
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// await returns when the process has ended. PID 1 of a PID namespace ends after all other processes
// in it.
func (p *pidfd) await() error {
	var pollErr error
	err := p.raw.Read(func(fd uintptr) bool {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		if err != nil && !errors.Is(err, unix.EINTR) {
			pollErr = err
			return true
		}
		return n > 0
	})
	if err = errors.Join(err, pollErr); err != nil {
		return fmt.Errorf("wait for process: %w", err)
	}
	return nil
}

func (p *pidfd) Close() error { return p.f.Close() }
