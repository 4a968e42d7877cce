package fleettest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/fleet"
)

// Result returns the result of a command that printed text.
func Result(job, host, text string) *fleet.Result {
	return &fleet.Result{Job: job, Host: host, Attempt: 1, Exit: &sandbox.Exit{Code: 3, TimedOut: true, Wall: time.Second,
		Stdout:    sandbox.Output{Head: []byte(text), Total: int64(len(text))},
		Isolation: sandbox.Isolation{Tier: sandbox.TierNone, Walls: []sandbox.Wall{{Name: sandbox.WallNetwork}}, Missing: []string{"all"}}}}
}

func firstCounts(t *testing.T, a, b fleet.Engine) {
	if _, err := a.Result(t.Context(), "j1"); !errors.Is(err, fleet.ErrNoResult) {
		t.Fatalf("Result of nothing: %v, want ErrNoResult", err)
	}
	put := func(e fleet.Engine, r *fleet.Result, want bool) {
		t.Helper()
		first, err := e.PutResult(t.Context(), r)
		if err != nil || first != want {
			t.Errorf("PutResult by %s: first %v, %v; want %v", r.Host, first, err, want)
		}
	}
	put(a, Result("j1", "h1", "one"), true)
	put(b, Result("j1", "h2", "two"), false)
	put(a, Result("j1", "h1", "one"), true) // repeated, because the answer to the first attempt was lost
	again := Result("j1", "h1", "one")
	again.Attempt = 2
	put(a, again, false)
	got, err := b.Result(t.Context(), "j1")
	must(t, err)
	if got.Host != "h1" || got.Attempt != 1 || got.Exit.Code != 3 || !got.Exit.TimedOut || got.Exit.Stdout.String() != "one" ||
		got.Exit.Isolation.Tier != sandbox.TierNone || len(got.Exit.Isolation.Walls) != 1 || got.Exit.Wall != time.Second {
		t.Errorf("got %+v with %+v", got, got.Exit)
	}
	put(b, &fleet.Result{Job: "j2", Host: "h2", Attempt: 5, Failure: "gave up"}, true)
	if got, err = a.Result(t.Context(), "j2"); err != nil || got.Exit != nil || got.Failure != "gave up" {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := a.PutResult(t.Context(), &fleet.Result{Job: "j3", Host: "h"}); err == nil {
		t.Error("a result that says nothing was accepted")
	}
}

func resultRace(t *testing.T, a, b fleet.Engine) {
	var firsts atomic.Int32
	var wg sync.WaitGroup
	for i := range 16 {
		e := []fleet.Engine{a, b}[i%2]
		wg.Go(func() {
			first, err := e.PutResult(t.Context(), Result("j1", fmt.Sprintf("h%d", i), "x"))
			if err != nil {
				t.Error(err)
			}
			if first {
				firsts.Add(1)
			}
		})
	}
	wg.Wait()
	if firsts.Load() != 1 {
		t.Errorf("%d results were first, want 1", firsts.Load())
	}
}

func watchResults(t *testing.T, a, b fleet.Engine) {
	const jobs = 20
	put := func(i int) {
		if _, err := a.PutResult(t.Context(), Result(fmt.Sprintf("j%d", i), "h", "x")); err != nil {
			t.Error(err)
		}
	}
	for i := range jobs / 2 {
		put(i)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	seen := map[string]int{}
	for r, err := range b.WatchResults(ctx, "") {
		must(t, err)
		if seen[r.Job]++; len(seen) == 1 {
			go func() {
				for i := range jobs / 2 {
					put(jobs/2 + i)
				}
			}()
		}
		if len(seen) == jobs {
			break
		}
	}
	for job, n := range seen {
		if n != 1 {
			t.Errorf("%s was told %d times", job, n)
		}
	}
	// Watch one job whose result comes later.
	go func() { time.Sleep(50 * time.Millisecond); put(jobs + 1); put(jobs) }()
	for r, err := range b.WatchResults(ctx, fmt.Sprintf("j%d", jobs)) {
		must(t, err)
		if r.Job != fmt.Sprintf("j%d", jobs) {
			t.Errorf("told of %s", r.Job)
		}
		break
	}
	cancel()
	var last error
	for _, err := range b.WatchResults(ctx, "none") {
		last = err
	}
	if last == nil {
		t.Error("a watch whose context ended ended without an error")
	}
}
