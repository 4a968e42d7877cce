package sandbox

import (
	"fmt"
	"time"
)

// QueueFullError says that a pool has as many sandboxes leased as it may and as
// many requests waiting as it may. Try again later, raise PoolConfig.Queue, or
// give the request a higher priority than those that wait.
type QueueFullError struct {
	Leased int // sandboxes in use
	Queued int // requests waiting
	// PushedOut says that the request did wait, until one that came later took its
	// place: of a higher priority, or of a tenant with fewer requests waiting.
	PushedOut bool
}

// Error says what is full.
func (e *QueueFullError) Error() string {
	how := "the queue is full"
	if e.PushedOut {
		how = "pushed out of a full queue"
	}
	return fmt.Sprintf("%s: %d sandboxes are leased and %d requests wait", how, e.Leased, e.Queued)
}

// waiter is a request for a place in a pool.
type waiter struct {
	tenant   string
	priority int
	deadline time.Time // zero is none
	at       time.Time // when it came

	seq   uint64
	ready chan error // receives nil with the place, or why there is none
}

// share is what a tenant has and had.
type share struct {
	running, waiting int
	// served counts the places it got, as if it had been there from the beginning:
	// a tenant that comes late starts with what the least served one has.
	served float64
}

// schedule decides who gets a place. It knows no clock and starts nothing, so
// that it can be tested by itself; its owner holds a lock over it.
//
// A higher priority goes first. Within one, the tenant that has fewer places does,
// then the one that got fewer so far, then the nearer deadline, then who came
// first. Waiting raises the priority by one every aging, so that nobody starves.
type schedule struct {
	places int // most at once
	queue  int // most waiting
	aging  time.Duration

	seq     uint64
	running int
	waiting []*waiter // in order of arrival
	tenants map[string]*share
}

func newSchedule(places, queue int, aging time.Duration) *schedule {
	return &schedule{places: places, queue: queue, aging: aging, tenants: map[string]*share{}}
}

// add lets w wait. If the queue is full it may take the place of another, which is
// returned and waits no more.
func (s *schedule) add(w *waiter, now time.Time) (pushed *waiter, err error) {
	// One that is served at once takes no place in the queue.
	if len(s.waiting) >= s.queue && (len(s.waiting) > 0 || s.running >= s.places) {
		if pushed = s.worst(w, now); pushed == nil {
			return nil, &QueueFullError{Leased: s.running, Queued: len(s.waiting)}
		}
		s.remove(pushed)
	}
	s.seq++
	w.seq = s.seq
	s.waiting = append(s.waiting, w)
	s.of(w.tenant).waiting++
	return pushed, nil
}

// of returns the tenant's share.
func (s *schedule) of(tenant string) *share {
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
func (s *schedule) worst(w *waiter, now time.Time) *waiter {
	var out *waiter
	lower := func(a, b *waiter) bool { // a makes room before b
		pa, pb := s.rank(a, now), s.rank(b, now)
		if pa != pb {
			return pa < pb
		}
		if wa, wb := s.tenants[a.tenant].waiting, s.tenants[b.tenant].waiting; wa != wb {
			return wa > wb
		}
		return a.seq > b.seq
	}
	for _, c := range s.waiting {
		if out == nil || lower(c, out) {
			out = c
		}
	}
	if out == nil {
		return nil
	}
	mine := 0
	if sh := s.tenants[w.tenant]; sh != nil {
		mine = sh.waiting
	}
	switch rank := s.rank(out, now); {
	case rank < w.priority:
		return out
	case rank == w.priority && s.tenants[out.tenant].waiting > mine+1:
		return out
	}
	return nil
}

// rank is w's priority, with what waiting has earned it.
func (s *schedule) rank(w *waiter, now time.Time) int {
	if s.aging <= 0 {
		return w.priority
	}
	return w.priority + int(max(0, now.Sub(w.at))/s.aging)
}

// grant takes those who get a place now out of the queue, in order.
func (s *schedule) grant(now time.Time) []*waiter {
	var out []*waiter
	for s.running < s.places && len(s.waiting) > 0 {
		best := s.waiting[0]
		for _, w := range s.waiting[1:] {
			if s.before(w, best, now) {
				best = w
			}
		}
		s.remove(best)
		sh := s.of(best.tenant)
		sh.running++
		sh.served++
		s.running++
		out = append(out, best)
	}
	return out
}

// before reports whether a is served before b.
func (s *schedule) before(a, b *waiter, now time.Time) bool {
	if pa, pb := s.rank(a, now), s.rank(b, now); pa != pb {
		return pa > pb
	}
	if ta, tb := s.tenants[a.tenant], s.tenants[b.tenant]; ta != tb {
		if ta.running != tb.running {
			return ta.running < tb.running
		}
		if ta.served != tb.served {
			return ta.served < tb.served
		}
	}
	if !a.deadline.Equal(b.deadline) {
		return b.deadline.IsZero() || !a.deadline.IsZero() && a.deadline.Before(b.deadline)
	}
	return a.seq < b.seq
}

// remove takes w out of the queue; it reports false if w was not in it, which may
// mean that it has a place.
func (s *schedule) remove(w *waiter) bool {
	for i, c := range s.waiting {
		if c == w {
			s.waiting = append(s.waiting[:i], s.waiting[i+1:]...)
			s.tenants[w.tenant].waiting--
			s.forget(w.tenant)
			return true
		}
	}
	return false
}

// release gives a place back.
func (s *schedule) release(tenant string) {
	s.running--
	s.tenants[tenant].running--
	s.forget(tenant)
}

// forget drops a tenant that neither has nor wants anything, so that their number
// does not grow. What it was served is of no use: it starts anew.
func (s *schedule) forget(tenant string) {
	if sh := s.tenants[tenant]; sh.running == 0 && sh.waiting == 0 {
		delete(s.tenants, tenant)
	}
}
