package coding

import (
	"context"
	"slices"
	"sync"
)

// pathLocks provides a lock for every canonical path, for as long as somebody uses it. The zero
// value is ready to use.
type pathLocks struct {
	mu   sync.Mutex
	held map[string]*pathLock
}

type pathLock struct {
	ch    chan struct{} // holds one token while the lock is held
	users int
}

// lock takes the locks of all paths and returns a function that releases them. Sorting the paths
// keeps two calls with the same paths from deadlocking; ctx ends the waiting.
func (l *pathLocks) lock(ctx context.Context, paths ...string) (unlock func(), err error) {
	paths = slices.Clone(paths)
	slices.Sort(paths)
	paths = slices.Compact(paths)
	var taken []string
	unlock = func() {
		for _, p := range taken {
			l.release(p, true)
		}
		taken = nil
	}
	for _, p := range paths {
		select {
		case l.acquire(p).ch <- struct{}{}:
			taken = append(taken, p)
		case <-ctx.Done():
			l.release(p, false)
			unlock()
			return nil, context.Cause(ctx)
		}
	}
	return unlock, nil
}

func (l *pathLocks) acquire(p string) *pathLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.held[p]
	if k == nil {
		if l.held == nil {
			l.held = map[string]*pathLock{}
		}
		k = &pathLock{ch: make(chan struct{}, 1)}
		l.held[p] = k
	}
	k.users++
	return k
}

func (l *pathLocks) release(p string, taken bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.held[p]
	if taken {
		<-k.ch
	}
	if k.users--; k.users == 0 {
		delete(l.held, p)
	}
}
