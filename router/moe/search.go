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

// Limits of a [Search].
const (
	searchWidth   = 16      // number of beginnings that are scored at once if the request has no beam
	maxOpen       = 1 << 15 // maximum number of beginnings that are kept
	maxBeginnings = 1 << 13 // maximum number of beginnings that are scored for one answer
)

// Answer is one of the answers to a request.
type Answer struct {
	Chunks  []agent.Chunk // the chunks that Stream would yield, including usage and finish; the ids of calls are the same for each answer
	Tokens  []agent.Token
	LogProb float64 // the sum over the tokens; tokens that a grammar forces count as certain, which adds 0
}

// Search lists the answers to a request, each once and the likeliest first. It continues where it
// stopped, so that only the parts of answers that differ cost time; a beam with avoid_calls would
// start over for each answer. A Search is for one goroutine at a time, holds only memory, and need
// not be closed.
type Search struct {
	a     *answer
	b     *beam
	stop  []string
	paths []*path // paths that are scored next
	open  openChoices
	ended []*path // best last
	told  map[string]bool
	may   func(answer string) bool // nil allows any answer
}

// Search begins to list the answers to a request. It takes the same requests as a stream with
// "beam" in [agent.Request].Extra. Here, beam is the number of beginnings that are scored at once;
// the field may be left out.
//
// The order is by the sum of log-probabilities, best first, provided that every token of an answer
// is among the 32 likeliest at its position.
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

// filteredChoices is the number of tokens considered after a beginning if Only is in use.
const filteredChoices = 128

// Only leaves out the answers that have a beginning for which the function may returns false. The
// argument of may is a beginning as the model writes it, including the marks around a call. If may
// returns false for a beginning, it must also return false for every text that starts with that
// beginning. Only must be called before [Search.Next]. It saves time compared with discarding such
// answers afterwards.
func (s *Search) Only(may func(answer string) bool) {
	s.may = may
	s.b.top = max(s.b.top, min(filteredChoices, s.a.m.net.Hyper().Vocab))
}

// leftOut reports whether p, followed by the tokens behind, leads only to answers that are left
// out.
func (s *Search) leftOut(p *path, behind ...int32) bool {
	if s.may == nil {
		return false
	}
	var text []byte
	say := func(id int32) {
		if !slices.Contains(s.b.req.StopTokens, id) { // an end token is not part of the answer
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

// Next returns the next answer. It returns io.EOF if no answer is left, or if 8,192 beginnings were
// scored and no answer was completed. After another error, such as that of an ended context, it may
// be called again.
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

// likeliest reports whether no open path can lead to a better answer than p.
func (s *Search) likeliest(p *path) bool {
	return len(s.paths) == 0 && (len(s.open) == 0 || p.score >= s.open[0].score)
}

// take turns the likeliest choices into paths, if they may lead to a better answer than the paths
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

// admit appends the tokens forced after p and adds p to the open paths or to the answers. A path
// cut off by the length limit is not an answer.
func (s *Search) admit(p *path) error {
	p, err := s.b.force(p)
	switch {
	case err != nil:
		return err
	case p.end == open:
		s.paths = append(s.paths, p)
	case p.end == ended && !s.b.avoid.makes(p.tokens()) && !s.leftOut(p): // forced tokens were not checked as choices
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
		s.open = s.open[:maxOpen] // a sorted slice is a heap
	}
}

// answer returns the answer of a path, or nil if another path had the same text with other tokens.
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
