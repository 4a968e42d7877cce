package sandbox

import "time"

// PoolStats is a pool's state at one moment. The counters start when the pool is made.
type PoolStats struct {
	Leased int // sandboxes in use
	Spare  int // sandboxes ready
	Making int // sandboxes being made in advance
	Queued int // requests waiting
	Target int // number of sandboxes that should be ready
	// MemoryShort reports that ready sandboxes are being released because the host is short of
	// memory.
	MemoryShort bool

	Hits      int64 // leases served by a ready sandbox
	Misses    int64 // leases that had to start a sandbox
	Recycled  int64 // leases whose sandbox was kept for the next lease of its domain
	Destroyed int64 // sandboxes that ended with their lease, or were found dead
	Evicted   int64 // ready sandboxes released for lack of demand or memory
	Doubted   int64 // sandboxes destroyed because they could not be proved clean
	Refused   int64 // requests that found the queue full
	Expired   int64 // requests that gave up waiting

	Waited     time.Duration // total of all requests that were served
	WaitedMost time.Duration // longest wait of one of them
	Rate       float64       // recent requests per second
	CreateTime time.Duration // recent time to make a sandbox
	LastDoubt  string        // reason for the most recent Doubted, for people
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
