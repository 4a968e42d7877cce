package fleettest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/sandbox/fleet"
)

func want(key string, ttl time.Duration) fleet.Lease {
	return fleet.Lease{Key: key, Host: "h1", Owner: "o", TTL: ttl}
}

func acquire(t *testing.T, e fleet.Engine, l fleet.Lease) fleet.Lease {
	t.Helper()
	l, err := e.Acquire(t.Context(), l)
	must(t, err)
	if l.Epoch == 0 {
		t.Fatal("epoch 0")
	}
	return l
}

func leaseHeld(t *testing.T, a, b fleet.Engine) {
	if _, err := b.Current(t.Context(), "k"); !errors.Is(err, fleet.ErrNoLease) {
		t.Fatalf("Current of nothing: %v, want ErrNoLease", err)
	}
	l := acquire(t, a, want("k", time.Minute))
	if _, err := b.Acquire(t.Context(), want("k", time.Minute)); !errors.Is(err, fleet.ErrHeld) {
		t.Fatalf("Acquire of a held lease: %v, want ErrHeld", err)
	}
	cur, err := b.Current(t.Context(), "k")
	must(t, err)
	if cur.Epoch != l.Epoch || cur.Host != "h1" || cur.Owner != "o" || cur.TTL != time.Minute {
		t.Errorf("Current is %+v, want %+v", cur, l)
	}
	other := acquire(t, b, want("k2", time.Minute))
	if other.Epoch <= l.Epoch {
		t.Errorf("epoch %d after %d; every lease must have a greater one", other.Epoch, l.Epoch)
	}
	must(t, a.Release(t.Context(), l))
	must(t, a.Release(t.Context(), l))
	next := acquire(t, b, want("k", time.Minute))
	if next.Epoch <= other.Epoch {
		t.Errorf("epoch %d after %d", next.Epoch, other.Epoch)
	}
	must(t, a.Release(t.Context(), l)) // a release by the old holder must not end the new lease
	if cur, err := a.Current(t.Context(), "k"); err != nil || cur.Epoch != next.Epoch {
		t.Errorf("Current is %+v, %v after a stale Release", cur, err)
	}
	if _, err := a.Renew(t.Context(), l); !errors.Is(err, fleet.ErrLost) {
		t.Errorf("Renew by an old holder: %v, want ErrLost", err)
	}
}

func leaseExpired(t *testing.T, a, b fleet.Engine) {
	l := acquire(t, a, want("k", time.Second))
	deadline := time.Now().Add(time.Minute)
	for {
		next, err := b.Acquire(t.Context(), want("k", time.Minute))
		if err == nil {
			if next.Epoch <= l.Epoch {
				t.Errorf("epoch %d after %d", next.Epoch, l.Epoch)
			}
			break
		}
		if !errors.Is(err, fleet.ErrHeld) || time.Now().After(deadline) {
			t.Fatalf("Acquire after expiry: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if _, err := a.Renew(t.Context(), l); !errors.Is(err, fleet.ErrLost) {
		t.Errorf("Renew after another acquired: %v, want ErrLost", err)
	}
}

func leaseRenewed(t *testing.T, a, b fleet.Engine) {
	l := acquire(t, a, want("k", 3*time.Second))
	first := l
	for range 12 {
		time.Sleep(500 * time.Millisecond)
		next, err := a.Renew(t.Context(), l)
		must(t, err)
		if next.Epoch != l.Epoch {
			t.Fatalf("renewing changed the epoch from %d to %d", l.Epoch, next.Epoch)
		}
		l = next
	}
	if cur, err := b.Current(t.Context(), "k"); err != nil || cur.Epoch != first.Epoch {
		t.Errorf("after twice its time: %+v, %v", cur, err)
	}
	// The answer to a renewal was lost, so the holder still has the old version.
	l, err := a.Renew(t.Context(), first)
	must(t, err)
	must(t, a.Release(t.Context(), first))
	if _, err := a.Renew(t.Context(), l); !errors.Is(err, fleet.ErrLost) {
		t.Errorf("Renew after Release: %v, want ErrLost", err)
	}
	if _, err := b.Current(t.Context(), "k"); !errors.Is(err, fleet.ErrNoLease) {
		t.Errorf("Current after Release: %v, want ErrNoLease", err)
	}
}

func leaseRace(t *testing.T, a, b fleet.Engine) {
	var mu sync.Mutex
	epochs := map[uint64]int{}
	for round := range 5 {
		key := fmt.Sprintf("k%d", round)
		won := 0
		var wg sync.WaitGroup
		for i := range 8 {
			e := []fleet.Engine{a, b}[i%2]
			wg.Go(func() {
				l, err := e.Acquire(t.Context(), want(key, time.Minute))
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won++
					epochs[l.Epoch]++
				} else if !errors.Is(err, fleet.ErrHeld) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won != 1 {
			t.Errorf("%d hold %s, want 1", won, key)
		}
	}
	if len(epochs) != 5 {
		t.Errorf("epochs %v are not all different", epochs)
	}
}

func leaseRefused(t *testing.T, a, _ fleet.Engine) {
	for what, l := range map[string]fleet.Lease{
		"no key":   want("", time.Second),
		"wildcard": want("*", time.Second),
		"no time":  want("k", 0),
		"too long": want("k", 25*time.Hour),
		"no host":  {Key: "k", TTL: time.Second},
		"owner":    {Key: "k", Host: "h", TTL: time.Second, Owner: strings.Repeat("x", 5000)},
	} {
		if _, err := a.Acquire(t.Context(), l); err == nil || errors.Is(err, fleet.ErrHeld) {
			t.Errorf("%s: Acquire says %v", what, err)
		}
	}
}
