package moe

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/engine/scheduler"
)

// Bounds of a [Search].
const (
	searchWidth   = 16      // beginnings that are weighed at once, where a request has no beam
	maxOpen       = 1 << 15 // beginnings kept
	maxBeginnings = 1 << 13 // weighed for one answer at most
)

// Answer is one of the answers to a request.
type Answer struct {
	Chunks  []agent.Chunk // what Stream would yield, usage and finish among it; the ids of calls are the same for each answer
	Tokens  []agent.Token
	LogProb float64 // the sum over the tokens; those that a grammar forces count as certain
}

// Search lists the answers to a request from the likeliest on, each once. It goes on where it
// stopped, so that a hundred answers cost little more than the beginnings that they do not share,
// where a beam with avoid_calls begins anew for each. It is for one goroutine at a time, holds
// nothing but memory, and need not be closed.
type Search struct {
	a     *answer
	b     *beam
	stop  []string
	paths []*path // that are to be weighed next
	open  openChoices
	ended []*path // best last
	told  map[string]bool
	may   func(answer string) bool // nil for any
}

// Search begins to list the answers to a request. It takes the same requests as a stream with
// "beam" in [agent.Request].Extra, which is how many beginnings are weighed at once here; it may be
// left out.
//
// The order is by the sum of log-probabilities, best first, as long as no token is wanted that is
// not among the 32 likeliest after its beginning.
func (m *Model) Search(ctx context.Context, req *agent.Request) (*Search, error) {
	a, err := m.answer(ctx, req)
	if err != nil {
		return nil, modelError(ctx, err)
	}
	if n := len(a.req.Prompt); n >= m.engine.Context() {
		return nil, modelError(ctx, &scheduler.ContextError{Context: m.engine.Context(), Prompt: n})
	}
	s := &Search{a: a, b: newBeam(a, cmp.Or(a.beam, searchWidth)), stop: slices.Clone(req.Stop), told: map[string]bool{}}
	root := &path{}
	if a.req.Constraint != nil {
		root.state = a.req.Constraint.Start()
	}
	if err := s.admit(root); err != nil {
		return nil, modelError(ctx, err)
	}
	return s, nil
}

// filteredChoices is how many tokens are looked at after a beginning where some are left out.
const filteredChoices = 128

// Only leaves out answers of which may says so by one of their beginnings. It is called with
// beginnings as the model writes them, the marks around a call among them, and must say no to what
// a beginning that it said no to begins. To be called before [Search.Next]; answers that would be
// thrown away as soon as they are there need not be searched for.
func (s *Search) Only(may func(answer string) bool) {
	s.may = may
	s.b.top = max(s.b.top, min(filteredChoices, s.a.m.net.Hyper().Vocab))
}

// leftOut reports whether p, and tokens behind it, lead to nothing but answers that are left out.
func (s *Search) leftOut(p *path, behind ...int32) bool {
	if s.may == nil {
		return false
	}
	var text []byte
	say := func(id int32) {
		if !slices.Contains(s.b.req.StopTokens, id) { // what ends an answer is no part of it
			text = s.b.m.tok.AppendPiece(text, id)
		}
	}
	for _, t := range p.tokens() {
		say(t.ID)
	}
	for _, id := range behind {
		say(id)
	}
	return !s.may(string(text))
}

// Next returns the next answer. It is io.EOF when none is left, or none that is found within
// reason: 8,192 beginnings were weighed and none came to its end. After another error, such as that
// of an ended context, it may be called again.
func (s *Search) Next(ctx context.Context) (*Answer, error) {
	for weighed := 0; ; {
		if n := len(s.ended); n > 0 && s.likeliest(s.ended[n-1]) {
			p := s.ended[n-1]
			s.ended = s.ended[:n-1]
			a, err := s.answer(p)
			if err != nil || a != nil {
				return a, err
			}
			continue
		}
		if err := s.take(); err != nil {
			return nil, modelError(ctx, err)
		}
		if len(s.paths) == 0 {
			if len(s.ended) == 0 {
				return nil, io.EOF
			}
			continue
		}
		if weighed += len(s.paths); weighed > maxBeginnings {
			return nil, io.EOF
		}
		choices, err := s.b.expand(ctx, s.paths)
		if err != nil {
			return nil, modelError(ctx, err)
		}
		s.paths = s.paths[:0]
		s.keep(choices)
	}
}

// likeliest reports whether nothing that is open can lead to a better answer than p.
func (s *Search) likeliest(p *path) bool {
	return len(s.paths) == 0 && (len(s.open) == 0 || p.score >= s.open[0].score)
}

// take makes paths of the likeliest choices, as far as they may lead to a better answer than those
// that ended.
func (s *Search) take() error {
	for len(s.paths) < s.b.width && len(s.open) > 0 {
		if n := len(s.ended); n > 0 && s.ended[n-1].score >= s.open[0].score {
			return nil
		}
		c := heap.Pop(&s.open).(choice)
		if s.leftOut(c.from, c.next.ID) {
			continue
		}
		t := scheduler.Token{ID: c.next.ID, LogProb: c.next.LogProb, Top: c.top}
		p, ok := s.b.step(c.from, t)
		if !ok {
			return fmt.Errorf("moe: search: the grammar's mask allows token %d, but its rules refuse it: %w", t.ID, s.b.grammarError())
		}
		if err := s.admit(p); err != nil {
			return err
		}
	}
	return nil
}

// admit follows what is forced after p and puts it to the open paths or to the answers. What the
// limit on its length cuts off is none.
func (s *Search) admit(p *path) error {
	p, err := s.b.force(p)
	switch {
	case err != nil:
		return err
	case p.end == open:
		s.paths = append(s.paths, p)
	case p.end == ended && !s.b.avoid.makes(p.tokens()) && !s.leftOut(p): // what is forced was no choice
		at, _ := slices.BinarySearchFunc(s.ended, p.score, func(q *path, score float64) int { return cmp.Compare(q.score, score) })
		s.ended = slices.Insert(s.ended, at, p)
	}
	return nil
}

// keep keeps choices for later.
func (s *Search) keep(choices []choice) {
	for _, c := range choices {
		heap.Push(&s.open, c)
	}
	if len(s.open) > 2*maxOpen {
		sortChoices(s.open)
		clear(s.open[maxOpen:])
		s.open = s.open[:maxOpen] // what is sorted is a heap
	}
}

// answer returns what a path says, nil if another one said it before with other tokens.
func (s *Search) answer(p *path) (*Answer, error) {
	out := &Answer{LogProb: p.score}
	a := *s.a
	a.usage = agent.Usage{Input: int64(len(a.req.Prompt))}
	a.trace = &agent.TokenTrace{Token: func(t agent.Token) { out.Tokens = append(out.Tokens, t) }}
	var said strings.Builder
	a.out = output{decoder: a.m.tok.NewDecoder(), stops: newStopFinder(s.stop), parser: a.avoid.parser(), yield: func(c agent.Chunk, err error) bool {
		switch c := c.(type) {
		case agent.TextDelta:
			said.WriteString(c.Text)
		case agent.ToolCallStart:
			said.WriteString("\x00" + c.Name + "\x00")
		case agent.ToolCallDelta:
			said.WriteString(c.Args)
		}
		out.Chunks = append(out.Chunks, c)
		return true
	}}
	tokens := p.tokens()
	for i := range tokens {
		tokens[i].Cached = s.b.cached
	}
	a.takeAll(tokens)
	a.out.close()
	reason, err := a.out.finish(false)
	if err != nil || s.told[said.String()] {
		return nil, err
	}
	s.told[said.String()] = true
	out.Chunks = append(out.Chunks, a.usage, agent.Finish{Reason: reason})
	return out, nil
}

// openChoices is a heap with the likeliest choice on top.
type openChoices []choice

func (h openChoices) Len() int { return len(h) }
func (h openChoices) Less(i, j int) bool {
	return h[i].score > h[j].score || h[i].score == h[j].score && h[i].order < h[j].order
}
func (h openChoices) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *openChoices) Push(x any)   { *h = append(*h, x.(choice)) }
func (h *openChoices) Pop() any {
	old := *h
	c := old[len(old)-1]
	old[len(old)-1] = choice{}
	*h = old[:len(old)-1]
	return c
}
