package moe

import (
	"context"
	"errors"

	"github.com/luthier-dev/luthier/internal/engine/scheduler"
)

// maxDraws limits the number of answers that are sampled in order to find one that makes no avoided
// call.
const maxDraws = 32

// search returns the likeliest answer that a beam of the given width finds.
func (a *answer) search(ctx context.Context, width int) (length bool, err error) {
	b := newBeam(a, width)
	tokens, cut, err := b.run(ctx)
	if err != nil {
		return false, err
	}
	for i := range tokens {
		tokens[i].Cached = b.cached
	}
	return a.takeAll(tokens) && cut, nil
}

// takeAll passes a complete answer to the output and reports whether all of it was wanted.
func (a *answer) takeAll(tokens []scheduler.Token) bool {
	for _, t := range tokens {
		if !a.take(t) {
			return false
		}
	}
	return true
}

// otherThanAvoided answers as if there were no avoided calls, unless the answer makes one. If the
// answer does and there is a temperature, it samples again, which does not change the relative
// probabilities of the other answers. Without a temperature, or if sampling finds none, it
// searches.
func (a *answer) otherThanAvoided(ctx context.Context) (length bool, err error) {
	draws := 1
	if a.req.Sample.Temperature > 0 {
		draws = maxDraws
	}
	for i := range draws {
		r := a.req
		r.Sample.Seed += uint64(i) * 0x9e3779b97f4a7c15
		tokens, length, err := a.draw(ctx, r)
		if err != nil {
			return false, err
		}
		if !a.avoid.makes(tokens) {
			return a.takeAll(tokens) && length, nil
		}
	}
	return a.search(ctx, 1)
}

// draw generates an answer without passing it on. If the context window is full, the answer ends as
// at any other length limit.
func (a *answer) draw(ctx context.Context, r scheduler.Request) (tokens []scheduler.Token, length bool, err error) {
	stops, decoder := newStopFinder(a.out.stops.stops), a.m.tok.NewDecoder()
	for t, err := range a.m.engine.Generate(ctx, r) {
		switch {
		case errors.Is(err, scheduler.ErrContextFull) && len(tokens) > 0:
			return tokens, true, nil
		case err != nil:
			return nil, false, err
		case t.Final != nil:
			return tokens, t.Final.Finish == scheduler.FinishLength, nil
		}
		tokens = append(tokens, t)
		if t.Stop {
			continue
		}
		if _, found := stops.feed(decoder.Write(t.ID)); found {
			return tokens, false, nil
		}
	}
	return tokens, false, nil
}
