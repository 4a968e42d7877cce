package sandbox

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/internal/proctree"
)

// apart runs f on a thread that ends with it, and may be moved anywhere. That is never
// the process's first thread, which does not end: it would stay where it was moved, and
// hold a dead sandbox's mounts, until the process ends.
func apart(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f() // and never unlocked
			return
		}
		begun := make(chan struct{})
		apart(func() { close(begun); f() }) // on another thread, as this one is taken
		<-begun
		runtime.UnlockOSThread()
	}()
}

// enterAs moves the calling thread among a sandbox's mounts and IPC, where /proc is
// the sandbox's. It keeps the broker's rights there, but what asks by the real user,
// as access(2) does, asks for the sandbox's. The thread can never be used for
// anything else again: see apart.
func (b *box) enterAs() error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	dir := "/proc/" + strconv.Itoa(b.pid) + "/ns/"
	var fds []int
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	for _, name := range []string{"ipc", "mnt"} { // opened before either is entered
		fd, err := unix.Open(dir+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open namespace: %w", err)
		}
		fds = append(fds, fd)
	}
	select {
	case <-b.gone: // its number may be another's
		return os.ErrProcessDone
	default:
	}
	for i, flag := range []int{unix.CLONE_NEWIPC, unix.CLONE_NEWNS} {
		if err := unix.Setns(fds[i], flag); err != nil {
			return fmt.Errorf("enter namespace: %w", err)
		}
	}
	if b.user.Dropped {
		// Of this thread alone, hence the raw calls.
		keep := ^uintptr(0)
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, uintptr(b.user.OutGID), keep, keep); errno != 0 {
			return errno
		}
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(b.user.OutUID), keep, keep); errno != 0 {
			return errno
		}
	}
	return nil
}

// within runs f on the box's thread inside, or says why there is none. It is no error
// if the sandbox has ended.
func (b *box) within(f func()) (err error) {
	b.insideOnce.Do(func() {
		b.inside = make(chan func(notThere error))
		apart(func() {
			err := b.enterAs()
			for {
				select {
				case f := <-b.inside:
					f(err)
				case <-b.gone:
					return
				}
			}
		})
	})
	done := make(chan struct{})
	work := func(notThere error) {
		if err = notThere; err == nil {
			f()
		}
		close(done)
	}
	select {
	case b.inside <- work:
		<-done
	case <-b.gone:
	}
	select {
	case <-b.gone:
		return nil
	default:
		return err
	}
}

// kill ends a command and what came of it, from outside: nothing inside can be in
// the way.
func (d *brokerd) kill(o *killOrder) error {
	if o == nil || o.Marker == "" {
		return fmt.Errorf("broker: incomplete order")
	}
	b := d.box(o.Key)
	if b == nil {
		return nil // all ended with it
	}
	done := make(chan error, 1)
	apart(func() {
		err := b.enterAs()
		if err == nil {
			tree := proctree.TrackInside(o.PID, o.Marker)
			tree.Alone(o.Family)
			err = tree.Kill()
		}
		done <- err
	})
	return <-done
}

// say sends the host a message about the sandbox.
func (b *box) say(r reply) {
	if body, err := r.encode(); err == nil {
		_, _ = b.tell.Write(body)
	}
}

// drain reads and forgets, so that who goes on writing is not stopped.
func drain(files []*os.File) {
	for _, f := range files {
		go func() {
			defer f.Close()
			_, _ = io.Copy(io.Discard, f)
		}()
	}
}
