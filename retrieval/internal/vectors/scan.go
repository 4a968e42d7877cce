package vectors

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/luthier-dev/luthier/internal/engine/tensor"
)

// scanner scans the rounded rows on all processors and collects those that can be among the k
// nearest.
type scanner struct {
	st   *state
	q    *query
	k    int
	rows bits // rows to search
	next atomic.Int64

	mu      sync.Mutex
	floor   float32 // lower bound of the cosine of the k-th nearest row
	near    []candidate
	damaged []int
	err     error
}

// candidate is a row and the highest cosine that it can have.
type candidate struct {
	row int32
	top float32
}

// scan processes the pieces of the store until none is left.
func (x *scanner) scan(ctx context.Context) error {
	x.floor = float32(math.Inf(-1))
	workers := min(runtime.GOMAXPROCS(0), len(x.st.pieces))
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(func() { x.work(ctx) })
	}
	x.work(ctx)
	wg.Wait()
	return x.err
}

// work is one worker: it searches the pieces that it takes, and shares the current bound with the
// other workers.
func (x *scanner) work(ctx context.Context) {
	w := worker{scanner: x, floor: float32(math.Inf(-1))}
	err := guarded(func() error {
		for {
			i := int(x.next.Add(1)) - 1
			if i >= len(x.st.pieces) {
				return nil
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			w.piece(&x.st.pieces[i])
			w.exchange()
		}
	})
	x.mu.Lock()
	defer x.mu.Unlock()
	if err != nil {
		x.err = err
	}
	x.near, x.damaged = append(x.near, w.near...), append(x.damaged, w.damaged...)
}

// worker is the state of one worker.
type worker struct {
	*scanner
	floor   float32
	lows    lowest // the k highest values of the rows' lowest possible cosines
	near    []candidate
	damaged []int
	dots    []int32
}

// exchange shares the current bound with the other workers.
func (w *worker) exchange() {
	w.scanner.mu.Lock()
	defer w.scanner.mu.Unlock()
	w.scanner.floor = max(w.scanner.floor, w.floor)
	w.floor = w.scanner.floor
}

// piece searches the rows of a piece.
func (w *worker) piece(p *piece) {
	n := p.hi - p.lo
	if !w.rows.any(p.first, p.first+n) {
		return
	}
	if !p.b.sound() {
		for r := range n {
			if w.rows.has(p.first + r) {
				w.damaged = append(w.damaged, p.first+r)
			}
		}
		return
	}
	if cap(w.dots) < n {
		w.dots = make([]int32, n)
	}
	stride := len(w.q.rounded)
	dots := w.dots[:n]
	tensor.DotRows(dots, p.b.rounded[p.lo*stride:p.hi*stride], w.q.rounded)
	w.collect(p, dots)
}

// collect keeps the rows of a piece that can be among the nearest.
func (w *worker) collect(p *piece, dots []int32) {
	scales := p.b.scales[8*p.lo : 8*p.hi]
	a, b := w.q.margin()
	for r, d := range dots {
		cosine := float32(d) * float(scales[8*r:]) * w.q.scale
		margin := float(scales[8*r+4:])*a + b
		if !(cosine+margin >= w.floor) || !w.rows.has(p.first+r) {
			continue
		}
		w.near = append(w.near, candidate{int32(p.first + r), cosine + margin})
		if low, full := w.lows.offer(cosine-margin, w.k); full {
			w.floor = max(w.floor, low)
		}
	}
}

// lowest keeps the largest numbers offered to it, as a heap with the smallest first.
type lowest []float32

// offer adds x to the k largest numbers. It returns the smallest of them, once there are k.
func (h *lowest) offer(x float32, k int) (least float32, full bool) {
	s := *h
	if len(s) < k {
		s = append(s, x)
		for i := len(s) - 1; i > 0 && s[i] < s[(i-1)/2]; i = (i - 1) / 2 {
			s[i], s[(i-1)/2] = s[(i-1)/2], s[i]
		}
		*h = s
		return s[0], len(s) == k
	}
	if x <= s[0] {
		return s[0], true
	}
	s[0] = x
	for i := 0; ; {
		child := 2*i + 1
		if child+1 < k && s[child+1] < s[child] {
			child++
		}
		if child >= k || s[i] <= s[child] {
			return s[0], true
		}
		s[i], s[child] = s[child], s[i]
		i = child
	}
}
