package treefd

import (
	"context"
	"sync"
)

// Gate is a lock that several may share or one may hold alone. Waiting ends with a context. Who
// waits to hold it alone goes before those who come later to share it. The zero value is open.
type Gate struct {
	mu      sync.Mutex
	shared  int
	alone   bool
	waiting int           // to hold it alone
	changed chan struct{} // closed at the next change, if anyone waits
}

// Enter shares the gate until Leave.
func (g *Gate) Enter(ctx context.Context) error {
	return g.wait(ctx, func() bool {
		if g.alone || g.waiting > 0 {
			return false
		}
		g.shared++
		return true
	})
}

// Leave ends a share.
func (g *Gate) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shared--
	g.tell()
}

// Lock holds the gate alone until Unlock. If nobody shares it, Lock does not look at ctx.
func (g *Gate) Lock(ctx context.Context) error {
	g.mu.Lock()
	g.waiting++
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.waiting--
		g.tell()
	}()
	return g.wait(ctx, func() bool {
		if g.alone || g.shared > 0 {
			return false
		}
		g.alone = true
		return true
	})
}

// TryLock is Lock if nobody has the gate, and otherwise returns false.
func (g *Gate) TryLock() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.alone || g.shared > 0 {
		return false
	}
	g.alone = true
	return true
}

// Unlock ends Lock.
func (g *Gate) Unlock() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.alone = false
	g.tell()
}

// wait calls try with the lock held, at first and after every change, until it succeeds.
func (g *Gate) wait(ctx context.Context, try func() bool) error {
	for {
		g.mu.Lock()
		if try() {
			g.mu.Unlock()
			return nil
		}
		if g.changed == nil {
			g.changed = make(chan struct{})
		}
		changed := g.changed
		g.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// tell wakes everyone who waits. The caller holds the lock.
func (g *Gate) tell() {
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}
