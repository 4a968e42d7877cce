package treefd

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestGate checks that whoever holds the gate alone is alone, under the race detector.
func TestGate(t *testing.T) {
	var g Gate
	var in, alone atomic.Int32
	plain := 0 // the race detector watches it
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 200 {
				if i%4 > 0 {
					if err := g.Enter(t.Context()); err != nil {
						t.Error(err)
						return
					}
					in.Add(1)
					if alone.Load() > 0 || plain < 0 {
						t.Error("shared while somebody is alone")
					}
					in.Add(-1)
					g.Leave()
					continue
				}
				if err := g.Lock(t.Context()); err != nil {
					t.Error(err)
					return
				}
				plain++
				if alone.Add(1) > 1 || in.Load() > 0 {
					t.Error("not alone")
				}
				alone.Add(-1)
				g.Unlock()
			}
		})
	}
	wg.Wait()
	if plain != 400 {
		t.Errorf("held alone %d times", plain)
	}
}

// TestGateWaits checks that waiting ends with the context, that those who come later wait for one
// who waits to be alone, and that nobody waits for one who gave up.
func TestGateWaits(t *testing.T) {
	var g Gate
	soon := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	if err := g.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := g.Lock(soon()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("alone while it is shared: %v", err)
	}
	if err := g.Enter(t.Context()); err != nil { // the one before gave up
		t.Fatal(err)
	}
	g.Leave()
	held := make(chan error, 1)
	go func() { held <- g.Lock(t.Context()) }()
	for end := time.Now().Add(time.Minute); ; {
		err := g.Enter(soon())
		if errors.Is(err, context.DeadlineExceeded) {
			break
		}
		if err != nil || time.Now().After(end) {
			t.Fatalf("those who come later do not wait: %v", err)
		}
		g.Leave()
	}
	g.Leave()
	if err := <-held; err != nil {
		t.Fatal(err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Enter(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("shared while it is held: %v", err)
	}
	g.Unlock()
	if err := g.Lock(canceled); err != nil { // it need not wait
		t.Error(err)
	}
	g.Unlock()
}
