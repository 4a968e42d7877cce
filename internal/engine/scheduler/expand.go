package scheduler

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Branch is one of several texts whose continuations are compared, as in a search for the likeliest
// text.
type Branch struct {
	Tokens  []int32  // the whole text, including the prompt; at least one token
	Allowed []uint64 // bit set of the tokens that may follow; nil means any
}

// Expansion holds the possible continuations of a branch.
type Expansion struct {
	Next   []TokenProb // the likeliest allowed tokens, best first; if two are equally likely, the lower id comes first
	Cached int         // tokens of the branch that were found in the cache
}

// Expand computes the probabilities of the tokens that may follow each branch, and returns at most
// the top best of each. The probabilities are those of the network at temperature 1 without
// penalties, and are not renormalised if some tokens are not allowed. A branch that allows no token
// has an empty expansion.
//
// All branches are computed in one pass if the cache has room for them, and any prefix that they
// share with each other or with earlier texts is computed only once. All branches together take one
// slot.
//
// The errors are those of [Engine.Generate]. An error of one branch is returned for all.
func (e *Engine) Expand(ctx context.Context, branches []Branch, top int) ([]Expansion, error) {
	if top < 1 || top > e.f.vocab() {
		return nil, fmt.Errorf("%w: %d likeliest tokens; 1 up to the vocabulary's %d is possible", ErrInvalid, top, e.f.vocab())
	}
	seqs := make([]*sequence, len(branches))
	for i, b := range branches {
		r := Request{Prompt: b.Tokens, NoSpeculation: true}
		if err := r.validate(e.f.vocab(), e.cfg.Context+1); err != nil {
			return nil, fmt.Errorf("branch %d: %w", i, err)
		}
		if want := (e.f.vocab() + 63) / 64; b.Allowed != nil && len(b.Allowed) != want {
			return nil, fmt.Errorf("%w: branch %d: the set of allowed tokens has %d words; the vocabulary needs %d", ErrInvalid, i, len(b.Allowed), want)
		}
		seqs[i] = newSequence(taskExpand, ctx, &r)
		seqs[i].allowed, seqs[i].top, seqs[i].rider = slices.Clone(b.Allowed), top, i > 0 // a copy, because a pass may outlast ctx
	}
	if len(seqs) == 0 {
		return nil, nil
	}
	if err := e.submit(seqs...); err != nil {
		return nil, err
	}
	defer func() {
		for _, s := range seqs {
			e.cancel(s)
		}
	}()
	out := make([]Expansion, len(seqs))
	for i, s := range seqs {
		var failed error
		e.follow(s, func(t Token, err error) bool {
			if failed = err; t.Final != nil {
				out[i] = Expansion{Next: s.next, Cached: t.Final.Cached}
			}
			return true
		})
		if failed != nil {
			return nil, failed
		}
	}
	return out, nil
}

// likeliest returns the n likeliest of the allowed tokens (nil allows all), with their
// log-probabilities.
func (s *sampler) likeliest(logits []float32, allowed []uint64, n int) ([]TokenProb, error) {
	z, err := normalizer(logits)
	if err != nil {
		return nil, err
	}
	if allowed != nil {
		s.mask = slices.Grow(s.mask[:0], len(logits))[:len(logits)]
		maskLogits(s.mask, logits, allowed)
		logits = s.mask
		if _, _, err := largest(logits); err == errNothingAllowed {
			return nil, nil
		}
	}
	if err := s.topK(logits, min(n, len(logits))); err != nil {
		return nil, err
	}
	top := make([]TokenProb, 0, len(s.cands))
	for _, c := range s.cands {
		if !math.IsInf(float64(c.logit), -1) {
			top = append(top, TokenProb{ID: c.id, LogProb: float32(float64(c.logit) - z)})
		}
	}
	return top, nil
}
