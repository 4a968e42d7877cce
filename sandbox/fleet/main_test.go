package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/fleet"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	if role := os.Getenv(roleEnv); role != "" {
		os.Exit(runRole(role))
	}
	os.Exit(m.Run())
}

// engines runs a test with both engines, each with short timeouts.
func engines(t *testing.T, test func(t *testing.T, e fleet.Engine)) {
	t.Run("local", func(t *testing.T) {
		e := fleet.NewLocal(fleet.LocalConfig{AckWait: 5 * time.Second, Presence: 6 * time.Second})
		t.Cleanup(func() { e.Close() })
		test(t, e)
	})
	t.Run("nats", func(t *testing.T) {
		s := embedded(t, fleet.ServerConfig{NoSync: true})
		test(t, connect(t, fleet.NATSConfig{Server: s, AckWait: 5 * time.Second, Presence: 6 * time.Second}))
	})
}

// host runs a host until stop is called or the test ends.
func host(t testing.TB, cfg fleet.HostConfig) (h *fleet.Host, stop func()) {
	t.Helper()
	if cfg.Classes == nil {
		cfg.Classes = []string{"c"}
	}
	if cfg.Heartbeat == 0 {
		cfg.Heartbeat = 300 * time.Millisecond
	}
	h, err := fleet.NewHost(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("host %s: %v", h.ID(), err)
			}
		case <-time.After(time.Minute):
			t.Errorf("host %s did not stop", h.ID())
		}
	})
	t.Cleanup(stop)
	return h, stop
}

// present waits until n hosts are known.
func present(t testing.TB, e fleet.Engine, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d hosts are there", n), func() bool {
		hs, err := e.Hosts(t.Context())
		return err == nil && len(hs) == n
	})
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("within a minute it did not come to this: %s", what)
}

// says is a Runner whose commands print their last argument.
func says(_ context.Context, job *fleet.Job) (*sandbox.Exit, error) {
	text := job.Command.Args[len(job.Command.Args)-1]
	return &sandbox.Exit{Stdout: sandbox.Output{Head: []byte(text), Total: int64(len(text))}}, nil
}

func job(id string, args ...string) *fleet.Job {
	if len(args) == 0 {
		args = []string{"echo", id}
	}
	return &fleet.Job{ID: id, Class: "c", Command: fleet.Command{Args: args, Timeout: time.Minute}}
}

// boxes returns a backend of plain processes, each box in a new directory.
func boxes(t testing.TB) fleet.Backend {
	return fleet.BackendFunc(func(ctx context.Context, spec fleet.Spec) (fleet.Box, error) {
		if spec.Snapshot != "" {
			return nil, fmt.Errorf("%w: no snapshot %q", fleet.ErrRefused, spec.Snapshot)
		}
		dir, err := os.MkdirTemp(t.TempDir(), "box")
		if err != nil {
			return nil, err
		}
		return sandbox.Local(ctx, sandbox.Config{Dir: dir, Floor: sandbox.TierNone, Ceiling: sandbox.TierNone, ScratchDir: os.TempDir()})
	})
}

// sleepUntil keeps a runner's command running until it is killed or released.
func sleepUntil(ctx context.Context, let <-chan struct{}) (*sandbox.Exit, error) {
	select {
	case <-let:
		return &sandbox.Exit{}, nil
	case <-ctx.Done():
		return &sandbox.Exit{Canceled: true}, errors.New("killed")
	}
}
