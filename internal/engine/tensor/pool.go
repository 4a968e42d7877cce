package tensor

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Job is work that can be split: Do is called once for every i, from several goroutines at once.
// The parameter worker is in [0, Pool.Workers()), and no two concurrent calls have the same value
// of it, so that it can be used as an index of scratch memory.
type Job interface {
	Do(worker, i int)
}

// Pool runs jobs on a fixed number of workers, one of which is the caller.
//
// Workers claim pieces of a job from an atomic counter, so a worker that the operating system has
// preempted delays only its own piece. An idle worker spins for some microseconds, since the next
// job of a forward pass is near. Then it yields to other goroutines, and finally it sleeps until
// woken, so waiting never keeps a shared machine busy.
type Pool struct {
	mu      sync.Mutex // one Run at a time
	workers int
	spins   int // iterations of the tight loop
	job     Job
	n       int64
	grain   int64
	next    atomic.Int64
	epoch   atomic.Uint32 // odd while a job is open
	active  atomic.Int32  // workers between entering and leaving a job
	waiting atomic.Bool   // Run is sleeping on idle
	idle    chan struct{}
	closed  atomic.Bool
	fault   atomic.Pointer[any] // first panic of the open job
	sleep   []sleeper
	done    sync.WaitGroup
}

// sleeper is the state of a sleeping worker.
type sleeper struct {
	asleep atomic.Bool
	wake   chan struct{}
	_      [48]byte // makes each one a full cache line
}

// The time for which a worker without work looks for work: first in a tight loop, if there is a
// processor for every worker, then while yielding to other goroutines.
const (
	spinRounds  = 250 // of spinPause each: 10 to 50 µs in all, depending on the duration of PAUSE
	spinPause   = 4
	yieldRounds = 100
)

// NewPool starts a pool with the given number of workers, including the caller of Run; a number
// below 1 means GOMAXPROCS. Close it when it is no longer needed.
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

// Workers returns the number of workers, including the caller of Run.
func (p *Pool) Workers() int { return p.workers }

// Close ends the workers and waits for them. A Run in progress finishes first.
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
// panic in Do is raised again by Run after the other running calls have returned. On a closed pool
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
			p.next.Store(p.n) // the rest of the job is pointless
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

// join waits until no worker is inside the job that was just closed.
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
	select { // discards a signal that came too late
	case <-p.idle:
	default:
	}
}

// loop is the main loop of a worker other than the caller.
func (p *Pool) loop(worker int) {
	defer p.done.Done()
	var seen uint32
	for {
		e, ok := p.await(worker, seen)
		if !ok {
			return
		}
		seen = e
		// The worker announces its entry before it looks at the job again. Run closes the job
		// before it counts the workers inside, so either Run sees this worker, or this worker sees
		// the job closed.
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

// await returns the epoch of an open job other than seen, or false if the pool is closed.
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

// wakeAll wakes at most n of the sleeping workers.
func (p *Pool) wakeAll(n int) {
	for w := 1; w < p.workers && n > 0; w++ {
		s := &p.sleep[w]
		if s.asleep.Load() && s.asleep.CompareAndSwap(true, false) {
			s.wake <- struct{}{}
			n--
		}
	}
}
