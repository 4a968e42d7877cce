// Package sched decides which requests get a sandbox of a pool, and how many sandboxes should be
// ready. It uses no clock and starts no goroutines.
package sched

import (
	"errors"
	"time"
)

// ErrFull means that the queue is full.
var ErrFull = errors.New("the queue is full")

// Waiter is a request for a place in a pool.
type Waiter struct {
	Tenant   string
	Priority int
	Deadline time.Time // zero means none
	At       time.Time // arrival time

	seq   uint64
	Ready chan error // receives nil with the place, or the reason for failure
}

// share records what a tenant has now and has received.
type share struct {
	running, waiting int
	// served counts the places that the tenant received, as if it had been there from the
	// beginning: a tenant that comes late starts with the count of the least served one.
	served float64
}

// Schedule decides which request gets a place. It uses no clock and starts no goroutines, so that
// it can be tested by itself; its owner must hold a lock.
//
// A higher priority goes first. Within one priority, the order is: the tenant with fewer places,
// then the tenant that received fewer so far, then the nearer deadline, then the earlier arrival.
// Waiting raises the priority by one every aging, so that no request starves.
type Schedule struct {
	places int // most places in use at once
	queue  int // most waiting requests
	aging  time.Duration

	seq     uint64
	Running int       // places in use
	Waiting []*Waiter // in order of arrival
	tenants map[string]*share
}

// New returns a schedule with that many places and a queue of at most that many requests, in which
// waiting raises a priority by one every aging.
func New(places, queue int, aging time.Duration) *Schedule {
	return &Schedule{places: places, queue: queue, aging: aging, tenants: map[string]*share{}}
}

// Add queues w. If the queue is full, w may take the place of another request, which is returned
// and no longer waits.
func (s *Schedule) Add(w *Waiter, now time.Time) (pushed *Waiter, err error) {
	// A request that is served at once takes no place in the queue.
	if len(s.Waiting) >= s.queue && (len(s.Waiting) > 0 || s.Running >= s.places) {
		if pushed = s.worst(w, now); pushed == nil {
			return nil, ErrFull
		}
		s.Remove(pushed)
	}
	s.seq++
	w.seq = s.seq
	s.Waiting = append(s.Waiting, w)
	s.of(w.Tenant).waiting++
	return pushed, nil
}

// of returns the tenant's share.
func (s *Schedule) of(tenant string) *share {
	if sh := s.tenants[tenant]; sh != nil {
		return sh
	}
	sh := &share{}
	first := true
	for _, other := range s.tenants {
		if first || other.served < sh.served {
			sh.served, first = other.served, false
		}
	}
	s.tenants[tenant] = sh
	return sh
}

// worst returns the request that should make room for w: one of lower priority, or of a tenant that
// has more waiting than w's, even without it.
func (s *Schedule) worst(w *Waiter, now time.Time) *Waiter {
	var out *Waiter
	lower := func(a, b *Waiter) bool { // reports whether a makes room before b
		pa, pb := s.rank(a, now), s.rank(b, now)
		if pa != pb {
			return pa < pb
		}
		if wa, wb := s.tenants[a.Tenant].waiting, s.tenants[b.Tenant].waiting; wa != wb {
			return wa > wb
		}
		return a.seq > b.seq
	}
	for _, c := range s.Waiting {
		if out == nil || lower(c, out) {
			out = c
		}
	}
	if out == nil {
		return nil
	}
	mine := 0
	if sh := s.tenants[w.Tenant]; sh != nil {
		mine = sh.waiting
	}
	switch rank := s.rank(out, now); {
	case rank < w.Priority:
		return out
	case rank == w.Priority && s.tenants[out.Tenant].waiting > mine+1:
		return out
	}
	return nil
}

// rank returns w's priority, increased for its waiting time.
func (s *Schedule) rank(w *Waiter, now time.Time) int {
	if s.aging <= 0 {
		return w.Priority
	}
	return w.Priority + int(max(0, now.Sub(w.At))/s.aging)
}

// Grant removes the requests that get a place now from the queue, in order, and returns them.
func (s *Schedule) Grant(now time.Time) []*Waiter {
	var out []*Waiter
	for s.Running < s.places && len(s.Waiting) > 0 {
		best := s.Waiting[0]
		for _, w := range s.Waiting[1:] {
			if s.before(w, best, now) {
				best = w
			}
		}
		s.Remove(best)
		sh := s.of(best.Tenant)
		sh.running++
		sh.served++
		s.Running++
		out = append(out, best)
	}
	return out
}

// before reports whether a is served before b.
func (s *Schedule) before(a, b *Waiter, now time.Time) bool {
	if pa, pb := s.rank(a, now), s.rank(b, now); pa != pb {
		return pa > pb
	}
	if ta, tb := s.tenants[a.Tenant], s.tenants[b.Tenant]; ta != tb {
		if ta.running != tb.running {
			return ta.running < tb.running
		}
		if ta.served != tb.served {
			return ta.served < tb.served
		}
	}
	if !a.Deadline.Equal(b.Deadline) {
		return b.Deadline.IsZero() || !a.Deadline.IsZero() && a.Deadline.Before(b.Deadline)
	}
	return a.seq < b.seq
}

// Remove removes w from the queue. If w was not in it, it returns false; w may then have a place.
func (s *Schedule) Remove(w *Waiter) bool {
	for i, c := range s.Waiting {
		if c == w {
			s.Waiting = append(s.Waiting[:i], s.Waiting[i+1:]...)
			s.tenants[w.Tenant].waiting--
			s.forget(w.Tenant)
			return true
		}
	}
	return false
}

// Release returns a place.
func (s *Schedule) Release(tenant string) {
	s.Running--
	s.tenants[tenant].running--
	s.forget(tenant)
}

// forget drops a tenant that neither has nor wants anything, so that the number of tenants does not
// grow. Its count is lost: it starts from the beginning.
func (s *Schedule) forget(tenant string) {
	if sh := s.tenants[tenant]; sh.running == 0 && sh.waiting == 0 {
		delete(s.tenants, tenant)
	}
}
