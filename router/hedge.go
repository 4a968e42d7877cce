package router

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// HedgeConfig describes a [Hedge]. A zero field takes the default in its comment.
type HedgeConfig struct {
	Name    string   // of the router; empty means "hedge"
	Members []Member // the first is asked first; the second request goes to the next one, or to the same if there is only one

	Quantile float64       // share of answers that begin before the second request is sent; 0.95
	Samples  int           // answers of a member that must be known before its requests are hedged; 20
	Delay    time.Duration // a fixed time after which the second request is sent; 0 learns the time
	MinDelay time.Duration // minimum of the learned time; 20 ms
	MaxExtra float64       // share of requests that may be doubled; 0.05
	Grace    time.Duration // how long the loser may take to end; 2 s

	Now func() time.Time // nil means time.Now
	// AfterFunc calls f in its own goroutine after d, unless stop is called first. Nil uses
	// time.AfterFunc.
	AfterFunc func(d time.Duration, f func()) (stop func() bool)
}

// Hedge is a model that sends a request a second time if the first is slow to begin, and takes the
// answer that begins first. It cuts the slow tail of a provider for a few percent of its price. It
// is safe for concurrent use.
//
// The delay is learned for each member from how long its last 256 answers took to begin. The loser
// is cancelled, waited for and paid for. A request that fails before its answer begins goes to the
// other members, as with [Fallback].
type Hedge struct {
	*pool
	cfg       HedgeConfig
	latencies []latency

	mu     sync.Mutex
	credit float64 // requests that may be doubled at present
	broken broken
}

// maxCredit limits how many requests may be doubled in a row after a quiet time.
const maxCredit = 5

// NewHedge checks cfg and returns a router.
func NewHedge(cfg HedgeConfig) (*Hedge, error) {
	p, err := newPool("hedge", cfg.Name, cfg.Members, cfg.Now)
	if err != nil {
		return nil, err
	}
	if cfg.Quantile < 0 || cfg.Quantile >= 1 || cfg.Samples < 0 || cfg.Delay < 0 || cfg.MinDelay < 0 || cfg.MaxExtra < 0 || cfg.MaxExtra > 1 || cfg.Grace < 0 {
		return nil, errors.New("router: new hedge: a field is out of range; Quantile and MaxExtra are shares, the others 0 or more")
	}
	cfg.Quantile = cmp.Or(cfg.Quantile, 0.95)
	cfg.Samples = cmp.Or(cfg.Samples, 20)
	cfg.MinDelay = cmp.Or(cfg.MinDelay, 20*time.Millisecond)
	cfg.MaxExtra = cmp.Or(cfg.MaxExtra, 0.05)
	cfg.Grace = cmp.Or(cfg.Grace, 2*time.Second)
	return &Hedge{pool: p, cfg: cfg, latencies: make([]latency, len(p.members))}, nil
}

// After returns how long the Hedge waits for a member's answer to begin before it sends a second
// request. ok is false if it does not know enough yet.
func (h *Hedge) After(member int) (d time.Duration, ok bool) {
	if h.cfg.Delay > 0 {
		return h.cfg.Delay, true
	}
	d, n := h.latencies[member].quantile(h.cfg.Quantile)
	return max(d, h.cfg.MinDelay), n >= h.cfg.Samples
}

// Stream answers with the request whose answer begins first.
func (h *Hedge) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		r := race{h: h, chain: chain{pool: h.pool, ctx: ctx, req: req, yield: yield, demand: h.demand(req), watch: h}}
		if r.run() == outcomeBroken {
			h.broken.note(sessionKey(req), r.last.index, h.now(), time.Minute)
		}
	}
}

// ended learns from an attempt how long its answer took to begin. An attempt that lost the race
// counts with the time it was given, a lower bound: leaving it out would make slow members look
// ever faster.
func (h *Hedge) ended(a *attempt) {
	switch {
	case a.content:
		h.latencies[a.m.index].add(a.first)
	case errors.Is(context.Cause(a.ctx), errOutrun):
		h.latencies[a.m.index].add(a.took)
	}
}

// earn counts a request, which earns a fraction of a second one.
func (h *Hedge) earn() {
	h.mu.Lock()
	h.credit = min(h.credit+h.cfg.MaxExtra, maxCredit)
	h.mu.Unlock()
}

// spend reports whether a request may be doubled.
func (h *Hedge) spend() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	const rounding = 1e-9
	if h.credit < 1-rounding {
		return false
	}
	h.credit--
	return true
}
