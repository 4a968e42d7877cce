package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/sandbox/internal/sched"
)

// PoolConfig configures a pool's sandboxes and their numbers. For every field except Config the
// zero value is a sound default.
type PoolConfig struct {
	// Config is the template of every sandbox. Dir and Snapshot must be empty:
	// Get names the snapshot.
	Config Config
	// Max is the most sandboxes leased at once; further requests wait. Zero means four times the
	// number of processors.
	Max int
	// Warm is the least number of sandboxes kept ready, in addition to those leased. Zero keeps
	// none. At [TierNamespaces] they serve any snapshot; at lower tiers they are made for the most
	// recently requested commit.
	Warm int
	// WarmMax is the largest number kept ready. Between the two the pool follows the demand: as
	// many as requests arrive while one is made. Zero means Warm.
	WarmMax int
	// Queue is the most requests that wait; further requests fail with a [*QueueFullError]. Zero
	// means 1024, negative none.
	Queue int
	// Aging is the time after which the priority of a waiting request rises by one, so that low
	// priorities do not starve. Zero means 10 s, negative never.
	Aging time.Duration
	// MaxUses is the number of leases that a sandbox serves before it is destroyed, if it may be
	// reused at all; see Request.Domain. Zero means 64.
	MaxUses int
}

// Request is a request for a sandbox of a pool. Only Snapshot is required.
type Request struct {
	// Snapshot is the starting state of the workspace.
	Snapshot Snapshot
	// Tenant is the tenant that makes the request; tenants share a pool fairly.
	Tenant string
	// Priority orders waiting requests, higher first.
	Priority int
	// Deadline is when the request stops waiting. With zero it waits until its context ends.
	Deadline time.Time
	// Domain names users that trust each other. A returned sandbox is cleaned and reused within its
	// domain and never outside of it; with an empty domain it is never reused.
	Domain string
	// Hold limits the time of the lease; after it the sandbox is closed, whatever runs. Zero is no
	// limit.
	Hold time.Duration
}

// Pool hands out sandboxes over snapshots, some of them started in advance. Closing a sandbox
// returns its place.
type Pool struct {
	cfg    PoolConfig
	blanks Config          // configuration of sandboxes without a workspace
	ctx    context.Context // ends when the pool is closed
	cancel context.CancelFunc
	once   closeOnce
	work   sync.WaitGroup // goroutines that make spares, the keeper, and callers that make sandboxes
	now    func() time.Time
	memory func() sched.Pressure // the host's, except in tests

	mu         sync.Mutex
	plan       *sched.Schedule
	demand     sched.Demand
	want       Snapshot // snapshot of the last request; spares of lower tiers are made over it
	wantDomain string   // domain of the last request
	spares     []*spare
	making     int
	leased     map[*lease]struct{}
	failed     int  // consecutive failures to make a blank sandbox
	short      bool // memory is short
	keeping    bool
	counts     PoolStats // only the cumulative counts
}

// spare is a ready sandbox: blank, or over one snapshot.
type spare struct {
	blank  *blank
	domain string // domain that it served
	local  *local
	snap   Snapshot
	since  time.Time
}

func (s *spare) alive() bool {
	if s.blank != nil {
		return s.blank.alive()
	}
	return s.local.alive()
}

func (s *spare) close() error {
	if s.blank != nil {
		return s.blank.close()
	}
	return s.local.Close()
}

// The defaults of PoolConfig.
const (
	defaultQueue   = 1024
	defaultAging   = 10 * time.Second
	defaultMaxUses = 64
)

// NewPool makes a pool. It starts no sandbox before the first request.
func NewPool(cfg PoolConfig) (*Pool, error) {
	if cfg.Max < 0 || cfg.Warm < 0 || cfg.WarmMax < 0 || cfg.MaxUses < 0 {
		return nil, errors.New("sandbox: new pool: PoolConfig.Max, Warm, WarmMax and MaxUses must not be negative")
	}
	if cfg.Config.Dir != "" || !cfg.Config.Snapshot.isZero() {
		return nil, errors.New("sandbox: new pool: PoolConfig.Config must name neither Dir nor Snapshot; Get does")
	}
	if cfg.Max == 0 {
		cfg.Max = 4 * runtime.GOMAXPROCS(0)
	}
	if cfg.Queue == 0 {
		cfg.Queue = defaultQueue
	}
	if cfg.Aging == 0 {
		cfg.Aging = defaultAging
	}
	if cfg.MaxUses == 0 {
		cfg.MaxUses = defaultMaxUses
	}
	cfg.WarmMax = max(cfg.Warm, cfg.WarmMax)
	p := &Pool{
		cfg: cfg, now: time.Now, memory: memoryPressure, leased: map[*lease]struct{}{},
		plan:   sched.New(cfg.Max, max(0, cfg.Queue), cfg.Aging),
		demand: sched.Demand{Window: demandWindow},
	}
	if err := p.template(); err != nil {
		return nil, fmt.Errorf("sandbox: new pool: %w", err)
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p, nil
}

// demandWindow is the time over which arrivals are averaged.
const demandWindow = 10 * time.Second

// template normalizes the configuration of blank sandboxes.
func (p *Pool) template() error {
	cfg := p.cfg.Config
	cfg.Snapshot = SnapshotDir(os.TempDir()) // stands for any snapshot
	cfg, err := cfg.normalize()
	if err != nil {
		return err
	}
	cfg.Snapshot = Snapshot{}
	p.blanks = cfg
	return nil
}

// Get leases a sandbox over snap; closing it ends the lease. If Max sandboxes are leased, Get waits
// until ctx ends. It is Acquire with only a snapshot.
func (p *Pool) Get(ctx context.Context, snap Snapshot) (Sandbox, error) {
	return p.Acquire(ctx, Request{Snapshot: snap})
}

// Acquire leases a sandbox; closing it ends the lease. If the pool is at its limit, Acquire waits
// until ctx ends or the deadline of r passes. If too many requests wait already, it fails with a
// [*QueueFullError].
func (p *Pool) Acquire(ctx context.Context, r Request) (Sandbox, error) {
	snap, err := r.Snapshot.fix()
	if err != nil {
		return nil, fmt.Errorf("sandbox: get from pool: %w", err)
	}
	r.Snapshot = snap
	if err := p.admit(ctx, r); err != nil {
		return nil, fmt.Errorf("sandbox: get from pool: %w", err)
	}
	l, err := p.take(ctx, r)
	if err != nil {
		p.release(r.Tenant)
		return nil, err
	}
	return l, nil
}

// admit waits for a place.
func (p *Pool) admit(ctx context.Context, r Request) error {
	if !r.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, r.Deadline)
		defer cancel()
	}
	w := &sched.Waiter{Tenant: r.Tenant, Priority: r.Priority, Deadline: r.Deadline, Ready: make(chan error, 1)}
	if err := p.line(w); err != nil {
		return err
	}
	select {
	case err := <-w.Ready:
		return err
	case <-ctx.Done():
	case <-p.ctx.Done():
	}
	p.mu.Lock()
	waited := p.plan.Remove(w)
	if waited && ctx.Err() != nil {
		p.counts.Expired++
	}
	p.mu.Unlock()
	if !waited { // the place was granted at the same moment
		if err := <-w.Ready; err != nil {
			return err
		}
		p.release(r.Tenant)
	}
	if p.once.closed() {
		return ErrClosed
	}
	return fmt.Errorf("all %d are leased: %w", p.cfg.Max, context.Cause(ctx))
}

// QueueFullError means that a pool has leased all its sandboxes and that its queue is full. Try
// again later, raise PoolConfig.Queue, or give the request a higher priority than those that wait.
type QueueFullError struct {
	Leased int // sandboxes in use
	Queued int // requests waiting
	// PushedOut reports that the request was waiting until a later request took its place: one of a
	// higher priority, or of a tenant with fewer waiting requests.
	PushedOut bool
}

// Error describes what is full.
func (e *QueueFullError) Error() string {
	how := "the queue is full"
	if e.PushedOut {
		how = "pushed out of a full queue"
	}
	return fmt.Sprintf("%s: %d sandboxes are leased and %d requests wait", how, e.Leased, e.Queued)
}

// line puts w into the queue and serves the first in it.
func (p *Pool) line(w *sched.Waiter) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.once.closed() {
		return ErrClosed
	}
	w.At = p.now()
	p.demand.Arrive(w.At)
	pushed, err := p.plan.Add(w, w.At)
	if err != nil {
		p.counts.Refused++
		return &QueueFullError{Leased: p.plan.Running, Queued: len(p.plan.Waiting)}
	}
	if pushed != nil {
		p.counts.Refused++
		pushed.Ready <- &QueueFullError{Leased: p.plan.Running, Queued: len(p.plan.Waiting), PushedOut: true}
	}
	p.serve()
	return nil
}

// serve assigns free places to waiting requests. The caller holds the lock.
func (p *Pool) serve() {
	now := p.now()
	for _, w := range p.plan.Grant(now) {
		p.counts.Waited += now.Sub(w.At)
		p.counts.WaitedMost = max(p.counts.WaitedMost, now.Sub(w.At))
		w.Ready <- nil
	}
}

// release returns a place.
func (p *Pool) release(tenant string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan.Release(tenant)
	p.serve()
}

// Close ends all sandboxes of the pool, including leased ones, and returns when they are gone.
func (p *Pool) Close() error {
	return p.once.do(func() error {
		p.cancel()
		p.mu.Lock()
		spares := p.spares
		p.spares = nil
		var leased []*lease
		for l := range p.leased {
			leased = append(leased, l)
		}
		p.mu.Unlock()
		var err error
		for _, s := range spares {
			err = errors.Join(err, s.close())
		}
		for _, l := range leased {
			err = errors.Join(err, l.Close())
		}
		p.work.Wait()
		return err
	})
}

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
