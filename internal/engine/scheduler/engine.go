package scheduler

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// EngineConfig sets the limits of an engine. A zero value means the default given at each field.
type EngineConfig struct {
	Cache   transformer.CacheConfig // Pages: 0 means enough for two full contexts and one page per slot
	Context int                     // maximum number of tokens in a text; 0, or more than the network was trained for, means the trained context
	Slots   int                     // number of requests computed at the same time; 0 means 8
	Queue   int                     // number of requests that may wait for a slot; 0 means 64. If there are more, Generate fails with a BusyError

	PassTokens  int // maximum number of tokens computed in one pass; 0 means 512
	MixedTokens int // maximum number of prompt tokens in a pass while other requests generate, so that they do not stall; 0 means 128

	Speculation SpecConfig
	Cost        *CostCurve       // the cost of a pass; nil means that it is measured while the engine is idle. See [MeasureCost]
	Now         func() time.Time // nil means time.Now; for tests
}

// SpecConfig configures speculative decoding. It affects only the speed, not the output.
type SpecConfig struct {
	Off        bool
	MaxDraft   int         // maximum number of tokens drafted for one request per pass; 0 means 64
	PassDraft  int         // maximum number of tokens drafted for all requests per pass, which limits the memory for logits; 0 means 128
	Draft      *DraftModel // a smaller network with the same vocabulary, or nil
	NoLookup   bool        // no prompt lookup
	NoHistory  bool        // no drafts from the session's own history
	NoEdit     bool        // no drafts from Request.References
	FixedDraft int         // for experiments: the number of tokens to draft, with one drafter after the other, whatever the cost; 0 adapts the number

	// Rejection accepts the draft model's tokens by rejection sampling. [DraftModel] describes when
	// that is worthwhile.
	Rejection bool
}

func (c *EngineConfig) setDefaults(trained int) {
	set := func(p *int, v int) {
		if *p <= 0 {
			*p = v
		}
	}
	set(&c.Context, trained)
	c.Context = min(c.Context, trained)
	set(&c.Slots, 8)
	set(&c.Queue, 64)
	set(&c.PassTokens, 512)
	set(&c.MixedTokens, min(128, c.PassTokens))
	set(&c.Speculation.MaxDraft, 64)
	set(&c.Speculation.PassDraft, 128)
	set(&c.Cache.Pages, 2*transformer.PagesFor(c.Context)+c.Slots)
	if c.Now == nil {
		c.Now = time.Now
	}
}

// Engine runs many requests over one network. One goroutine owns the network and its cache;
// requests join between passes. Its methods may be called from any goroutine.
type Engine struct {
	cfg     EngineConfig
	f       forwarder
	tree    *radix
	cost    *costModel
	metrics metrics
	done    chan struct{} // closed when the scheduler has ended
	wake    chan struct{} // contains a value if the scheduler has work to do

	network sync.Mutex     // held for a pass and while its logits are read
	scoring sync.WaitGroup // computations of logits outside the scheduler

	mu      sync.Mutex
	queue   []*sequence
	closing bool // accepts no more requests
	abort   bool // whether requests in progress must be ended
	nextID  uint64
	turn    time.Duration // moving average of how long a request holds a slot

	// The following fields belong to the scheduler's goroutine.
	running  []*sequence
	batch    []*sequence
	slices   []transformer.Slice
	sessions sessions
	scratch  scratch
	rotate   int
	tried    int     // length in tokens of the longest draft so far
	perDraft float64 // seconds per drafted token in the last pass
}

// NewEngine starts an engine on a network, which belongs to the engine until Close. If NewEngine
// returns an error, the caller has to close the draft model. Unless cfg.Cost is set, the engine
// runs some passes while it has no request, to measure their cost.
func NewEngine(n *transformer.Network, cfg EngineConfig) (*Engine, error) {
	h := n.Hyper()
	cfg.setDefaults(h.Ctx)
	c, err := transformer.NewCache(n, cfg.Cache)
	if err != nil {
		return nil, fmt.Errorf("scheduler: make engine: %w", err)
	}
	f := netForwarder{n, c}
	if d := cfg.Speculation.Draft; d != nil && d.f.vocab() != h.Vocab {
		closeIfCloser(f)
		return nil, vocabError(h.Vocab, d.f.vocab())
	}
	e, err := newEngine(f, h.Experts > 0, cfg)
	if err != nil {
		closeIfCloser(f)
	}
	return e, err
}

func newEngine(f forwarder, experts bool, cfg EngineConfig) (*Engine, error) {
	if most := f.pages() * transformer.PageTokens; cfg.Context > most {
		return nil, fmt.Errorf("scheduler: make engine: a context of %d tokens needs %d cache pages of %d tokens, but there are %d; raise Cache.Pages or lower Context",
			cfg.Context, transformer.PagesFor(cfg.Context), transformer.PageTokens, f.pages())
	}
	e := &Engine{cfg: cfg, f: f, tree: newRadix(f), cost: newCostModel(cfg.Cost, experts), done: make(chan struct{}), wake: make(chan struct{}, 1)}
	e.metrics.init()
	go e.loop()
	return e, nil
}

// Context returns the maximum number of tokens of a text.
func (e *Engine) Context() int { return e.cfg.Context }

// Generate continues a prompt. The stream yields each token as it is decided, and then an item with
// Final set. An error also ends the stream: if the text did not end by itself, the last item is an
// error instead of the Final item. Leaving the loop early, or cancelling ctx, cancels the request:
// its slot and pages are freed as soon as the pass in progress is over.
//
// Errors: ErrInvalid for an impossible request, [BusyError] if the queue is full, [ContextError] if
// the prompt or the text does not fit the context, ErrNaN, ErrClosed, and the cause of ctx.
func (e *Engine) Generate(ctx context.Context, r Request) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		if err := r.validate(e.f.vocab(), e.cfg.Context); err != nil {
			yield(Token{ID: -1}, err)
			return
		}
		s := newSequence(taskGenerate, ctx, &r)
		if c := &e.cfg.Speculation; len(r.References) > 0 && !r.NoSpeculation && !c.Off && !c.NoEdit {
			s.edit = newEditDrafter(r.References, len(r.Prompt)) // takes a while for long texts
		}
		if err := e.submit(s); err != nil {
			yield(Token{ID: -1}, err)
			return
		}
		e.follow(s, yield)
	}
}

// follow yields the tokens that the scheduler sends, until the stream ends or the reader stops.
func (e *Engine) follow(s *sequence, yield func(Token, error) bool) {
	defer e.cancel(s)
	var buf []Token
	for {
		items, ended, err := s.take(buf)
		for _, t := range items {
			if !yield(t, nil) {
				return
			}
		}
		if err != nil {
			yield(Token{ID: -1}, err)
			return
		}
		if ended {
			return
		}
		buf = items
	}
}

// Prefill computes tokens into the cache, so that a later request that begins with them starts at
// once: for example a prompt expected soon, or the output of a tool that is still running. It takes
// a slot, but prompts of requests that wait to generate come first.
func (e *Engine) Prefill(ctx context.Context, tokens []int32) (Stats, error) {
	r := Request{Prompt: tokens, NoSpeculation: true}
	if err := r.validate(e.f.vocab(), e.cfg.Context); err != nil {
		return Stats{}, err
	}
	s := newSequence(taskPrefill, ctx, &r)
	if err := e.submit(s); err != nil {
		return Stats{}, err
	}
	var stats Stats
	var failed error
	e.follow(s, func(t Token, err error) bool {
		if failed = err; t.Final != nil {
			stats = *t.Final
		}
		return true
	})
	return stats, failed
}

// Logits returns a row of vocabulary logits for each token, predicting the token after it. The rows
// of long texts need much memory; if there is not enough, Logits returns ErrInvalid.
func (e *Engine) Logits(ctx context.Context, tokens []int32) ([][]float32, error) {
	r := Request{Prompt: tokens, NoSpeculation: true}
	if err := r.validate(e.f.vocab(), e.cfg.Context+1); err != nil {
		return nil, err
	}
	if need := int64(len(tokens)) * int64(e.f.vocab()) * 4; need > 1<<28 {
		if free, ok := transformer.AvailableMemory(); ok && need > free {
			return nil, fmt.Errorf("%w: the logits of %d tokens take %d MiB and %d are free; ask for those of a shorter text", ErrInvalid, len(tokens), need>>20, free>>20)
		}
	}
	if nf, ok := e.f.(netForwarder); ok && !nf.c.Exact() {
		return e.exactLogits(ctx, nf.n, tokens)
	}
	s := newSequence(taskScore, ctx, &r)
	if err := e.submit(s); err != nil {
		return nil, err
	}
	var failed error
	e.follow(s, func(_ Token, err error) bool { failed = err; return true })
	if failed != nil {
		return nil, failed
	}
	return s.scores, nil
}

// Close stops the engine at once: requests in progress fail with ErrClosed. It returns when none of
// the engine's goroutines run any more.
func (e *Engine) Close() {
	e.stop(true)
	<-e.done
	e.scoring.Wait()
}

// Shutdown stops accepting requests and returns when those in progress and waiting have ended. If
// ctx ends first, it ends them.
func (e *Engine) Shutdown(ctx context.Context) error {
	e.stop(false)
	select {
	case <-e.done:
		e.scoring.Wait()
		return nil
	case <-ctx.Done():
		e.Close()
		return context.Cause(ctx)
	}
}

func (e *Engine) stop(abort bool) {
	e.mu.Lock()
	e.closing, e.abort = true, e.abort || abort
	e.mu.Unlock()
	e.poke()
}
