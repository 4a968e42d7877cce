package moe

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/engine/scheduler"
)

// Limits of a search.
const (
	maxBeam     = 32   // the largest beam width that may be requested
	maxWidened  = 64   // limit of paths added for avoided calls
	minChoices  = 32   // number of tokens considered after a path, at the least
	maxReserve  = 4096 // limit of paths that did not fit the beam and are kept in case no other is left
	maxRestarts = 32   // times that the beam may restart from the reserve
)

// readBeam reads the width of the beam; 0 means that there is none. A beam does not sample, so
// sampling parameters are an error.
func readBeam(req *agent.Request) (int, error) {
	raw, ok := req.Extra["beam"]
	if !ok || string(raw) == "null" {
		return 0, nil
	}
	var n int
	if err := json.Unmarshal(raw, &n); err != nil || n < 1 || n > maxBeam {
		return 0, invalid(fmt.Errorf("Request.Extra: beam must be a whole number from 1 to %d, not %s", maxBeam, raw))
	}
	if req.Temperature != nil && *req.Temperature > 0 {
		return 0, invalid(fmt.Errorf("Request.Extra: beam finds the likeliest answer, but a temperature of %v asks for a random one; set one of the two", *req.Temperature))
	}
	for _, name := range []string{"top_k", "top_p", "min_p", "repeat_penalty", "repetition_penalty", "frequency_penalty", "presence_penalty"} {
		if _, ok := req.Extra[name]; ok {
			return 0, invalid(fmt.Errorf("Request.Extra: beam goes by the model's own probabilities and takes no %s; leave one of the two out", name))
		}
	}
	return n, nil
}

// beam searches for the likeliest answer to a request: the one whose tokens have the largest sum of
// log-probabilities.
//
// All paths are extended by one decision at a time, and the likeliest survive. Since sums only
// decrease, the search ends when the best answer is at least as likely as every open path. Text
// that the constraint forces needs no decision and does not lower the likelihood. Answers that make
// an avoided call are dropped, and the beam is widened by the number of avoided calls. If no path
// is left even so, the search continues with the best of the paths that did not fit.
type beam struct {
	m     *Model
	req   *scheduler.Request
	avoid *avoidList
	stops []string
	width int // including the paths added for avoided calls
	top   int // tokens considered after a path

	best, cut *path // the likeliest answer that ended by itself, and the likeliest that was cut off by the length limit
	reserve   []choice
	found     int  // number of choices so far
	lossy     bool // something was dropped that might have led to an answer
	cached    int  // tokens of the prompt that were in the cache
	scratch   []int32
}

// path is an answer or the beginning of one, as a linked list of tokens from the last to the first.
type path struct {
	parent  *path
	token   scheduler.Token
	n       int // tokens
	state   int32
	score   float64 // sum of log-probabilities
	end     ending
	tail    string   // end of the text, of the length that a stop text may overlap
	allowed []uint64 // tokens that may follow; nil means any
}

type ending uint8

const (
	open  ending = iota
	ended        // by a stop token or stop text
	full         // by the limit on tokens
)

// choice is a path and a token that may follow it.
type choice struct {
	from  *path
	next  scheduler.TokenProb
	top   []scheduler.TokenProb // the candidates among which the token was, if the request asks for them
	score float64
	order int // the choice's number in the order of discovery
}

func newBeam(a *answer, width int) *beam {
	b := &beam{m: a.m, req: &a.req, avoid: &a.avoid, stops: a.out.stops.stops, width: width + min(len(a.avoid.calls), maxWidened)}
	b.top = min(max(minChoices, b.width, a.req.LogProbs), a.m.net.Hyper().Vocab)
	return b
}

// run returns the tokens of the answer, and whether it was cut off by its length limit.
func (b *beam) run(ctx context.Context) (tokens []scheduler.Token, cut bool, err error) {
	if n := len(b.req.Prompt); n >= b.m.engine.Context() {
		return nil, false, &scheduler.ContextError{Context: b.m.engine.Context(), Prompt: n}
	}
	root := &path{}
	if b.req.Constraint != nil {
		root.state = b.req.Constraint.Start()
	}
	var paths []*path
	if paths, err = b.admit(paths, root); err != nil {
		return nil, false, err
	}
	for restarts := 0; ; {
		if b.best != nil && (len(paths) == 0 || b.best.score >= paths[0].score) {
			return b.best.tokens(), false, nil
		}
		var choices []choice
		switch {
		case len(paths) > 0:
			choices, err = b.expand(ctx, paths)
		case len(b.reserve) == 0 || restarts == maxRestarts || b.cut != nil:
			return b.giveUp()
		default:
			restarts++
			choices, b.reserve = b.reserve, nil
		}
		if err == nil {
			paths, err = b.choose(choices)
		}
		if err != nil {
			return nil, false, err
		}
	}
}

// giveUp ends a search in which no answer was completed.
func (b *beam) giveUp() ([]scheduler.Token, bool, error) {
	if b.cut != nil {
		return b.cut.tokens(), true, nil
	}
	if !b.avoid.empty() {
		return nil, false, b.avoid.exhausted(!b.lossy && len(b.reserve) == 0)
	}
	return nil, false, fmt.Errorf("moe: search for the likeliest answer: %w", b.grammarError())
}

func (b *beam) grammarError() error {
	if c, ok := b.req.Constraint.(interface{ Err() error }); ok && c.Err() != nil {
		return c.Err()
	}
	return fmt.Errorf("the grammar allows no token after any of its texts")
}

// expand scores the tokens that may follow the paths.
func (b *beam) expand(ctx context.Context, paths []*path) ([]choice, error) {
	branches := make([]scheduler.Branch, len(paths))
	for i, p := range paths {
		tokens := make([]int32, len(b.req.Prompt)+p.n)
		copy(tokens, b.req.Prompt)
		for q := p; q.parent != nil; q = q.parent {
			tokens[len(b.req.Prompt)+q.n-1] = q.token.ID
		}
		branches[i] = scheduler.Branch{Tokens: tokens, Allowed: p.allowed}
	}
	weighed, err := b.m.engine.Expand(ctx, branches, b.top)
	if err != nil {
		return nil, err
	}
	if b.cached == 0 {
		b.cached = min(weighed[0].Cached, len(b.req.Prompt))
	}
	var choices []choice
	for i, p := range paths {
		next := weighed[i].Next
		b.lossy = b.lossy || len(next) == b.top && (p.allowed == nil || count(p.allowed) > b.top)
		for _, t := range next {
			b.found++
			c := choice{from: p, next: t, score: p.score + float64(t.LogProb), order: b.found}
			if b.req.LogProbs > 0 {
				c.top = next[:min(b.req.LogProbs, len(next))]
			}
			choices = append(choices, c)
		}
		p.allowed = nil
	}
	return choices, nil
}

func count(set []uint64) (n int) {
	for _, w := range set {
		n += bits.OnesCount64(w)
	}
	return n
}

// choose turns the likeliest choices into paths, the likeliest first, and keeps the others in
// reserve.
func (b *beam) choose(choices []choice) (paths []*path, err error) {
	sortChoices(choices)
	for i, c := range choices {
		if b.best != nil && b.best.score >= c.score {
			return paths, nil // the remaining choices cannot lead to a better path either
		}
		if len(paths) == b.width {
			b.keep(choices[i:])
			break
		}
		t := scheduler.Token{ID: c.next.ID, LogProb: c.next.LogProb, Top: c.top}
		p, ok := b.step(c.from, t)
		if !ok {
			return nil, fmt.Errorf("moe: search for the likeliest answer: the grammar's mask allows token %d, but its rules refuse it: %w", t.ID, b.grammarError())
		}
		if paths, err = b.admit(paths, p); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// sortChoices sorts the likeliest first. The order of equally likely choices depends only on the
// search itself.
func sortChoices(choices []choice) {
	slices.SortFunc(choices, func(x, y choice) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.order, y.order))
	})
}

func (b *beam) keep(choices []choice) {
	if b.reserve = append(b.reserve, choices...); len(b.reserve) > 2*maxReserve {
		sortChoices(b.reserve)
		clear(b.reserve[maxReserve:])
		b.reserve, b.lossy = b.reserve[:maxReserve], true
	}
}

// admit appends the tokens forced after p and adds p to the open paths, or keeps it as an answer.
func (b *beam) admit(paths []*path, p *path) ([]*path, error) {
	p, err := b.force(p)
	switch {
	case err != nil:
		return paths, err
	case b.avoid.makes(p.tokens()):
	case p.end == open:
		return append(paths, p), nil
	case p.end == full:
		b.cut = better(b.cut, p)
	default:
		b.best = better(b.best, p)
	}
	return paths, nil
}

func better(old, p *path) *path {
	if old != nil && old.score >= p.score {
		return old
	}
	return p
}

// force appends the tokens that the constraint forces, and determines the tokens that may follow.
func (b *beam) force(p *path) (*path, error) {
	c := b.req.Constraint
	for c != nil && p.end == open {
		b.scratch = c.Forced(p.state, b.scratch[:0])
		if len(b.scratch) == 0 {
			p.allowed = make([]uint64, (b.m.net.Hyper().Vocab+63)/64)
			c.Mask(p.state, p.allowed)
			only, ok := b.single(p.allowed)
			if !ok {
				return p, nil
			}
			p.allowed = nil
			b.scratch = append(b.scratch, only)
		}
		for _, id := range b.scratch {
			next, ok := b.step(p, scheduler.Token{ID: id, Forced: true})
			if !ok {
				return nil, fmt.Errorf("moe: search for the likeliest answer: the grammar forces token %d, but its rules refuse it: %w", id, b.grammarError())
			}
			if p = next; p.end != open {
				break
			}
		}
	}
	return p, nil
}

// single returns the only token that is allowed. If the text can only end, choosing one of the end
// tokens does not count as a decision.
func (b *beam) single(allowed []uint64) (only int32, ok bool) {
	n := count(allowed)
	for _, id := range b.req.StopTokens {
		if allowed[id/64]>>(id%64)&1 == 0 {
			continue
		}
		if n--; !ok {
			only, ok = id, true
		}
	}
	switch {
	case ok:
		return only, n == 0
	case n == 1:
		for i, w := range allowed {
			if w != 0 {
				return int32(i*64 + bits.TrailingZeros64(w)), true
			}
		}
	}
	return 0, false
}

// step appends a token. It returns false when the constraint does not allow it.
func (b *beam) step(p *path, t scheduler.Token) (*path, bool) {
	q := &path{parent: p, n: p.n + 1, score: p.score + float64(t.LogProb)}
	if c := b.req.Constraint; c != nil {
		var ok bool
		if q.state, ok = c.Next(p.state, t.ID); !ok {
			return nil, false
		}
	}
	t.Stop = slices.Contains(b.req.StopTokens, t.ID)
	q.token = t
	switch {
	case t.Stop || b.stopText(q):
		q.end = ended
	case q.n == b.req.MaxTokens || len(b.req.Prompt)+q.n >= b.m.engine.Context():
		q.end = full
	}
	return q, true
}

// stopText reports whether the last token of q completes a stop text of the request.
func (b *beam) stopText(q *path) bool {
	longest := 0
	for _, s := range b.stops {
		longest = max(longest, len(s))
	}
	if longest == 0 {
		return false
	}
	text := q.parent.tail + b.m.pieceOf(q.token.ID, true)
	q.tail = text[max(0, len(text)-longest):]
	return slices.ContainsFunc(b.stops, func(s string) bool { return strings.Contains(text, s) })
}

// tokens lists the tokens of a path from its beginning.
func (p *path) tokens() []scheduler.Token {
	out := make([]scheduler.Token, p.n)
	for ; p.parent != nil; p = p.parent {
		out[p.n-1] = p.token
	}
	return out
}
