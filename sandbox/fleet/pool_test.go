package fleet_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/fleet"
)

// TestPoolIsSharedFairly checks that jobs that wait for a pool are served by priority, and tenants
// in turns: a tenant with many jobs must not delay one with few.
func TestPoolIsSharedFairly(t *testing.T) {
	e := fleet.NewLocal(fleet.LocalConfig{})
	defer e.Close()
	pool, err := sandbox.NewPool(sandbox.PoolConfig{Config: sandbox.Config{Floor: sandbox.TierNone, Ceiling: sandbox.TierNone}, Max: 1, Aging: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	dir, shared := t.TempDir(), t.TempDir()
	gate, log := filepath.Join(shared, "gate"), filepath.Join(shared, "log")
	_, stop := host(t, fleet.HostConfig{Engine: e, Slots: 16, Backend: fleet.PoolBackend(pool, map[string]sandbox.Snapshot{"": sandbox.SnapshotDir(dir)})})
	defer stop()
	c := fleet.NewClient(e, "test")
	submit := func(id, tenant string, priority int, script string, waiting int) {
		j := job(id, "sh", "-c", script)
		j.Tenant, j.Priority = tenant, priority
		if err := c.Submit(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		eventually(t, id+" waits", func() bool { s := pool.Stats(); return s.Leased == 1 && s.Queued == waiting })
	}
	submit("first", "a", 0, "until [ -e "+gate+" ]; do sleep 0.02; done", 0)
	want := []string{"urgent", "a1", "b1", "a2", "a3", "idle"}
	for i, j := range []struct {
		id, tenant string
		priority   int
	}{{"idle", "c", -1}, {"a1", "a", 0}, {"a2", "a", 0}, {"a3", "a", 0}, {"b1", "b", 0}, {"urgent", "a", 5}} {
		submit(j.id, j.tenant, j.priority, "echo "+j.id+" >> "+log, i+1)
	}
	if err := os.WriteFile(gate, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, id := range want {
		if r, err := c.Wait(t.Context(), id); err != nil || r.Exit == nil || !r.Exit.Success() {
			t.Fatalf("%s: %+v, %v", id, r, err)
		}
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	// Within a priority, the pool decides whose turn it is, depending also on earlier requests. So
	// the test only requires that b's single job is not served after all of a's jobs.
	got := strings.Fields(string(b))
	if len(got) != len(want) || got[0] != "urgent" || got[5] != "idle" || slices.Index(got, "b1") > slices.Index(got, "a2") {
		t.Error(cmp.Diff(want, got))
	}
}

// TestDenialsTravel checks that a client that waits for a job or has leased a sandbox learns of
// denials and of the walls in force, like a client that runs a command locally.
func TestDenialsTravel(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	cfg := sandbox.Config{}
	cmd := []string{bash, "-c", "echo > /dev/tcp/192.0.2.1/443"}
	beside := func() *sandbox.Exit {
		cfg := cfg
		cfg.Snapshot = sandbox.SnapshotDir(t.TempDir())
		sb, err := sandbox.Local(t.Context(), cfg)
		if errors.Is(err, sandbox.ErrFloor) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer sb.Close()
		exit, err := sb.Exec(t.Context(), sandbox.Cmd{Args: cmd, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		return exit
	}()
	if len(beside.Denials) == 0 {
		t.Skip("refusals are not recorded on this host")
	}
	pool, err := sandbox.NewPool(sandbox.PoolConfig{Config: cfg, Max: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	backend := fleet.PoolBackend(pool, map[string]sandbox.Snapshot{"": sandbox.SnapshotDir(t.TempDir())})
	engines(t, func(t *testing.T, e fleet.Engine) {
		_, stop := host(t, fleet.HostConfig{Engine: e, Backend: backend})
		defer stop()
		present(t, e, 1)
		r, err := fleet.NewClient(e, "test").Run(t.Context(), job("j", cmd...))
		if err != nil || r.Exit == nil {
			t.Fatalf("%+v, %v", r, err)
		}
		leased, err := openSession(t, e, fleet.Request{}).Exec(t.Context(), sandbox.Cmd{Args: cmd, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		for what, exit := range map[string]*sandbox.Exit{"job": r.Exit, "session": leased} {
			if d := cmp.Diff(beside.Denials, exit.Denials); d != "" {
				t.Errorf("%s: denials: %s", what, d)
			}
			if d := cmp.Diff(beside.Isolation.Walls, exit.Isolation.Walls); d != "" {
				t.Errorf("%s: walls: %s", what, d)
			}
		}
	})
}
