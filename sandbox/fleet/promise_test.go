package fleet_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/sandbox/fleet"
)

// strict is an engine that reports a job that leaves the queue without a result, and in which the
// first attempts to store a result fail.
type strict struct {
	fleet.Engine
	mu    sync.Mutex
	tries map[string]int
	early []string
}

func (s *strict) PutResult(ctx context.Context, r *fleet.Result) (bool, error) {
	s.mu.Lock()
	s.tries[r.Job]++
	n := s.tries[r.Job]
	s.mu.Unlock()
	if n < 3 {
		return false, errFlaky
	}
	return s.Engine.PutResult(ctx, r)
}

func (s *strict) Pull(ctx context.Context, class string, most int) ([]fleet.Delivery, error) {
	ds, err := s.Engine.Pull(ctx, class, most)
	for i := range ds {
		ds[i].Receipt = strictReceipt{ds[i].Receipt, s, ds[i].Job.ID}
	}
	return ds, err
}

type strictReceipt struct {
	fleet.Receipt
	s  *strict
	id string
}

func (r strictReceipt) Done(ctx context.Context) error {
	if _, err := r.s.Engine.Result(ctx, r.id); err != nil {
		r.s.mu.Lock()
		r.s.early = append(r.s.early, r.id)
		r.s.mu.Unlock()
	}
	return r.Receipt.Done(ctx)
}

// TestResultBeforeDone checks that a job leaves the queue only after its result is stored, however
// often storing it fails.
func TestResultBeforeDone(t *testing.T) {
	engines(t, func(t *testing.T, inner fleet.Engine) {
		e := &strict{Engine: inner, tries: map[string]int{}}
		host(t, fleet.HostConfig{Engine: e, Run: says, Slots: 4})
		c := fleet.NewClient(inner, "test")
		for i := range 4 {
			if r, err := c.Run(t.Context(), job(fmt.Sprintf("j%d", i))); err != nil || r.Exit == nil {
				t.Errorf("%+v, %v", r, err)
			}
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if len(e.early) > 0 {
			t.Errorf("out of the queue without a result: %v", e.early)
		}
	})
}

// blind is an engine in which a host cannot look up leases while the field shut is set.
type blind struct {
	fleet.Engine
	mu   sync.Mutex
	shut bool
}

func (b *blind) Current(ctx context.Context, key string) (fleet.Lease, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shut {
		return fleet.Lease{}, errFlaky
	}
	return b.Engine.Current(ctx, key)
}

// TestNoCommandUnderUnseenLease checks that no command begins under a lease that cannot be looked
// up, even if it was verified recently: it may have ended since.
func TestNoCommandUnderUnseenLease(t *testing.T) {
	engines(t, func(t *testing.T, inner fleet.Engine) {
		e := &blind{Engine: inner}
		h, _ := host(t, fleet.HostConfig{ID: "h1", Engine: e, Backend: boxes(t), Heartbeat: time.Hour})
		present(t, inner, 1)
		s := openSession(t, inner, fleet.Request{Key: "k", TTL: 6 * time.Second})
		e.mu.Lock()
		e.shut = true
		e.mu.Unlock()
		time.Sleep(2500 * time.Millisecond) // more than a third of the lease time
		if a := fleet.AskHost(t, inner, "h1", "k", s.Lease().Epoch, "touch", "early"); !strings.Contains(a, `"Code":"later"`) {
			t.Errorf("the host answers %s, want that it be asked later", a)
		}
		e.mu.Lock()
		e.shut = false
		e.mu.Unlock()
		if exit, err := s.Exec(t.Context(), sh("ls")); err != nil || exit.Stdout.String() != "" {
			t.Errorf("%+v, %v; nothing must have been run meanwhile", exit, err)
		}
		if h.Stats().Expired != 0 {
			t.Error("the session was ended although its lease holds")
		}
	})
}
