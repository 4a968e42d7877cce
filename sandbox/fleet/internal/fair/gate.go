package fair

import (
	"context"
	"errors"
	"sync"
)

// ErrFull means that the maximum number of callers already waits at a gate.
var ErrFull = errors.New("too many wait already")

// Gate admits a limited number of holders at a time. When a holder leaves, the next waiting one is
// admitted, in the order of a Queue.
type Gate struct {
	mu      sync.Mutex
	free    int
	room    int // number of further callers that may wait
	waiting int
	queue   Queue[*waiter]
}

type waiter struct {
	in   chan struct{} // closed when admitted
	gone bool          // the caller no longer waits
}

// NewGate makes a gate with the given number of places for holders and room for the given number of
// waiting callers.
func NewGate(places, room int) *Gate { return &Gate{free: places, room: room} }

// Enter waits for a place, until ctx ends.
func (g *Gate) Enter(ctx context.Context, tenant string) error {
	g.mu.Lock()
	if g.free > 0 {
		g.free--
		g.mu.Unlock()
		return nil
	}
	if g.waiting >= g.room {
		g.mu.Unlock()
		return ErrFull
	}
	w := &waiter{in: make(chan struct{})}
	g.waiting++
	g.queue.Push(tenant, 1, w)
	g.mu.Unlock()
	select {
	case <-w.in:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-w.in: // admitted at the last moment, so pass the place on
		g.leave()
	default:
		w.gone = true
		g.waiting--
	}
	return context.Cause(ctx)
}

// Leave returns a place.
func (g *Gate) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leave()
}

func (g *Gate) leave() {
	for {
		w, ok := g.queue.Pop()
		if !ok {
			g.free++
			return
		}
		if !w.gone {
			g.waiting--
			close(w.in)
			return
		}
	}
}

// Waiting returns the number of callers that wait.
func (g *Gate) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting
}
