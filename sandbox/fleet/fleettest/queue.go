package fleettest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/sandbox/fleet"
)

func submit(t *testing.T, e fleet.Engine, jobs ...*fleet.Job) {
	t.Helper()
	for _, j := range jobs {
		if err := e.Submit(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
}

// pull returns the next delivery of a class.
func pull(t *testing.T, e fleet.Engine, class string) fleet.Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ds, err := e.Pull(ctx, class, 1)
	if err != nil || len(ds) != 1 {
		t.Fatalf("Pull: %d deliveries, %v", len(ds), err)
	}
	return ds[0]
}

// none checks that no job is delivered for a while.
func none(t *testing.T, e fleet.Engine, class string, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	ds, err := e.Pull(ctx, class, 1)
	if len(ds) > 0 {
		t.Fatalf("job %s was delivered, attempt %d; want none", ds[0].Job.ID, ds[0].Attempt)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Pull with nothing to pull: %v, want the context's error", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func doneOnce(t *testing.T, a, b fleet.Engine) {
	submit(t, a, Job("j1", "c"))
	d := pull(t, b, "c")
	if d.Job.ID != "j1" || d.Attempt != 1 || d.Job.Command.Args[0] != "true" || d.Job.Tenant != "t" {
		t.Fatalf("delivered %+v, attempt %d", d.Job, d.Attempt)
	}
	must(t, d.Done(t.Context()))
	must(t, d.Done(t.Context())) // a second answer is harmless
	none(t, a, "c", AckWait+time.Second)
}

func duplicate(t *testing.T, a, b fleet.Engine) {
	submit(t, a, Job("j1", "c"))
	if err := b.Submit(t.Context(), Job("j1", "c")); !errors.Is(err, fleet.ErrDuplicate) {
		t.Fatalf("second Submit while waiting: %v, want ErrDuplicate", err)
	}
	d := pull(t, b, "c")
	if err := b.Submit(t.Context(), Job("j1", "c")); !errors.Is(err, fleet.ErrDuplicate) {
		t.Fatalf("second Submit while running: %v, want ErrDuplicate", err)
	}
	must(t, d.Done(t.Context()))
	// Once a job is done, the queue no longer knows it; its result shows that it was run.
	submit(t, a, Job("j1", "c"))
	must(t, pull(t, a, "c").Done(t.Context()))
}

func redelivered(t *testing.T, a, b fleet.Engine) {
	submit(t, a, Job("j1", "c"))
	pull(t, a, "c")
	d := pull(t, b, "c") // engine a never answers
	if d.Attempt != 2 {
		t.Errorf("attempt %d, want 2", d.Attempt)
	}
	must(t, d.Done(t.Context()))
}

func extended(t *testing.T, a, b fleet.Engine) {
	submit(t, a, Job("j1", "c"))
	d := pull(t, a, "c")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(AckWait / 8):
				_ = d.Extend(t.Context())
			}
		}
	})
	none(t, b, "c", 2*AckWait)
	close(stop)
	wg.Wait()
	must(t, d.Done(t.Context()))
	none(t, b, "c", AckWait+time.Second)
}

func retried(t *testing.T, a, b fleet.Engine) {
	submit(t, a, Job("j1", "c"))
	must(t, pull(t, a, "c").Retry(t.Context(), 0))
	d := pull(t, b, "c")
	if d.Attempt != 2 {
		t.Errorf("attempt %d, want 2", d.Attempt)
	}
	must(t, d.Retry(t.Context(), time.Second))
	d = pull(t, a, "c")
	if d.Attempt != 3 {
		t.Errorf("attempt %d, want 3", d.Attempt)
	}
	must(t, d.Done(t.Context()))
}

func classes(t *testing.T, a, b fleet.Engine) {
	submit(t, a, Job("x1", "x"), Job("y1", "y"), Job("x2", "x"), Job("x3", "x"))
	if d := pull(t, b, "y"); d.Job.ID != "y1" {
		t.Errorf("class y got %s", d.Job.ID)
	}
	got := map[string]bool{}
	for len(got) < 3 {
		ds, err := b.Pull(t.Context(), "x", 2)
		must(t, err)
		if len(ds) > 2 {
			t.Fatalf("%d deliveries, at most 2 were asked for", len(ds))
		}
		for _, d := range ds {
			got[d.Job.ID] = true
			must(t, d.Done(t.Context()))
		}
	}
	if !got["x1"] || !got["x2"] || !got["x3"] {
		t.Errorf("class x got %v", got)
	}
}

func waits(t *testing.T, a, b fleet.Engine) {
	none(t, a, "c", 100*time.Millisecond)
	go func() {
		time.Sleep(100 * time.Millisecond)
		_ = b.Submit(context.Background(), Job("j1", "c"))
	}()
	must(t, pull(t, a, "c").Done(t.Context()))
}

// lateAnswer acts as a host that was stopped: another host finishes its job, and then the stopped
// host answers.
func lateAnswer(t *testing.T, a, b fleet.Engine) {
	submit(t, a, Job("j1", "c"))
	late := pull(t, a, "c")
	d := pull(t, b, "c")
	must(t, d.Done(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_ = late.Extend(ctx)
	_ = late.Done(ctx) // may fail, but must have no effect
	none(t, a, "c", AckWait+time.Second)
}

func manyWorkers(t *testing.T, a, b fleet.Engine) {
	const jobs, workers = 200, 8
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var mu sync.Mutex
	seen := map[string]int{}
	var wg sync.WaitGroup
	for i := range workers {
		e := []fleet.Engine{a, b}[i%2]
		wg.Go(func() {
			for {
				ds, err := e.Pull(ctx, "c", 3)
				if err != nil {
					return
				}
				for _, d := range ds {
					if err := d.Done(ctx); err != nil {
						t.Error(err)
					}
					mu.Lock()
					if seen[d.Job.ID]++; len(seen) == jobs {
						cancel()
					}
					mu.Unlock()
				}
			}
		})
	}
	for i := range jobs {
		submit(t, a, Job(fmt.Sprintf("j%d", i), "c"))
	}
	wg.Wait()
	if len(seen) != jobs {
		t.Errorf("%d of %d jobs were delivered", len(seen), jobs)
	}
}

func refused(t *testing.T, a, _ fleet.Engine) {
	bad := map[string]*fleet.Job{
		"no ID":         Job("", "c"),
		"ID with a dot": Job("a.b", "c"),
		"wildcard":      Job("j", ">"),
		"no command":    {ID: "j", Class: "c"},
		"NUL":           {ID: "j", Class: "c", Command: fleet.Command{Args: []string{"a\x00b"}}},
		"bad variable":  {ID: "j", Class: "c", Command: fleet.Command{Args: []string{"a"}, Env: []string{"=x"}}},
	}
	for what, j := range bad {
		if err := a.Submit(t.Context(), j); err == nil {
			t.Errorf("%s: Submit accepted it", what)
		}
	}
	big := Job("big", "c")
	big.Command.Stdin = []byte(strings.Repeat("x", fleet.MaxMessage))
	if err := a.Submit(t.Context(), big); !errors.Is(err, fleet.ErrTooLarge) {
		t.Errorf("too large: %v, want ErrTooLarge", err)
	}
	if _, err := a.Pull(t.Context(), "c", 0); err == nil {
		t.Error("Pull of no jobs was accepted")
	}
}
