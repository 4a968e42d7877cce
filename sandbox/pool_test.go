package sandbox

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/sandbox/internal/sched"
)

func newPool(t testing.TB, cfg PoolConfig) *Pool {
	t.Helper()
	p, err := NewPool(cfg)
	if err != nil {
		t.Fatal(err)
	}
	// What else runs on the machine decides no test.
	p.memory = func() sched.Pressure { return 0 }
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return p
}

// get leases from the pool, or skips the test if the host forbids the tier.
func get(t testing.TB, p *Pool, snap Snapshot) Sandbox {
	t.Helper()
	sb, err := p.Get(context.Background(), snap)
	if errors.Is(err, ErrFloor) {
		t.Skipf("this host does not grant the tier: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return sb
}

func TestPoolIsBounded(t *testing.T) {
	p := newPool(t, PoolConfig{Config: plain(), Max: 3})
	dir := t.TempDir()
	var now, most atomic.Int32
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			sb, err := p.Get(t.Context(), SnapshotDir(dir))
			if err != nil {
				t.Error(err)
				return
			}
			n := now.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			if _, err := sb.Exec(t.Context(), Cmd{Args: []string{"true"}}); err != nil {
				t.Error(err)
			}
			// Keep leases until the limit is reached: a slow machine grants them slowly.
			for wait := time.Now().Add(time.Minute); most.Load() < 3 && time.Now().Before(wait); {
				time.Sleep(time.Millisecond)
			}
			now.Add(-1)
			if err := sb.Close(); err != nil {
				t.Error(err)
			}
			if err := sb.Close(); err != nil { // must not return the place twice
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if m := most.Load(); m != 3 {
		t.Errorf("%d leases at once, want 3", m)
	}
	a, b, c := get(t, p, SnapshotDir(dir)), get(t, p, SnapshotDir(dir)), get(t, p, SnapshotDir(dir))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := p.Get(ctx, SnapshotDir(dir)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Get from an empty pool: %v", err)
	}
	for _, sb := range []Sandbox{a, b, c} {
		sb.Close()
	}
}

func TestPoolKeepsSpares(t *testing.T) {
	p := newPool(t, PoolConfig{Warm: 2})
	dir := repository(t)
	snap := SnapshotCommit(dir, "HEAD")
	get(t, p, snap).Close()
	eventually(t, "two spares", func() bool { return p.Stats().Spare == 2 })
	sb := get(t, p, snap)
	if got := sh(t, sb, "cat file"); got != "second" {
		t.Errorf("got %q", got)
	}
	if s := p.Stats(); s.Hits != 1 || s.Misses != 1 || s.Leased != 1 {
		t.Errorf("%+v", s)
	}
	sh(t, sb, "echo dirty > file")
	sb.Close()
	// Neither a used sandbox nor one over another snapshot is handed out.
	for snap, want := range map[Snapshot]string{snap: "second", SnapshotCommit(dir, "HEAD~1"): "first"} {
		sb := get(t, p, snap)
		if got := sh(t, sb, "cat file"); got != want {
			t.Errorf("%v: got %q, want %q", snap, got, want)
		}
		sb.Close()
	}
}

func TestPoolClose(t *testing.T) {
	scratch := t.TempDir()
	p := newPool(t, PoolConfig{Config: Config{ScratchDir: scratch}, Warm: 3})
	dir := t.TempDir()
	sb := get(t, p, SnapshotDir(dir))
	n := uniqueSleep()
	if _, err := sb.Start(t.Context(), Cmd{Args: []string{"sleep", n}}); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil { // while spares are being made
		t.Fatal(err)
	}
	if left := processesWith(t, n); len(left) > 0 {
		t.Errorf("left %q", left)
	}
	if _, err := p.Get(t.Context(), SnapshotDir(dir)); !errors.Is(err, ErrClosed) {
		t.Errorf("Get after Close: %v", err)
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("left in the scratch directory: %v, %v", left, err)
	}
}

func TestPoolErrors(t *testing.T) {
	for _, cfg := range []PoolConfig{{Max: -1}, {Warm: -1}, {Config: Config{Dir: "."}}, {Config: Config{Snapshot: SnapshotDir(".")}}} {
		if _, err := NewPool(cfg); err == nil {
			t.Errorf("%+v: no error", cfg)
		}
	}
	p := newPool(t, PoolConfig{Config: plain(), Max: 1})
	for range 3 { // a failure must not use up a place
		if _, err := p.Get(t.Context(), SnapshotDir("/no/such")); err == nil {
			t.Error("no error")
		}
	}
	get(t, p, SnapshotDir(t.TempDir())).Close()
}
