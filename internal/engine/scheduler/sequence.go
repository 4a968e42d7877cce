package scheduler

import (
	"context"
	"time"

	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

type task int

const (
	taskGenerate task = iota
	taskPrefill
	taskScore
	taskExpand
)

// sequence is a request and its state. The scheduler's goroutine owns it once it has left the
// queue.
type sequence struct {
	*stream
	id   uint64 // order of arrival
	task task
	req  *Request

	tokens []int32         // prompt and generated
	kv     transformer.Seq // keys and values of the first kv.Len tokens
	cursor *node           // the tree's node for the first insert pages of kv
	insert int             // number of pages of kv in the tree
	chain  []uint64

	sampler *sampler
	state   int32    // of the constraint
	allowed []uint64 // mask of the constraint, or of a branch
	forced  []int32
	edit    *editDrafter
	spec    *speculator // nil means no speculation

	fed     int       // tokens computed in this pass
	draft   []int32   // the drafted tokens at the end of those
	probs   [][]cand  // the draft model's distribution for each drafted token, for rejection sampling
	drafter *drafting // the drafter that proposed draft
	feed    []int32
	out     []Token
	scores  [][]float32

	top   int         // for taskExpand: the number of likeliest tokens wanted
	next  []TokenProb // for taskExpand: the likeliest tokens
	rider bool        // shares the slot of the previous branch

	generating bool // whether the whole prompt is in the cache
	ended      bool
	admitted   bool // has had a slot; guarded by Engine.mu
	err        error
	stats      Stats
	queued     time.Time
	started    time.Time // time at which it got its slot
	first      time.Time // time of the first token
}

func newSequence(t task, ctx context.Context, r *Request) *sequence {
	s := &sequence{stream: newStream(ctx), task: t, req: r, tokens: append([]int32(nil), r.Prompt...)}
	s.stats.Prompt = len(r.Prompt)
	if t != taskScore {
		s.chain = pageChain(r.Prompt)
	}
	return s
}

// pageChain returns, for each full page of tokens, a hash of all tokens up to the end of the page.
func pageChain(tokens []int32) []uint64 {
	chain := make([]uint64, 0, len(tokens)/transformer.PageTokens)
	h := uint64(0)
	for i, t := range tokens {
		h = mix64(h + uint64(uint32(t)) + 0x9e3779b97f4a7c15)
		if (i+1)%transformer.PageTokens == 0 {
			chain = append(chain, h)
		}
	}
	return chain
}

// need returns the number of known tokens that are not in the cache.
func (s *sequence) need() int { return len(s.tokens) - s.kv.Len }

// rank returns 0 for a sequence that somebody waits for, 1 for a prefill.
func (s *sequence) rank() int {
	if s.task == taskPrefill {
		return 1
	}
	return 0
}

// generated returns the number of generated tokens.
func (s *sequence) generated() int { return len(s.tokens) - len(s.req.Prompt) }

// room returns the number of tokens that may still be generated.
func (s *sequence) room(context int) int {
	n := context - len(s.tokens)
	if s.req.MaxTokens > 0 {
		n = min(n, s.req.MaxTokens-s.generated())
	}
	return n
}

// start prepares the sequence for its first pass, on the scheduler's goroutine.
func (s *sequence) start(e *Engine, now time.Time) {
	if s.sampler != nil {
		return // it was preempted
	}
	s.started = now
	s.stats.Queue = now.Sub(s.queued)
	s.sampler = newSampler(s.req.Sample, s.req.Prompt, &e.scratch)
	if s.req.Constraint != nil {
		s.state = s.req.Constraint.Start()
		s.allowed = make([]uint64, (e.f.vocab()+63)/64)
	}
	if s.task == taskGenerate && !s.req.NoSpeculation && !e.cfg.Speculation.Off {
		e.newSpeculator(s)
	}
}

// flush sends the tokens of the pass to the reader.
func (s *sequence) flush() {
	if len(s.out) > 0 {
		s.send(s.out, false, nil)
		s.out = s.out[:0]
	}
}
