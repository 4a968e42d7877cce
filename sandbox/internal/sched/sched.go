// Package sched decides who gets a sandbox of a pool, and how many of them should stand ready. It
// knows no clock and starts nothing.
package sched

import (
	"errors"
	"time"
)

// ErrFull says that as many wait as may.
var ErrFull = errors.New("the queue is full")

// Waiter is a request for a place in a pool.
type Waiter struct {
	Tenant   string
	Priority int
	Deadline time.Time // zero is none
	At       time.Time // when it came

	seq   uint64
	Ready chan error // receives nil with the place, or why there is none
}

// share is what a tenant has and had.
type share struct {
	running, waiting int
	// served counts the places it got, as if it had been there from the beginning:
	// a tenant that comes late starts with what the least served one has.
	served float64
}

// Schedule decides who gets a place. It knows no clock and starts nothing, so
// that it can be tested by itself; its owner holds a lock over it.
//
// A higher priority goes first. Within one, the tenant that has fewer places does,
// then the one that got fewer so far, then the nearer deadline, then who came
// first. Waiting raises the priority by one every aging, so that nobody starves.
type Schedule struct {
	places int // most at once
	queue  int // most waiting
	aging  time.Duration

	seq     uint64
	Running int       // places in use
	Waiting []*Waiter // in order of arrival
	tenants map[string]*share
}

// New returns a schedule of that many places and queue of at most that many, in which waiting
// raises a priority by one every aging.
func New(places, queue int, aging time.Duration) *Schedule {
	return &Schedule{places: places, queue: queue, aging: aging, tenants: map[string]*share{}}
}

// Add lets w wait. If the queue is full it may take the place of another, which is
// returned and waits no more.
func (s *Schedule) Add(w *Waiter, now time.Time) (pushed *Waiter, err error) {
	// One that is served at once takes no place in the queue.
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

// worst is whoever should make room for w: one of lower priority, or of a tenant
// that has more than w's waiting even without it.
func (s *Schedule) worst(w *Waiter, now time.Time) *Waiter {
	var out *Waiter
	lower := func(a, b *Waiter) bool { // a makes room before b
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

// rank is w's priority, with what waiting has earned it.
func (s *Schedule) rank(w *Waiter, now time.Time) int {
	if s.aging <= 0 {
		return w.Priority
	}
	return w.Priority + int(max(0, now.Sub(w.At))/s.aging)
}

// Grant takes those who get a place now out of the queue, in order.
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

// Remove takes w out of the queue; it reports false if w was not in it, which may
// mean that it has a place.
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

// Release gives a place back.
func (s *Schedule) Release(tenant string) {
	s.Running--
	s.tenants[tenant].running--
	s.forget(tenant)
}

// forget drops a tenant that neither has nor wants anything, so that their number
// does not grow. What it was served is of no use: it starts anew.
func (s *Schedule) forget(tenant string) {
	if sh := s.tenants[tenant]; sh.running == 0 && sh.waiting == 0 {
		delete(s.tenants, tenant)
	}
}
