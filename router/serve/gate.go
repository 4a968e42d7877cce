package serve

import (
	"context"
	"errors"
	"sync"
	"time"
)

var errFull = errors.New("the queue is full")

// gate limits the number of requests that run and that wait.
type gate struct {
	places chan struct{} // nil means no limit
	queue  int

	mu      sync.Mutex
	waiting int
	running int
	typical time.Duration // how long a request holds its place, averaged
}

func newGate(places, queue int) *gate {
	g := &gate{queue: queue, typical: time.Second}
	if places > 0 {
		g.places = make(chan struct{}, places)
	}
	return g
}

// enter waits for a place and returns a function to leave it. If the queue is full, it returns
// errFull and the time after which a place is likely free.
func (g *gate) enter(ctx context.Context) (leave func(), retry time.Duration, err error) {
	if leave, ok := g.try(); ok {
		return leave, 0, nil
	}
	g.mu.Lock()
	if g.waiting >= g.queue {
		retry = g.typical * time.Duration(1+g.waiting) / time.Duration(cap(g.places))
		g.mu.Unlock()
		return nil, max(retry.Round(time.Second), time.Second), errFull
	}
	g.waiting++
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		g.waiting--
		g.mu.Unlock()
	}()
	select {
	case g.places <- struct{}{}:
		return g.started(), 0, nil
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
}

// try takes a place if one is free.
func (g *gate) try() (leave func(), ok bool) {
	if g.places == nil {
		return g.started(), true
	}
	select {
	case g.places <- struct{}{}:
		return g.started(), true
	default:
		return nil, false
	}
}

func (g *gate) started() (leave func()) {
	begin := time.Now()
	g.mu.Lock()
	g.running++
	g.mu.Unlock()
	return sync.OnceFunc(func() {
		g.mu.Lock()
		g.running--
		g.typical = (7*g.typical + time.Since(begin)) / 8
		g.mu.Unlock()
		if g.places != nil {
			<-g.places
		}
	})
}

// load returns the numbers of running and waiting requests.
func (g *gate) load() (running, waiting int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running, g.waiting
}
