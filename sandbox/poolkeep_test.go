package sandbox

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/sandbox/internal/sched"
)

// at returns a time of a clock that only tests advance.
func at(d time.Duration) time.Time { return time.Unix(1_000_000, 0).Add(d) }

// clocked returns a pool without isolation whose clock the test controls.
func clocked(t *testing.T, cfg PoolConfig) (*Pool, *time.Duration) {
	t.Helper()
	cfg.Config = plain()
	p := newPool(t, cfg)
	now := new(time.Duration)
	p.now = func() time.Time { return at(*now) }
	return p, now
}

func (p *Pool) pretend(n int, since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range n {
		p.spares = append(p.spares, &spare{local: newLocal(&workspace{}, nil, Isolation{}, newHostSpawner()), since: since})
	}
}

// TestTrim checks that idle spares are released over time, half of them per interval, and that low
// memory releases all of them until there is clearly enough again.
func TestTrim(t *testing.T) {
	p, now := clocked(t, PoolConfig{Max: 20})
	p.pretend(8, at(0))
	left := func(m sched.Pressure, after time.Duration, want int) {
		t.Helper()
		*now += after
		gone, _ := p.trim(m)
		for _, s := range gone {
			_ = s.close()
		}
		if s := p.Stats(); s.Spare != want {
			t.Errorf("%v after the start: %d spares, want %d", *now, s.Spare, want)
		}
	}
	left(0, time.Second, 8)
	left(0, spareIdle, 4)
	left(0, time.Second, 2)
	p.pretend(6, at(*now))
	left(0, time.Second, 7)
	left(20, time.Second, 3)
	left(5, time.Second, 1)
	if s := p.Stats(); !s.MemoryShort || s.Target != 0 {
		t.Errorf("%+v", s)
	}
	left(5, time.Second, 0)
	if _, more := p.trim(1); more || p.Stats().MemoryShort {
		t.Error("there is nothing to look after any more")
	}
}

func TestAcquireQueues(t *testing.T) {
	p := newPool(t, PoolConfig{Config: plain(), Max: 1, Queue: 1})
	snap := SnapshotDir(t.TempDir())
	held := get(t, p, snap)
	late := make(chan error, 1)
	go func() {
		_, err := p.Acquire(context.Background(), Request{Snapshot: snap, Tenant: "a"})
		late <- err
	}()
	eventually(t, "one that waits", func() bool { return p.Stats().Queued == 1 })
	var full *QueueFullError
	if _, err := p.Acquire(t.Context(), Request{Snapshot: snap, Tenant: "b"}); !errors.As(err, &full) || full.Queued != 1 {
		t.Fatalf("a full queue: %v", err)
	}
	got := make(chan Sandbox, 1)
	go func() {
		sb, err := p.Acquire(context.Background(), Request{Snapshot: snap, Tenant: "b", Priority: 1})
		if err != nil {
			t.Error(err)
		}
		got <- sb
	}()
	if err := <-late; !errors.As(err, &full) || !full.PushedOut {
		t.Errorf("pushed out: %v", err)
	}
	held.Close()
	sb := <-got
	begun := time.Now()
	_, err := p.Acquire(t.Context(), Request{Snapshot: snap, Deadline: time.Now().Add(20 * time.Millisecond)})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > 10*time.Second {
		t.Errorf("deadline: %v", err)
	}
	sb.Close()
	if s := p.Stats(); s.Refused != 2 || s.Expired != 1 || s.Queued != 0 || s.Leased != 0 {
		t.Errorf("%+v", s)
	}
	// Requests that wait when the pool is closed get an error that says so.
	held = get(t, p, snap)
	go func() {
		_, err := p.Acquire(context.Background(), Request{Snapshot: snap})
		late <- err
	}()
	eventually(t, "one that waits", func() bool { return p.Stats().Queued == 1 })
	p.Close()
	if err := <-late; !errors.Is(err, ErrClosed) {
		t.Errorf("closed while waiting: %v", err)
	}
}
