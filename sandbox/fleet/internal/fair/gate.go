package fair

import (
	"context"
	"errors"
	"sync"
)

// ErrFull means that as many wait at a gate as may.
var ErrFull = errors.New("too many wait already")

// Gate lets a number of holders in at once, and others as these leave, in the
// order of a Queue.
type Gate struct {
	mu      sync.Mutex
	free    int
	room    int // how many more may wait
	waiting int
	queue   Queue[*waiter]
}

type waiter struct {
	in   chan struct{} // closed when let in
	gone bool          // does not wait any more
}

// NewGate makes a gate with places for places holders and room for room who wait.
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
	case <-w.in: // let in at the last moment: pass the place on
		g.leave()
	default:
		w.gone = true
		g.waiting--
	}
	return context.Cause(ctx)
}

// Leave gives a place back.
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

// Waiting is the number of those who wait.
func (g *Gate) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting
}
