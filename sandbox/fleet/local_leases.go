package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"time"
)

// localLease is a lease and the time at which it ends.
type localLease struct {
	Lease
	until time.Time
}

// validate returns an error if a requested lease is invalid.
func (l Lease) validate() error {
	if l.TTL <= 0 || l.TTL > 24*time.Hour {
		return errors.New("Lease.TTL must be more than 0 and at most 24 hours")
	}
	return errors.Join(ValidName("Lease.Key", l.Key), ValidName("Lease.Host", l.Host), short("Lease.Owner", l.Owner))
}

// Acquire implements Leases.
func (e *localEngine) Acquire(_ context.Context, want Lease) (Lease, error) {
	if err := want.validate(); err != nil {
		return Lease{}, fail("acquire lease", want.Key, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return Lease{}, fail("acquire lease", want.Key, ErrClosed)
	}
	if _, ok := e.held(want.Key); ok {
		return Lease{}, fail("acquire lease", want.Key, ErrHeld)
	}
	e.epoch++
	want.Epoch, want.nonce = e.epoch, rand.Text()
	e.leases[want.Key] = localLease{want, time.Now().Add(want.TTL)}
	return want, nil
}

// held returns the current lease of key, if there is one. The caller holds the lock.
func (e *localEngine) held(key string) (localLease, bool) {
	l, ok := e.leases[key]
	if ok && !time.Now().Before(l.until) {
		delete(e.leases, key)
		return l, false
	}
	return l, ok
}

// Renew implements Leases.
func (e *localEngine) Renew(_ context.Context, l Lease) (Lease, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	have, ok := e.held(l.Key)
	if !ok || have.Epoch != l.Epoch {
		return Lease{}, fail("renew lease", l.Key, ErrLost)
	}
	have.until = time.Now().Add(have.TTL)
	e.leases[l.Key] = have
	return have.Lease, nil
}

// Release implements Leases.
func (e *localEngine) Release(_ context.Context, l Lease) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if have, ok := e.held(l.Key); ok && have.Epoch == l.Epoch {
		delete(e.leases, l.Key)
	}
	return nil
}

// Current implements Leases.
func (e *localEngine) Current(_ context.Context, key string) (Lease, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if l, ok := e.held(key); ok {
		return l.Lease, nil
	}
	return Lease{}, fail("look up lease", key, ErrNoLease)
}
