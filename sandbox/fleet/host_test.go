package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/fleet"
)

func TestJobsOfTwoHosts(t *testing.T) {
	engines(t, func(t *testing.T, e fleet.Engine) {
		h1, stop1 := host(t, fleet.HostConfig{ID: "h1", Engine: e, Run: says, Slots: 2})
		h2, stop2 := host(t, fleet.HostConfig{ID: "h2", Engine: e, Run: says, Slots: 2})
		c := fleet.NewClient(e, "test")
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				id := fmt.Sprintf("j%d", i)
				r, err := c.Run(t.Context(), job(id))
				if err != nil || r.Exit.Stdout.String() != id || r.Job != id {
					t.Errorf("%s: %+v, %v", id, r, err)
				}
			})
		}
		wg.Wait()
		if r, err := c.Run(t.Context(), job("j7", "echo", "another")); err != nil || r.Exit.Stdout.String() != "j7" {
			t.Errorf("the same ID again: %+v, %v; want the first result", r, err)
		}
		// A host counts a result only after storing it, so a client may see the result before it is
		// counted.
		stop1()
		stop2()
		if n := h1.Stats().Counted + h2.Stats().Counted; n != 50 {
			t.Errorf("%d results counted, want 50", n)
		}
	})
}

func TestJobsInRealSandboxes(t *testing.T) {
	pool, err := sandbox.NewPool(sandbox.PoolConfig{Config: sandbox.Config{Floor: sandbox.TierNone}, Warm: 1, Max: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	dir := t.TempDir()
	backend := fleet.PoolBackend(pool, map[string]sandbox.Snapshot{"base": sandbox.SnapshotDir(dir)})
	engines(t, func(t *testing.T, e fleet.Engine) {
		_, stop := host(t, fleet.HostConfig{Engine: e, Backend: backend, Slots: 2})
		defer stop()
		c := fleet.NewClient(e, "test")
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				j := job(fmt.Sprintf("j%d", i), "sh", "-c", "cat; echo $A; ls; touch left-behind; exit 3")
				j.Snapshot, j.Command.Stdin, j.Command.Env = "base", []byte("in "), []string{"A=b"}
				r, err := c.Run(t.Context(), j)
				if err != nil || r.Exit == nil {
					t.Errorf("%+v, %v", r, err)
					return
				}
				if r.Exit.Code != 3 || r.Exit.Stdout.String() != "in b\n" || r.Exit.Isolation.Tier == 0 {
					t.Errorf("%+v", r.Exit)
				}
			})
		}
		wg.Wait()
		j := job("other")
		j.Snapshot = "/etc"
		if r, err := c.Run(t.Context(), j); err != nil || r.Exit != nil || !strings.Contains(r.Failure, "no snapshot") {
			t.Errorf("a snapshot the host does not offer: %+v, %v", r, err)
		}
		if r, err := c.Run(t.Context(), func() *fleet.Job { j := job("gone", "no-such-program"); j.Snapshot = "base"; return j }()); err != nil || r.Exit != nil && r.Exit.Success() || r.Attempt != 1 {
			t.Errorf("a program that is not there: %+v, %v", r, err)
		}
	})
}

func TestTroubleOfRunners(t *testing.T) {
	engines(t, func(t *testing.T, e fleet.Engine) {
		var tries atomic.Int32
		host(t, fleet.HostConfig{Engine: e, Slots: 4, Run: func(ctx context.Context, j *fleet.Job) (*sandbox.Exit, error) {
			switch j.ID {
			case "refused":
				return nil, fmt.Errorf("%w: never", fleet.ErrRefused)
			case "panics":
				panic("oh")
			case "nothing":
				return nil, nil
			case "unlucky":
				if tries.Add(1) < 2 {
					return nil, errors.New("bad luck")
				}
			case "hopeless":
				return nil, errors.New("no luck at all")
			case "loud":
				return &sandbox.Exit{Stdout: sandbox.Output{Head: []byte(strings.Repeat("x", 1<<20))}}, nil
			}
			return says(ctx, j)
		}})
		c := fleet.NewClient(e, "test")
		hopeless := job("hopeless")
		hopeless.MaxAttempts = 1
		for id, want := range map[string]string{"refused": "never", "panics": "panicked: oh", "nothing": "neither", "unlucky": "", "hopeless": "no luck", "loud": "", "fine": ""} {
			j := job(id)
			if id == "hopeless" {
				j = hopeless
			}
			r, err := c.Run(t.Context(), j)
			if err != nil || (r.Exit == nil) != (want != "") || !strings.Contains(r.Failure, want) {
				t.Errorf("%s: %+v, %v", id, r, err)
				continue
			}
			if id == "loud" && (r.Exit.Stdout.Total != 1<<20 || r.Exit.Stdout.Omitted() != 1<<20-fleet.MaxOutput) {
				t.Errorf("loud: %d bytes, %d omitted", r.Exit.Stdout.Total, r.Exit.Stdout.Omitted())
			}
			if id == "unlucky" && r.Attempt != 2 {
				t.Errorf("unlucky: attempt %d, want 2", r.Attempt)
			}
		}
	})
}

// TestStoppedHostGivesBack checks that a host that is stopped returns its jobs at once, for other
// hosts.
func TestStoppedHostGivesBack(t *testing.T) {
	engines(t, func(t *testing.T, e fleet.Engine) {
		let := make(chan struct{})
		defer close(let)
		began := make(chan struct{}, 10)
		h1, stop := host(t, fleet.HostConfig{ID: "h1", Engine: e, Slots: 3, Run: func(ctx context.Context, _ *fleet.Job) (*sandbox.Exit, error) {
			began <- struct{}{}
			return sleepUntil(ctx, let)
		}})
		c := fleet.NewClient(e, "test")
		for i := range 3 {
			if err := c.Submit(t.Context(), job(fmt.Sprintf("j%d", i))); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			<-began
		}
		stop()
		if h1.Stats().Retried != 3 {
			t.Errorf("%d jobs were given back, want 3", h1.Stats().Retried)
		}
		host(t, fleet.HostConfig{ID: "h2", Engine: e, Slots: 3, Run: says})
		for i := range 3 {
			r, err := c.Wait(t.Context(), fmt.Sprintf("j%d", i))
			if err != nil || r.Host != "h2" || r.Attempt != 2 {
				t.Errorf("%+v, %v", r, err)
			}
		}
	})
}

// TestJobThatKillsItsHosts checks that a job is given up if no attempt finishes, because it kills
// or hangs its hosts.
func TestJobThatKillsItsHosts(t *testing.T) {
	engines(t, func(t *testing.T, e fleet.Engine) {
		j := job("killer")
		j.MaxAttempts = 2
		if err := e.Submit(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		for want := 1; want <= 2; want++ { // two hosts that pull the job and then disappear
			ds, err := e.Pull(t.Context(), "c", 1)
			if err != nil || ds[0].Attempt != want {
				t.Fatal(ds, err)
			}
		}
		h, _ := host(t, fleet.HostConfig{Engine: e, Run: says})
		r, err := fleet.NewClient(e, "test").Wait(t.Context(), "killer")
		if err != nil || r.Exit != nil || !strings.Contains(r.Failure, "given up after 2") {
			t.Errorf("%+v, %v", r, err)
		}
		if h.Stats().Jobs != 0 {
			t.Error("it was run all the same")
		}
	})
}

// TestUnreliableEngine checks that every job is counted exactly once, even if every operation of
// the engine sometimes fails, before or after it was carried out.
func TestUnreliableEngine(t *testing.T) {
	engines(t, func(t *testing.T, e fleet.Engine) {
		const jobs = 60
		var hosts []*fleet.Host
		for i := range 3 {
			h, _ := host(t, fleet.HostConfig{ID: fmt.Sprintf("h%d", i), Engine: newFlaky(e, uint64(i)), Run: says, Slots: 4, Heartbeat: 100 * time.Millisecond})
			hosts = append(hosts, h)
		}
		c := fleet.NewClient(newFlaky(e, 99), "test")
		var wg sync.WaitGroup
		for i := range jobs {
			wg.Go(func() {
				j := job(fmt.Sprintf("j%d", i))
				j.MaxAttempts = 1000
				if r, err := c.Run(t.Context(), j); err != nil || r.Exit == nil {
					t.Errorf("%+v, %v", r, err)
				}
			})
		}
		wg.Wait()
		var counted, runs int64
		for _, h := range hosts {
			counted += h.Stats().Counted
			runs += h.Stats().Jobs
		}
		// A host may have stored a result without learning that the result was the first.
		if counted > jobs {
			t.Errorf("%d results counted for %d jobs", counted, jobs)
		}
		t.Logf("%d jobs: %d runs, %d counted", jobs, runs, counted)
	})
}

// TestSecondRunDoesNotCount checks a job that was queued twice, so that one host runs it twice as a
// first attempt: the second result must not count, while the first must count however often it is
// stored.
func TestSecondRunDoesNotCount(t *testing.T) {
	engines(t, func(t *testing.T, e fleet.Engine) {
		first := &fleet.Result{Job: "j", Host: "h", Attempt: 1, Run: "one", Failure: "f"}
		second := &fleet.Result{Job: "j", Host: "h", Attempt: 1, Run: "two", Failure: "f"}
		for i, c := range []struct {
			r    *fleet.Result
			want bool
		}{{first, true}, {first, true}, {second, false}, {first, true}} {
			if got, err := e.PutResult(t.Context(), c.r); err != nil || got != c.want {
				t.Errorf("put %d: first is %v, %v", i, got, err)
			}
		}
	})
}
