package scheduler

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// minChunk is the smallest share of a pass that a prompt gets. With a smaller share, a pass would
// read all weights for little benefit.
const minChunk = 32

// scoreChunk limits the rows of logits that a pass of taskScore keeps at a time.
const scoreChunk = 32

// pass computes one step of every running sequence: one or more tokens of those that generate, and
// a chunk of the prompt of the others.
func (e *Engine) pass() {
	e.plan()
	if len(e.batch) == 0 {
		return
	}
	start := e.cfg.Now()
	err := e.compute()
	took := e.cfg.Now().Sub(start)
	prompt, decode := 0, 0
	for _, s := range e.batch {
		if s.generating {
			decode += s.fed
		} else {
			prompt += s.fed
		}
	}
	e.metrics.passed(took, prompt, decode, e.f.free(), len(e.running))
	e.timePass(took.Seconds(), prompt, decode)
	numbers := numberError(err)
	if numbers != nil {
		err = nil // the other requests' logits are valid
	}
	row := 0
	for i, s := range e.batch {
		outputs := e.slices[i].Outputs
		switch {
		case err != nil:
			e.fail(s, err)
		case numbers != nil && slices.Contains(numbers.Slices, i):
			e.fail(s, fmt.Errorf("%w; the file's weights are damaged or overflow in this precision", ErrNaN))
		default:
			e.settle(s, row, outputs)
		}
		row += outputs
	}
}

// numberError returns the NumberError in err if it concerns only some of the pass's slices.
func numberError(err error) *transformer.NumberError {
	if err == nil {
		return nil // the usual case; avoids the allocation below
	}
	var e *transformer.NumberError
	errors.As(err, &e)
	return e
}

// timePass updates the cost model from a pass, and determines the cost of the drafts in it. If
// prompts are in the pass, that cost can only be estimated.
func (e *Engine) timePass(took float64, prompt, decode int) {
	drafts := 0
	for _, s := range e.batch {
		drafts += len(s.draft)
		e.tried = max(e.tried, len(s.draft))
	}
	if drafts > 0 {
		extra := e.cost.seconds(decode) - e.cost.seconds(decode-drafts)
		if prompt == 0 {
			base := e.cost.seconds(decode - drafts)
			extra = min(max(took-base, extra/2), 2*extra+base/2) // the rest is caused by another process, or will soon be part of the curve
		}
		e.perDraft = extra / float64(drafts)
	}
	if prompt == 0 {
		e.cost.observe(decode, took, drafts > 0)
	}
}

// compute runs the network. A panic is returned as the pass's error.
func (e *Engine) compute() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("scheduler: forward: internal failure in a pass of %d requests: %v", len(e.batch), r)
		}
	}()
	return e.f.forward(e.slices)
}

// plan decides what each sequence computes in the next pass, and allocates the pages for it.
func (e *Engine) plan() {
	decoding, budget := 0, e.cfg.PassTokens
	for _, s := range e.running {
		s.fed, s.draft, s.probs = 0, s.draft[:0], nil
		if s.generating {
			s.fed = s.need()
			decoding += s.fed
		}
	}
	if decoding > 0 {
		e.speculate(decoding, budget-decoding)
		budget = max(1, min(budget-decoding, e.cfg.MixedTokens)) // prompts continue however many requests generate
	}
	e.sharePrompts(budget)
	e.batch, e.slices = append(e.batch[:0], e.running...), e.slices[:0]
	slices.SortFunc(e.batch, func(a, b *sequence) int { return cmp.Compare(a.id, b.id) }) // the oldest sequence gets pages first
	for _, s := range e.batch {
		if s.fed > 0 { // otherwise it does nothing in this pass, or was preempted for an older one
			e.grow(s)
		}
	}
	e.batch = e.batch[:0]
	for _, s := range e.running {
		if s.fed > 0 {
			e.batch = append(e.batch, s)
			e.slices = append(e.slices, e.slice(s))
		}
	}
}

// slice returns the part that the pass appends to a sequence.
func (e *Engine) slice(s *sequence) transformer.Slice {
	known := s.fed - len(s.draft)
	tokens := s.tokens[s.kv.Len : s.kv.Len+known]
	outputs := 0
	switch {
	case s.task == taskScore:
		outputs = known
	case s.kv.Len+known == len(s.tokens) && (s.task == taskGenerate || s.task == taskExpand):
		outputs = 1 + len(s.draft)
	}
	if len(s.draft) > 0 {
		s.feed = append(append(s.feed[:0], tokens...), s.draft...)
		tokens = s.feed
	}
	return transformer.Slice{Seq: &s.kv, Tokens: tokens, Outputs: outputs}
}

// sharePrompts divides the budget for prompt tokens into equal shares, starting with a different
// sequence each time. Prefills get the rest. If two sequences are about to compute the same page,
// one waits for the other and then takes its page.
func (e *Engine) sharePrompts(budget int) {
	waiting := [2]int{}
	for _, s := range e.running {
		if !s.generating {
			e.adopt(s)
			waiting[s.rank()]++
		}
	}
	e.rotate++
	for rank := range waiting {
		for round := 0; round < 2 && waiting[rank] > 0; round++ { // the second round distributes what the first left over
			share := max(budget/waiting[rank], minChunk)
			for i := range e.running {
				s := e.running[(i+e.rotate)%len(e.running)]
				if s.generating || s.rank() != rank || budget <= 0 || s.fed == 0 && e.twin(s) {
					continue
				}
				n := min(s.need()-s.fed, share, budget)
				if s.task == taskScore {
					n = min(n, scoreChunk-s.fed)
				}
				s.fed += n
				budget -= n
			}
		}
	}
}

// twin reports whether another sequence computes in this pass the page that s is about to compute.
func (e *Engine) twin(s *sequence) bool {
	page := s.kv.Len / transformer.PageTokens
	if page >= len(s.chain) {
		return false
	}
	for _, r := range e.running {
		if r != s && r.fed > 0 && !r.generating && page < len(r.chain) && r.chain[page] == s.chain[page] && r.kv.Len/transformer.PageTokens == page {
			return true
		}
	}
	return false
}

// speculate chooses drafts for the generating sequences. The parameter known is the number of
// tokens that the pass computes anyway, and most is the number that it may add.
func (e *Engine) speculate(known, most int) {
	most = min(most, e.cfg.Speculation.PassDraft)
	p := plan{tokens: known}
	for _, s := range e.running {
		if s.generating {
			p.expected++
		}
	}
	for _, s := range e.running {
		if s.spec == nil || !s.generating || most <= 0 {
			continue
		}
		limit := min(most, e.cfg.Speculation.MaxDraft, s.room(e.cfg.Context)-1)
		if limit <= 0 {
			continue
		}
		if err := e.guardDraft(s, &p, limit); err != nil {
			s.draft, s.probs = s.draft[:0], nil
			e.endSpeculation(s) // a failing drafter costs speed, but does not change the text
			e.metrics.draftFailures.Add(1)
			continue
		}
		s.fed += len(s.draft)
		most -= len(s.draft)
	}
}

func (e *Engine) guardDraft(s *sequence, p *plan, limit int) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("scheduler: draft: %v", r)
		}
	}()
	s.spec.propose(e, s, p, limit)
	return nil
}

// since returns the time from t to now in seconds.
func (e *Engine) since(t time.Time) float64 { return e.cfg.Now().Sub(t).Seconds() }
