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
	Members []Member // the first gets the request first; a second request goes to the next one, or to the first if it is the only one

	Quantile float64       // share of answers expected to begin before a second request is sent; 0.95
	Samples  int           // number of answers that must be known of a member before its requests are hedged; 20
	Delay    time.Duration // a fixed delay after which the second request is sent; 0 means that the delay is learned
	MinDelay time.Duration // minimum of the learned delay; 20 ms
	MaxExtra float64       // share of requests that may be doubled; 0.05
	Grace    time.Duration // how long the losing request may take to end; 2 s

	Now func() time.Time // nil means time.Now
	// AfterFunc calls f in a separate goroutine after d, unless stop is called first. Nil uses
	// time.AfterFunc.
	AfterFunc func(d time.Duration, f func()) (stop func() bool)
}

// Hedge is a model that sends a request a second time if the first is slow to begin, and takes the
// answer that begins first. It removes a provider's slowest answers for a few percent of the price.
// A Hedge is safe for concurrent use.
//
// The delay is learned for each member from the times that its last 256 answers took to begin. The
// losing request is cancelled, waited for and paid for. A request that fails before its answer
// begins goes to the other members, as with [Fallback].
type Hedge struct {
	*pool
	cfg       HedgeConfig
	latencies []latency

	mu     sync.Mutex
	credit float64 // number of requests that may be doubled now
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
// request. The result ok is false if too few answers are known.
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
// counts with its running time, which is a lower bound: if it were left out, slow members would
// seem faster and faster.
func (h *Hedge) ended(a *attempt) {
	switch {
	case a.content:
		h.latencies[a.m.index].add(a.first)
	case errors.Is(context.Cause(a.ctx), errOutrun):
		h.latencies[a.m.index].add(a.took)
	}
}

// earn adds the fraction of a second request that each request earns.
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
