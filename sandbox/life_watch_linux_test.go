package sandbox

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/proctree"
	"github.com/luthier-dev/luthier/internal/tier"
	"golang.org/x/sys/unix"
)

// TestMemoryWatchThatCannotEnter checks that a sandbox does not start, with an error, if the watch
// cannot enter it.
func TestMemoryWatchThatCannotEnter(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	b := &box{pid: cmd.Process.Pid, gone: make(chan struct{})} // its namespaces cannot be opened
	defer close(b.gone)
	if err := b.watchMemory(1<<20, true); err == nil || !strings.Contains(err.Error(), "watch memory") {
		t.Errorf("%v", err)
	}
}

// TestMemoryWatchGoneBlind checks that a sandbox ends, and says why, if the broker can no longer
// look into it.
func TestMemoryWatchGoneBlind(t *testing.T) {
	tier.Normal(t)
	if os.Geteuid() != 0 {
		t.Skip("an ordinary user's broker is another's child")
	}
	cfg := walled(t, TierNamespaces)
	cfg, err := cfg.withDir(t).normalize()
	if err != nil {
		t.Fatal(err)
	}
	ws, err := openWorkspace(t.Context(), &cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Limits.MemoryTotal = 128 << 20
	r, err := raiseWatched(t, &cfg, ws)
	if err != nil {
		_ = ws.remove()
		t.Skipf("this host does not grant the tier: %v", err)
	}
	sb := newLocal(ws, r.plan.env, r.iso, r.run)
	defer sb.Close()
	p, err := sb.Start(t.Context(), Cmd{Args: []string{"sleep", uniqueSleep()}})
	if err != nil {
		t.Fatal(err)
	}
	broker := theBrokerOf(t, os.Getpid())
	var was unix.Rlimit
	if err := unix.Prlimit(broker, unix.RLIMIT_NOFILE, nil, &was); err != nil {
		t.Fatal(err)
	}
	// Change only the soft limit: a lowered hard limit cannot be raised again.
	if err := unix.Prlimit(broker, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: was.Max}, nil); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Prlimit(broker, unix.RLIMIT_NOFILE, &was, nil); err != nil {
			t.Errorf("give the broker its descriptors back: %v, %+v", err, was)
		}
	}()
	if _, err := p.Wait(); !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), "watched") {
		t.Errorf("the command ended by %v", err)
	}
}

// TestOldNewsOfMemoryEndsNobody checks that a command is not ended because of something that the
// watch saw before the command began but reported only later.
func TestOldNewsOfMemoryEndsNobody(t *testing.T) {
	t.Parallel()
	sb := open(t, walled(t, TierNamespaces))
	g := sb.(*local).run.(*guestSpawner)
	before := sinceBoot()
	p, err := sb.Start(t.Context(), Cmd{Args: []string{"cat"}, OpenStdin: true})
	if err != nil {
		t.Fatal(err)
	}
	g.exceeded(before)
	if exit := mustExec(t, sb, Cmd{Args: []string{"true"}}); !exit.Success() {
		t.Error(exit)
	}
	if _, err := p.Write([]byte("x")); err != nil {
		t.Error(err)
	}
	g.exceeded(sinceBoot())
	if exit, err := p.Wait(); err != nil || exit.Exceeded != ExceededMemory || exit.Stdout.String() != "x" && exit.Stdout.String() != "" {
		t.Errorf("%v %v", exit, err)
	}
}

// TestStartAfterTheEnd checks that starting a command after the init process has ended, but before
// the host has noticed, returns an error that the sandbox is closed.
func TestStartAfterTheEnd(t *testing.T) {
	t.Parallel()
	tiers(t, func(t *testing.T, cfg Config) {
		for range 10 {
			cfg.Dir = t.TempDir()
			sb := open(t, cfg)
			g, ok := sb.(*local).run.(*guestSpawner)
			if !ok {
				t.Skip("nobody is asked here")
			}
			g.link.hangUp()
			if _, err := sb.Exec(t.Context(), Cmd{Args: []string{"true"}}); !errors.Is(err, ErrClosed) {
				t.Errorf("%v, want %v", err, ErrClosed)
			}
		}
	})
}

// This runs before main in every supervisor of these tests, as the package initialisation of a
// large host may: calls that a wall refuses, while the garbage collector stops the world again and
// again.
func init() {
	if stage() != stageServe {
		return
	}
	var done atomic.Bool
	for range 2 {
		go func() {
			for !done.Load() {
				runtime.GC()
			}
		}()
	}
	for range 5 {
		if fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE); err == nil {
			unix.Close(fd)
		}
		_ = unix.Unshare(unix.CLONE_NEWUSER)
	}
	done.Store(true)
}

// TestLargeHost checks that sandboxes open, each in a short time, although the supervisor's program
// makes refused calls before its main and collects garbage meanwhile.
//
// Evidence: sandbox · A large host program starts a supervisor as reliably as a small one
func TestLargeHost(t *testing.T) {
	tier.Normal(t)
	isolated(t, func(t *testing.T, cfg Config) {
		for range tier.Pick(2, 12, 100) {
			cfg.Dir, cfg.TraceWrites = t.TempDir(), true
			sb := open(t, cfg)
			if exit := mustExec(t, sb, Cmd{Args: []string{"true"}}); !exit.Success() || len(exit.Denials) > 0 {
				t.Errorf("%v, denials %v", exit, exit.Denials)
			}
			if err := sb.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestSilentSupervisor checks that a supervisor that never reports is ended after a while, with an
// error that says so.
func TestSilentSupervisor(t *testing.T) {
	n := uniqueSleep()
	o := launchOptions{argv: []string{"/bin/sh", "-c", "exec sleep " + n}, attr: &syscall.SysProcAttr{Setsid: true}}
	_, _, err := launchPlain(t.Context(), &spec{Tier: TierLandlock}, o, 200*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "did not report its walls in 200ms") {
		t.Error(err)
	}
	if left := processesWith(t, n); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

// TestSilentBroker checks that a broker that does not answer is killed, and that a request then
// fails with an error for which another broker is tried.
func TestSilentBroker(t *testing.T) {
	b, err := startBroker(t.Context())
	if err != nil {
		t.Skipf("no broker here: %v", err)
	}
	defer b.release()
	if err := unix.Kill(-b.proc.Pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// Its fork server, which is stopped too, cannot notice its end.
	t.Cleanup(func() { _ = unix.Kill(-b.proc.Pid, unix.SIGKILL) })
	eventually(t, "the stop of all its processes", func() bool {
		all, err := proctree.List()
		return err == nil && !slices.ContainsFunc(all, func(s proctree.Stat) bool { return s.PGID == b.proc.Pid && s.State != 'T' })
	})
	b.patience = 200 * time.Millisecond
	if _, _, err := b.ask(t.Context(), brokerRequest{Op: opHello}); !errors.Is(err, errBrokerGone) || !strings.Contains(err.Error(), "no answer") {
		t.Error(err)
	}
}

// TestSupervisorEndsWithHost checks that a supervisor ends with a host that is killed while the
// supervisor still starts, and that it does not end with the thread that started it.
func TestSupervisorEndsWithHost(t *testing.T) {
	tier.Normal(t)
	n := uniqueSleep()
	host := exec.Command(self(t), n)
	host.Env = append(os.Environ(), helperEnv+"=silent-supervisor")
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the start of the supervisor", func() bool { return len(processesWith(t, n)) == 2 }) // and the host
	_ = host.Process.Kill()
	_ = host.Wait()
	eventually(t, "the end of the supervisor", func() bool { return len(processesWith(t, n)) == 0 })

	done := make(chan error)
	var sb Sandbox
	dir := t.TempDir()
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		var err error
		sb, err = Local(t.Context(), Config{Dir: dir, Floor: TierLandlock, Ceiling: TierBubblewrap})
		done <- err
	}()
	err := <-done
	if errors.Is(err, ErrFloor) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer sb.Close()
	for range 20 {
		if exit := mustExec(t, sb, Cmd{Args: []string{"true"}}); !exit.Success() {
			t.Fatal(exit)
		}
	}
}

func init() {
	helpers["silent-supervisor"] = func(a []string) error {
		o := launchOptions{argv: []string{"/bin/sh", "-c", "exec sleep " + a[0]}, attr: &syscall.SysProcAttr{Setsid: true}}
		_, _, err := launchPlain(context.Background(), &spec{Tier: TierLandlock}, o, time.Minute)
		return err
	}
}
