package fair

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

func TestTenantsTakeTurns(t *testing.T) {
	var q Queue[string]
	for range 100 {
		q.Push("many", 1, "many")
	}
	for range 10 { // part of the burst is served before the other tenant arrives
		q.Pop()
	}
	for range 3 {
		q.Push("few", 1, "few")
	}
	var order []string
	for range 6 {
		v, _ := q.Pop()
		order = append(order, v)
	}
	few := 0
	for _, v := range order {
		if v == "few" {
			few++
		}
	}
	if few != 3 {
		t.Errorf("the first six are %v; want three of each", order)
	}
	if q.Len() != 87 {
		t.Errorf("%d wait, want 87", q.Len())
	}
	for q.Len() > 0 {
		q.Pop()
	}
	if _, ok := q.Pop(); ok || len(q.finish) != 0 {
		t.Errorf("an empty queue hands out %v and remembers %v", ok, q.finish)
	}
}

func TestCostIsAShare(t *testing.T) {
	var q Queue[string]
	for range 60 {
		q.Push("cheap", 1, "cheap")
		q.Push("dear", 2, "dear")
	}
	n := map[string]int{}
	for range 60 {
		v, _ := q.Pop()
		n[v]++
	}
	if n["cheap"] < 39 || n["cheap"] > 41 {
		t.Errorf("of 60 handed out %v; want 40 cheap ones", n)
	}
}

func TestGate(t *testing.T) {
	g := NewGate(2, 3)
	ctx := t.Context()
	for range 2 {
		if err := g.Enter(ctx, "a"); err != nil {
			t.Fatal(err)
		}
	}
	gone, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	in := make(chan string, 3)
	wg.Go(func() {
		if err := g.Enter(gone, "a"); !errors.Is(err, context.Canceled) {
			t.Errorf("Enter whose context ended: %v", err)
		}
	})
	for _, tenant := range []string{"a", "b"} {
		wg.Go(func() {
			if err := g.Enter(ctx, tenant); err != nil {
				t.Error(err)
			}
			in <- tenant
		})
	}
	for g.Waiting() < 3 {
		time.Sleep(time.Millisecond)
	}
	if err := g.Enter(ctx, "c"); !errors.Is(err, ErrFull) {
		t.Errorf("a fourth who waits: %v, want ErrFull", err)
	}
	cancel()
	for g.Waiting() > 2 {
		time.Sleep(time.Millisecond)
	}
	g.Leave()
	g.Leave()
	wg.Wait()
	g.Leave()
	g.Leave()
	if g.free != 2 || g.Waiting() != 0 {
		t.Errorf("%d free, %d waiting; want 2 and 0", g.free, g.waiting)
	}
}
