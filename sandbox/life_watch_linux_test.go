package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

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
