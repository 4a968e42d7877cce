package tensor

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Job is work that can be split: Do is called once for every i, from several goroutines at once.
// worker is in [0, Pool.Workers()) and no two concurrent calls share it, so that it can index
// scratch memory.
type Job interface {
	Do(worker, i int)
}

// Pool runs jobs on a fixed number of workers, the caller among them.
//
// Pieces of a job are claimed from an atomic counter, so a worker that the operating system has
// taken off its core delays only the piece it holds. An idle worker spins for some microseconds,
// since the next job of a forward pass is near, then yields to other goroutines, then sleeps until
// woken; a shared machine is never kept busy by waiting.
type Pool struct {
	mu      sync.Mutex // one Run at a time
	workers int
	spins   int // rounds in the tight loop
	job     Job
	n       int64
	grain   int64
	next    atomic.Int64
	epoch   atomic.Uint32 // odd while a job is open
	active  atomic.Int32  // workers between entering and leaving a job
	waiting atomic.Bool   // Run sleeps on idle
	idle    chan struct{}
	closed  atomic.Bool
	fault   atomic.Pointer[any] // first panic of the open job
	sleep   []sleeper
	done    sync.WaitGroup
}

// sleeper is the bed of one worker.
type sleeper struct {
	asleep atomic.Bool
	wake   chan struct{}
	_      [48]byte // a cache line each
}

// How long a worker without work looks for some: first in a tight loop, if there is a processor for
// every worker, then giving way to other goroutines.
const (
	spinRounds  = 250 // of spinPause each: 10 to 50 µs in all, as long as PAUSE takes
	spinPause   = 4
	yieldRounds = 100
)

// NewPool starts a pool of the given number of workers, the caller of Run included; below 1 means
// GOMAXPROCS. Close it when it is no longer needed.
func NewPool(workers int) *Pool {
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	p := &Pool{workers: workers, idle: make(chan struct{}, 1), sleep: make([]sleeper, workers)}
	if workers <= runtime.GOMAXPROCS(0) {
		p.spins = spinRounds
	}
	for w := 1; w < workers; w++ {
		p.sleep[w].wake = make(chan struct{}, 1)
		p.done.Add(1)
		go p.loop(w)
	}
	return p
}

// Workers is the number of workers, the caller of Run included.
func (p *Pool) Workers() int { return p.workers }

// Close ends the workers and waits for them. A Run under way is finished first.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Swap(true) {
		return
	}
	p.wakeAll(p.workers)
	p.done.Wait()
}

// Run calls job.Do(worker, i) for every i in [0,n) and returns when all calls have returned. It
// allocates nothing. Concurrent Runs wait for each other; Do must not call Run of the same pool. A
// panic in Do is raised again here once the other calls under way have returned. On a closed pool
// the caller does all the work.
func (p *Pool) Run(n int, job Job) {
	if n <= 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n == 1 || p.workers == 1 || p.closed.Load() {
		for i := range n {
			job.Do(0, i)
		}
		return
	}
	p.job, p.n = job, int64(n)
	p.grain = max(1, int64(n)/int64(16*p.workers))
	p.next.Store(0)
	p.epoch.Add(1)
	p.wakeAll(n - 1)
	p.work(0)
	p.epoch.Add(1)
	p.join()
	p.job = nil
	if f := p.fault.Swap(nil); f != nil {
		panic(*f)
	}
}

// work claims pieces of the open job until there are none left.
func (p *Pool) work(worker int) {
	defer func() {
		if v := recover(); v != nil {
			p.next.Store(p.n) // the rest of the job has lost its meaning
			fault := v
			p.fault.CompareAndSwap(nil, &fault)
		}
	}()
	for {
		hi := p.next.Add(p.grain)
		lo := hi - p.grain
		if lo >= p.n {
			return
		}
		for i := lo; i < min(hi, p.n); i++ {
			p.job.Do(worker, int(i))
		}
	}
}

// join waits until no worker is inside the job that has just been shut.
func (p *Pool) join() {
	for range p.spins {
		if p.active.Load() == 0 {
			return
		}
		pause(spinPause)
	}
	for range yieldRounds {
		if p.active.Load() == 0 {
			return
		}
		runtime.Gosched()
	}
	for p.active.Load() != 0 {
		p.waiting.Store(true)
		if p.active.Load() == 0 {
			break
		}
		<-p.idle
	}
	p.waiting.Store(false)
	select { // a signal that came too late to be waited for
	case <-p.idle:
	default:
	}
}

// loop is the life of a worker other than the caller.
func (p *Pool) loop(worker int) {
	defer p.done.Done()
	var seen uint32
	for {
		e, ok := p.await(worker, seen)
		if !ok {
			return
		}
		seen = e
		// Entering is announced before the job is looked at again: Run shuts the job before it
		// counts those inside, so either it sees this worker or this worker sees the job shut.
		p.active.Add(1)
		if p.epoch.Load() == e {
			p.work(worker)
		}
		if p.active.Add(-1) == 0 && p.waiting.Load() {
			select {
			case p.idle <- struct{}{}:
			default:
			}
		}
	}
}

// await returns the epoch of an open job other than the one seen, or false when the pool is closed.
func (p *Pool) await(worker int, seen uint32) (uint32, bool) {
	ready := func() (uint32, bool) {
		e := p.epoch.Load()
		return e, e&1 == 1 && e != seen
	}
	for i := 0; ; i++ {
		if e, ok := ready(); ok {
			return e, true
		}
		switch {
		case p.closed.Load():
			return 0, false
		case i < p.spins:
			pause(spinPause)
			continue
		case i < p.spins+yieldRounds:
			runtime.Gosched()
			continue
		}
		s := &p.sleep[worker]
		s.asleep.Store(true)
		if _, ok := ready(); ok || p.closed.Load() {
			if s.asleep.CompareAndSwap(true, false) {
				continue
			}
		}
		<-s.wake
		i = 0
	}
}

// wakeAll wakes at most n of the workers that sleep.
func (p *Pool) wakeAll(n int) {
	for w := 1; w < p.workers && n > 0; w++ {
		s := &p.sleep[w]
		if s.asleep.Load() && s.asleep.CompareAndSwap(true, false) {
			s.wake <- struct{}{}
			n--
		}
	}
}
