package fleettest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/sandbox/fleet"
)

func announced(t *testing.T, a, b fleet.Engine) {
	s := fleet.HostStatus{ID: "h2", Classes: []string{"c"}, Snapshots: []string{"s"}, Slots: 2, Jobs: 1, Places: 4, Leased: 3, Waiting: 1, Draining: true}
	must(t, a.Announce(t.Context(), s))
	must(t, a.Announce(t.Context(), fleet.HostStatus{ID: "h1"}))
	hosts, err := b.Hosts(t.Context())
	must(t, err)
	if len(hosts) != 2 || hosts[0].ID != "h1" || fmt.Sprint(hosts[1]) != fmt.Sprint(s) {
		t.Errorf("hosts %+v", hosts)
	}
	deadline := time.Now().Add(time.Minute)
	for len(hosts) > 0 { // wait until both are gone, since neither announces itself again
		if time.Now().After(deadline) {
			t.Fatalf("%+v are still there", hosts)
		}
		time.Sleep(100 * time.Millisecond)
		hosts, err = a.Hosts(t.Context())
		must(t, err)
	}
	if err := a.Announce(t.Context(), fleet.HostStatus{ID: "a.b"}); err == nil {
		t.Error("a host with a dot in its ID was accepted")
	}
}

func calls(t *testing.T, a, b fleet.Engine) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := b.Call(ctx, "h1", []byte("x")); !errors.Is(err, fleet.ErrNoHost) {
		t.Fatalf("Call of nobody: %v, want ErrNoHost", err)
	}
	stop, err := a.Serve("h1", func(_ context.Context, req []byte) []byte {
		time.Sleep(10 * time.Millisecond)
		return append([]byte("re: "), req...)
	})
	must(t, err)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			req := fmt.Appendf(nil, "%d", i)
			got, err := b.Call(ctx, "h1", req)
			if err != nil || !bytes.Equal(got, append([]byte("re: "), req...)) {
				t.Errorf("answer %q, %v to %q", got, err, req)
			}
		})
	}
	wg.Wait()
	stop()
	stop()
	if _, err := b.Call(ctx, "h1", []byte("x")); !errors.Is(err, fleet.ErrNoHost) {
		t.Errorf("Call after stop: %v, want ErrNoHost", err)
	}
}

func stopWaits(t *testing.T, a, b fleet.Engine) {
	entered := make(chan struct{})
	var left atomic.Bool
	stop, err := a.Serve("h1", func(ctx context.Context, _ []byte) []byte {
		close(entered)
		<-ctx.Done() // stop ends it
		left.Store(true)
		return nil
	})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := b.Call(ctx, "h1", nil); done <- err }()
	<-entered
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("canceled Call: %v", err)
	}
	stop()
	if !left.Load() {
		t.Error("stop returned while a handler ran")
	}
}
