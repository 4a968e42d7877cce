package initproc

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSilentForkServer checks that a fork server that does not answer is given up with an error,
// and that closing it does not wait for it.
func TestSilentForkServer(t *testing.T) {
	p, err := NewParent()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := unix.Kill(p.pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	wait := unix.Timeval{Usec: 100_000}
	if err := unix.SetsockoptTimeval(p.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait); err != nil {
		t.Fatal(err)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	for range 2 {
		if _, err := p.Fork(&Script{}, fds[1], 0); !errors.Is(err, ErrForkServer) {
			t.Errorf("%v, want %v", err, ErrForkServer)
		}
	}
}
