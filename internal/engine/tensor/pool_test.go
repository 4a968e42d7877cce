package tensor

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// counter counts how often each piece was done, and checks that no two concurrent calls share a
// worker.
type counter struct {
	t     *testing.T
	done  []atomic.Int32
	busy  []atomic.Bool
	pause time.Duration
}

func (c *counter) Do(worker, i int) {
	if c.busy[worker].Swap(true) {
		c.t.Errorf("worker %d is used twice at once", worker)
	}
	c.done[i].Add(1)
	if c.pause > 0 {
		time.Sleep(c.pause)
	}
	c.busy[worker].Store(false)
}

func newCounter(t *testing.T, p *Pool, n int) *counter {
	return &counter{t: t, done: make([]atomic.Int32, n), busy: make([]atomic.Bool, p.Workers())}
}

func (c *counter) check() {
	c.t.Helper()
	for i := range c.done {
		if n := c.done[i].Load(); n != 1 {
			c.t.Fatalf("piece %d of %d was done %d times", i, len(c.done), n)
		}
	}
}

func TestPoolRunsEveryPieceOnce(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, workers := range []int{1, 2, 3, 8} {
		p := NewPool(workers)
		for _, n := range []int{0, 1, 2, 3, 7, 64, 1000} {
			for round := range 50 {
				c := newCounter(t, p, n)
				p.Run(n, c)
				c.check()
				if round%25 == 0 {
					time.Sleep(2 * time.Millisecond) // let the workers fall asleep
				}
			}
		}
		p.Close()
		p.Close()
		c := newCounter(t, p, 10)
		p.Run(10, c) // the caller alone
		c.check()
	}
}

func TestPoolConcurrentRuns(t *testing.T) {
	defer goleak.VerifyNone(t)
	p := NewPool(4)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for range 200 {
				c := newCounter(t, p, 37)
				p.Run(37, c)
				c.check()
			}
		})
	}
	wg.Wait()
	p.Close()
}

// TestPoolSlowPieces checks a job in which the caller finishes long before the workers, so that it
// must sleep too.
func TestPoolSlowPieces(t *testing.T) {
	defer goleak.VerifyNone(t)
	p := NewPool(4)
	defer p.Close()
	for range 5 {
		c := newCounter(t, p, 9)
		c.pause = 3 * time.Millisecond
		p.Run(9, c)
		c.check()
	}
}

type panicking struct{ at int }

func (j panicking) Do(_, i int) {
	if i == j.at {
		panic(fmt.Sprint("piece ", i))
	}
}

func TestPoolPanic(t *testing.T) {
	defer goleak.VerifyNone(t)
	p := NewPool(3)
	defer p.Close()
	for i := range 40 {
		func() {
			defer func() {
				if v := recover(); v != fmt.Sprint("piece ", i) {
					t.Fatalf("recovered %v, want the panic of piece %d", v, i)
				}
			}()
			p.Run(40, panicking{i})
		}()
		c := newCounter(t, p, 40)
		p.Run(40, c)
		c.check()
	}
}

type nothing struct{}

func (nothing) Do(int, int) {}

func TestPoolDoesNotAllocate(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	job := Job(nothing{})
	if n := testing.AllocsPerRun(200, func() { p.Run(64, job) }); n != 0 {
		t.Fatalf("%v allocations a run", n)
	}
}

// TestPoolSleeps checks that idle workers use no processor time.
func TestPoolSleeps(t *testing.T) {
	p := NewPool(4)
	defer p.Close()
	p.Run(8, nothing{})
	deadline := time.Now().Add(10 * time.Second)
	for {
		asleep := 0
		for w := 1; w < p.workers; w++ {
			if p.sleep[w].asleep.Load() {
				asleep++
			}
		}
		if asleep == p.workers-1 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d idle workers sleep", asleep, p.workers-1)
		}
		runtime.Gosched()
	}
}

func BenchmarkPoolRun(b *testing.B) {
	for _, workers := range []int{1, 2, 4} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			p := NewPool(workers)
			defer p.Close()
			b.ReportAllocs()
			for b.Loop() {
				p.Run(64, nothing{})
			}
		})
	}
}
