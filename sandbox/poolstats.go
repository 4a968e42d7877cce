package sandbox

import "time"

// PoolStats is a pool's state at one moment. The counts are since it was made.
type PoolStats struct {
	Leased int // sandboxes in use
	Spare  int // sandboxes ready
	Making int // sandboxes being made ahead
	Queued int // requests waiting
	Target int // how many sandboxes should be ready
	// MemoryShort says that spares are given up because the host is short of memory.
	MemoryShort bool

	Hits      int64 // leases served by a ready one
	Misses    int64 // leases that had to start one
	Recycled  int64 // leases whose sandbox was kept for the next of its domain
	Destroyed int64 // sandboxes that ended with their lease, or were found dead
	Evicted   int64 // ready sandboxes given up for want of demand or memory
	Doubted   int64 // sandboxes destroyed because they could not be shown to be clean
	Refused   int64 // requests that found the queue full
	Expired   int64 // requests that gave up waiting

	Waited     time.Duration // by all requests that were served, together
	WaitedMost time.Duration // by one of them
	Rate       float64       // requests a second, of late
	CreateTime time.Duration // what making a sandbox takes, of late
	LastDoubt  string        // why the last of Doubted was, for people
}

// Stats returns the pool's state.
func (p *Pool) Stats() PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.counts
	s.Leased, s.Spare, s.Making, s.Queued = len(p.leased), len(p.spares), p.making, len(p.plan.Waiting)
	s.Target, s.MemoryShort = p.target(), p.short
	s.Rate = p.demand.Rate(p.now())
	s.CreateTime = time.Duration(p.demand.Making * float64(time.Second))
	return s
}
