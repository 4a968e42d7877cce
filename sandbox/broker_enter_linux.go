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

// apart runs f on a thread that ends with f and may change its namespaces freely. It never uses the
// process's first thread, which cannot end: that thread would stay in the namespaces it entered,
// and hold a dead sandbox's mounts until the process ends.
func apart(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f() // never unlocked, so that the thread ends
			return
		}
		begun := make(chan struct{})
		apart(func() { close(begun); f() }) // on another thread, since this one is taken
		<-begun
		runtime.UnlockOSThread()
	}()
}

// enterAs moves the calling thread into a sandbox's mount and IPC namespaces, where /proc is the
// sandbox's. The thread keeps the broker's rights there, but calls that check the real user, such
// as access(2), use the sandbox's user. The thread can never be used for anything else again: see
// apart.
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
	case <-b.gone: // the PID may have been reused
		return os.ErrProcessDone
	default:
	}
	for i, flag := range []int{unix.CLONE_NEWIPC, unix.CLONE_NEWNS} {
		if err := unix.Setns(fds[i], flag); err != nil {
			return fmt.Errorf("enter namespace: %w", err)
		}
	}
	if b.user.Dropped {
		// Raw calls change this thread only.
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

// within runs f on the broker's thread inside the sandbox, or returns the reason if that thread
// could not enter. If the sandbox has ended, it returns nil.
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

// kill ends a command and its descendants from outside, so that nothing inside can prevent it.
func (d *brokerd) kill(o *killOrder) error {
	if o == nil || o.Marker == "" {
		return fmt.Errorf("broker: incomplete order")
	}
	b := d.box(o.Key)
	if b == nil {
		return nil // all processes ended with it
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

// drain reads and discards output, so that processes that keep writing do not block.
func drain(files []*os.File) {
	for _, f := range files {
		go func() {
			defer f.Close()
			_, _ = io.Copy(io.Discard, f)
		}()
	}
}
