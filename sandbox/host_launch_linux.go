package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// launchOptions configure how a supervisor's process is made: by the broker, in new namespaces, or
// from here as a plain process.
type launchOptions struct {
	broker  *spawnOrder // Spec is filled in
	argv    []string    // replaces the program itself; the stage's arguments are appended
	attr    *syscall.SysProcAttr
	cgroups []string // cgroup.procs files of the groups that it joins before it runs anything
}

// launch starts a supervisor and waits until it has set up its isolation.
func launch(ctx context.Context, sp *spec, o launchOptions) (*guestSpawner, *facts, error) {
	sp.ID = rand.Text()
	if o.broker == nil {
		return launchPlain(ctx, sp, o, birthPatience)
	}
	o.broker.Spec, o.broker.Cgroups = sp, o.cgroups
	for again := true; ; again = false {
		g, f, err := launchByBroker(ctx, o.broker)
		if !again || !errors.Is(err, errBrokerGone) {
			return g, f, err
		}
	}
}

// launchByBroker has the broker make the process.
func launchByBroker(ctx context.Context, o *spawnOrder) (*guestSpawner, *facts, error) {
	b, err := useBroker(ctx)
	if err != nil {
		return nil, nil, err
	}
	o.Spec.Host = b.host
	r, files, err := b.ask(ctx, brokerRequest{Op: opSpawn, Spawn: o})
	if err == nil && (len(files) != 2 || r.Facts == nil) {
		err = errors.New("the broker's answer is incomplete")
	}
	if err != nil {
		closeFiles(files)
		b.release()
		return nil, nil, err
	}
	fd, err := pidfdOf(files[1])
	if err != nil {
		files[0].Close() // this ends it
		b.release()
		return nil, nil, err
	}
	sup := &brokered{fd: fd, b: b, key: r.Key, pid: r.PID}
	l, err := newFirstLink(files[0], b, r.Key, o.Spec.marker(), o.Spec.Limits)
	if err != nil {
		return nil, nil, errors.Join(err, sup.end())
	}
	g := newGuestSpawner(l, sup, true, o.Spec.marker())
	if err := b.adopt(g); err != nil {
		return nil, nil, errors.Join(err, g.shut())
	}
	return g, r.Facts, nil
}

// brokered is an init process that the broker made.
type brokered struct {
	fd  *pidfd
	b   *broker
	key uint64 // its number at the broker
	pid int
}

func (s *brokered) Kill() error { return s.fd.Kill() }

func (s *brokered) Wait() error {
	err := s.fd.await()
	_ = s.fd.Close()
	return err
}

func (s *brokered) leave(g *guestSpawner) { s.b.leave(g) }

// end releases a process that never began to serve.
func (s *brokered) end() error {
	defer s.b.release()
	return errors.Join(s.Kill(), s.Wait())
}

// launchPlain starts the process from here. The process shares the host's namespaces, or a system
// helper makes new ones, so no full fork is needed.
func launchPlain(ctx context.Context, sp *spec, o launchOptions, patience time.Duration) (*guestSpawner, *facts, error) {
	hostEnd, guestEnd, err := socketPair()
	if err != nil {
		return nil, nil, err
	}
	defer guestEnd.Close()
	complaint, err := memoryFile("sandbox-log")
	if err != nil {
		hostEnd.Close()
		return nil, nil, err
	}
	defer complaint.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		hostEnd.Close()
		return nil, nil, err
	}
	defer null.Close()
	argv := o.argv
	if argv == nil {
		argv = []string{"/proc/self/exe"}
	}
	attr := *o.attr
	attr.Pdeathsig = syscall.SIGKILL // until it serves: see outlive
	sup, err := startHeld(argv[0], append(argv, stageArg, stageSetup), &os.ProcAttr{
		Dir: "/", Env: []string{"PATH=/usr/bin:/bin", "GOTRACEBACK=none"}, Sys: &attr,
		Files: []*os.File{null, null, complaint, guestEnd},
	})
	guestEnd.Close()
	if err != nil {
		hostEnd.Close()
		return nil, nil, err
	}
	c, err := newConn(hostEnd)
	if err == nil { // whatever keeps the supervisor from its work, nobody waits for it for ever
		err = c.sock.SetDeadline(time.Now().Add(patience))
	}
	for _, group := range o.cgroups {
		if err == nil {
			err = os.WriteFile(group, []byte(strconv.Itoa(sup.Pid)), 0)
		}
	}
	for range 2 { // once for each stage
		if err == nil {
			err = c.tell(sp)
		}
	}
	if err == nil {
		var f *facts
		r := &refusals{}
		if f, err = greet(ctx, c, func(listener *os.File) error { return r.watch(sp, sup.Pid, listener) }); err == nil {
			err = c.sock.SetDeadline(time.Time{})
		}
		if err == nil {
			f.Noted = r.over != nil
			g := newGuestSpawner(c, sup, false, sp.marker())
			r.to.Store(g)
			g.noticed = r.over
			return g, f, nil
		}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("supervisor did not report its walls in %v: is the machine overloaded, or does the package initialisation of this program, which runs in the supervisor too, wait for something?", patience)
	}
	if c != nil {
		c.close()
	}
	_ = sup.Kill()
	_ = sup.Wait()
	return nil, nil, withComplaint(err, complaint)
}

// plainProcess is a supervisor that is a child of this process.
type plainProcess struct {
	*os.Process
	ended chan struct{} // closed after Wait
}

// startHeld starts a process from a thread that lives at least as long. Signals for the death of a
// parent, which bwrap uses too, are sent at the end of the thread that started a process, and a
// thread of this program ends with a goroutine that is locked to it.
func startHeld(name string, argv []string, attr *os.ProcAttr) (plainProcess, error) {
	p := plainProcess{ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var err error
		p.Process, err = os.StartProcess(name, argv, attr)
		started <- err
		if err == nil {
			<-p.ended
		}
	}()
	err := <-started
	return p, err
}

func (p plainProcess) Wait() error {
	_, err := p.Process.Wait()
	close(p.ended)
	return err
}

func (p plainProcess) leave(*guestSpawner) {}

func withComplaint(err error, complaint *os.File) error {
	if text := tail(complaint); text != "" {
		return fmt.Errorf("%w (%s)", err, text)
	}
	return err
}

// refusals answers the refused calls of a sandbox whose supervisor the host started itself.
type refusals struct {
	to   atomic.Pointer[guestSpawner] // who records them, once commands can start
	over <-chan struct{}              // closed when no more can come; nil if there is no listener
}

// greet waits for the second stage's report. Before it may come a listener, which is passed on.
func greet(ctx context.Context, c *conn, listener func(*os.File) error) (*facts, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.sock.Close() })
	defer stop()
	r, files, err := c.listenFiles()
	if err == nil && r.Event == evListener && len(files) == 1 {
		if err := listener(files[0]); err != nil {
			return nil, fmt.Errorf("watch refused calls: %w", err)
		}
		r, files, err = c.listenFiles()
	}
	closeFiles(files)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("supervisor ended during set-up: %w", err)
	case r.Error != nil:
		return nil, r.Error
	case r.Event != evHello || r.Facts == nil:
		return nil, errors.New("supervisor did not report its walls")
	}
	return r.Facts, nil
}

// explainClone adds the usual reasons for a refusal to the error.
func explainClone(err error) error {
	switch {
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		return fmt.Errorf("create namespaces: %w (user namespaces may be forbidden: see user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns, or the container's seccomp profile)", err)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("create namespaces: %w (the limit on namespaces is reached: see /proc/sys/user)", err)
	}
	return fmt.Errorf("create namespaces: %w", err)
}

func tail(f *os.File) string {
	const most = 512
	fi, err := f.Stat()
	if err != nil {
		return ""
	}
	b, _ := io.ReadAll(io.NewSectionReader(f, max(0, fi.Size()-most), most))
	return strings.TrimSpace(string(b))
}
