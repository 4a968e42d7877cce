package scheduler

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// toy is a network without weights whose logits depend on all preceding tokens, as stored in the
// cache. So it also computes wrong results from wrong keys and values, as a real network would. It
// reads its whole prefix from the given pages, and refuses pages that were never written or that
// others share.
type toy struct {
	t        testing.TB
	words    int
	store    [][]int32 // by page: token+1 in each slot, 0 if nothing was written
	refcount []int32
	freeList []int32
	rows     [][]float32
	spare    []float32
	prefix   []int32

	logitsOf func(prefix []int32, logits []float32) // fills logits from the prefix
	before   func(slices []transformer.Slice) error // runs at the start of a pass
	after    func(slices []transformer.Slice) error // runs at the end of a pass
	clock    *fakeClock
	cost     func(tokens int) time.Duration // time that a pass takes on clock

	mu     sync.Mutex
	passes int
	tokens int
	sizes  []int // number of tokens of each pass
}

func newToy(t testing.TB, words, pages int, logitsOf func([]int32, []float32)) *toy {
	y := &toy{t: t, words: words, store: make([][]int32, pages), refcount: make([]int32, pages), logitsOf: logitsOf}
	for i := range y.store {
		y.store[i] = make([]int32, transformer.PageTokens)
		y.freeList = append(y.freeList, int32(pages-1-i))
	}
	return y
}

func (y *toy) vocab() int { return y.words }
func (y *toy) pages() int { return len(y.store) }
func (y *toy) free() int  { return len(y.freeList) }

func (y *toy) alloc() (int32, bool) {
	if len(y.freeList) == 0 {
		return 0, false
	}
	p := y.freeList[len(y.freeList)-1]
	y.freeList = y.freeList[:len(y.freeList)-1]
	y.refcount[p] = 1
	clear(y.store[p])
	return p, true
}

func (y *toy) retain(p int32) {
	if y.refcount[p] < 1 {
		panic("toy: retain a free page")
	}
	y.refcount[p]++
}

func (y *toy) release(p int32) {
	if y.refcount[p] < 1 {
		panic("toy: release a free page")
	}
	if y.refcount[p]--; y.refcount[p] == 0 {
		y.freeList = append(y.freeList, p)
	}
}

func (y *toy) refs(p int32) int        { return int(y.refcount[p]) }
func (y *toy) copyPage(dst, src int32) { copy(y.store[dst], y.store[src]) }

func (y *toy) logits(i int) []float32 { return y.rows[i] }

func (y *toy) forward(slices []transformer.Slice) error {
	if y.before != nil {
		if err := y.before(slices); err != nil {
			return err
		}
	}
	n := 0
	y.rows = y.rows[:0]
	for _, s := range slices {
		n += len(s.Tokens)
		for i, t := range s.Tokens {
			if err := y.write(s.Seq, t); err != nil {
				return err
			}
			if len(s.Tokens)-i <= s.Outputs {
				y.output(s.Seq)
			}
		}
	}
	if y.clock != nil {
		y.clock.advance(y.cost(n))
	}
	y.mu.Lock()
	y.passes++
	y.tokens += n
	y.sizes = append(y.sizes, n)
	y.mu.Unlock()
	if y.after != nil {
		return y.after(slices)
	}
	return nil
}

func (y *toy) write(s *transformer.Seq, token int32) error {
	at := s.Len / transformer.PageTokens
	if at >= len(s.Pages) {
		return fmt.Errorf("toy: no page for token %d", s.Len)
	}
	if p := s.Pages[at]; y.refcount[p] != 1 {
		return fmt.Errorf("toy: page %d is written at token %d with %d references", p, s.Len, y.refcount[p])
	}
	y.store[s.Pages[at]][s.Len%transformer.PageTokens] = token + 1
	s.Len++
	return nil
}

// output computes the logits after a sequence from the contents of its pages.
func (y *toy) output(s *transformer.Seq) {
	y.prefix = y.prefix[:0]
	for i := range s.Len {
		v := y.store[s.Pages[i/transformer.PageTokens]][i%transformer.PageTokens]
		if v == 0 {
			panic("toy: a page that was never written is read")
		}
		y.prefix = append(y.prefix, v-1)
	}
	row := len(y.rows)
	if cap(y.spare) < (row+1)*y.words { // earlier rows keep the old memory
		y.spare = make([]float32, 2*(row+1)*y.words)
	}
	l := y.spare[row*y.words : (row+1)*y.words]
	y.logitsOf(y.prefix, l)
	y.rows = append(y.rows, l)
}

// hashLM is a language model of low entropy: the next token depends mostly on the last two, and a
// little on all. The parameter noise sets how much it depends on all tokens: with little noise, the
// text repeats itself; with much noise, it cannot be predicted.
func hashLM(noise float32) func([]int32, []float32) {
	return func(prefix []int32, logits []float32) {
		all := uint64(1)
		for _, t := range prefix {
			all = mix64(all + uint64(t) + 1)
		}
		n := len(prefix)
		last := uint64(prefix[n-1]) + 1
		if n > 1 {
			last += uint64(prefix[n-2]+1) << 20
		}
		for i := range logits {
			a := uniform(last, i, 0)
			b := uniform(all, i, 1)
			logits[i] = 8*float32(a) + noise*float32(b)
		}
	}
}

// scriptLM generates the given script after a prompt of n tokens.
func scriptLM(n int, script []int32) func([]int32, []float32) {
	return func(prefix []int32, logits []float32) {
		clear(logits)
		for i := range 8 {
			logits[int(uniform(uint64(len(prefix)), i, 0)*float64(len(logits)))] = float32(i)
		}
		if at := len(prefix) - n; at >= 0 && at < len(script) {
			logits[script[at]] = 30
		}
	}
}

// fakeClock is a clock that moves only on request.
type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func newFakeClock() *fakeClock { return &fakeClock{now: time.Unix(1e9, 0)} }

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) advance(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.mu.Unlock()
}

// toyEngine starts an engine on a toy, with the cost curve of a mixture-of-experts network unless
// cfg sets another one.
func toyEngine(t testing.TB, y *toy, cfg EngineConfig) *Engine {
	t.Helper()
	if cfg.Context == 0 {
		cfg.Context = len(y.store) * transformer.PageTokens
	}
	if cfg.Cost == nil {
		cfg.Cost = moeCurve()
	}
	cfg.Cache.Pages = len(y.store)
	cfg.setDefaults(cfg.Context)
	e, err := newEngine(y, true, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// moeCurve returns a curve of 1 ms for one token; the cost of more tokens follows from the memory
// limit of 8 of 128 experts.
func moeCurve() *CostCurve {
	c := &CostCurve{}
	for i, v := range moeShape {
		c.Points = append(c.Points, CostPoint{1 << i, v / 1000})
	}
	return c
}

func curveCost(c *CostCurve) func(int) time.Duration {
	return func(n int) time.Duration { return time.Duration(c.at(n) * float64(time.Second)) }
}

// run collects a request's tokens and statistics.
func run(t testing.TB, e *Engine, r Request) ([]int32, Stats) {
	t.Helper()
	ids, stats, err := collect(e, t.Context(), r)
	if err != nil {
		t.Error(err)
	}
	return ids, stats
}

// prompt returns n tokens of a vocabulary that look random.
func prompt(n, words int, seed uint64) []int32 {
	p := make([]int32, n)
	for i := range p {
		p[i] = int32(uniform(seed, i, 9) * float64(words))
	}
	return p
}

func inf(sign int) float32 { return float32(math.Inf(sign)) }
