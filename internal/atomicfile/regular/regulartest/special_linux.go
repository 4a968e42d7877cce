package regulartest

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func special() []Kind {
	return []Kind{
		{"FIFO", func(path string) error { return unix.Mkfifo(path, 0o644) }},
		{"link to a device", func(path string) error { return os.Symlink("/dev/zero", path) }},
		{"device", func(path string) error { return unix.Mknod(path, unix.S_IFCHR|0o644, int(unix.Mkdev(1, 5))) }}, // zero
	}
}

// Flip exchanges a path and a FIFO without a pause, until the test ends or stop is called.
func Flip(t testing.TB, path string) (stop func()) {
	t.Helper()
	fifo := path + ".fifo"
	if err := unix.Mkfifo(fifo, 0o644); err != nil {
		t.Skip("cannot make a FIFO: ", err)
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, fifo, unix.RENAME_EXCHANGE) // what uses it may have removed one
			}
		}
	}()
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			close(quit)
			<-done
		}
	}
	t.Cleanup(stop)
	return stop
}
