package scheduler

import (
	"errors"
	"fmt"
	"slices"
)

// settle applies the results of a pass to one sequence; its rows of logits begin at row.
func (e *Engine) settle(s *sequence, row, outputs int) {
	err := e.settleRows(s, row, outputs)
	switch {
	case err != nil:
		s.send(s.out, false, nil) // tokens decided before the error remain valid
		s.out = s.out[:0]
		s.err = err
		e.end(s, errors.Is(err, ErrContextFull)) // after other errors the cache contents cannot be trusted
	case s.ended:
		e.end(s, true)
	default:
		s.flush()
	}
}

func (e *Engine) settleRows(s *sequence, row, outputs int) (err error) {
	defer func() { // a panic of a Constraint, or of our own code
		if r := recover(); r != nil {
			err = fmt.Errorf("scheduler: generate: internal failure: %v", r)
		}
	}()
	if !s.generating {
		s.stats.Prefilled += s.fed
	}
	switch s.task {
	case taskScore:
		for i := range outputs {
			s.scores = append(s.scores, slices.Clone(e.f.logits(row+i)))
		}
		s.ended = s.need() == 0
		return nil
	case taskPrefill:
		e.share(s)
		if s.ended = s.need() == 0; s.ended {
			s.stats.Finish = FinishCached
		}
		return nil
	}
	if outputs == 0 {
		e.share(s)
		return nil
	}
	if s.task == taskExpand {
		s.next, err = s.sampler.likeliest(e.f.logits(row), s.allowed, s.top)
		s.ended, s.stats.Finish = true, FinishCached
		return err
	}
	return e.verify(s, row)
}

// verify decides every token that the rows of logits can decide: the one after the known tokens,
// and one after each drafted token as long as the drafts match the decisions. It uses the same
// logits and random numbers as without drafts, so the text is the same.
func (e *Engine) verify(s *sequence, row int) error {
	if !s.generating {
		s.generating = true
		if s.first.IsZero() { // otherwise it was preempted
			s.first = e.cfg.Now()
		}
	}
	s.stats.Passes++
	base := len(s.tokens)
	valid, err := e.verifyRows(s, row)
	e.settleDraft(s, valid-base)
	s.kv.Len = min(valid, len(s.tokens)-1) // also after an error: cached tokens of refused drafts must never be remembered
	if err != nil {
		return err
	}
	e.share(s)
	return nil
}

// verifyRows does the work of verify, and returns the number of tokens that the cache holds
// correctly.
func (e *Engine) verifyRows(s *sequence, row int) (valid int, err error) {
	base, n := len(s.tokens), len(s.draft)
	valid, agree := base, true
	for !s.ended && agree {
		i := len(s.tokens) - base
		token, err := e.decide(s, row, i)
		if err != nil {
			return valid, err
		}
		agree = i < n && s.draft[i] == token
		if err := e.commit(s, token, row+i, false); err != nil {
			return valid, err
		}
		if agree {
			valid++
		}
		if err := e.force(s); err != nil {
			return valid, err
		}
		for agree && len(s.tokens) > valid { // forced tokens may equal the drafted ones
			j := valid - base
			if agree = j < n && s.draft[j] == s.tokens[valid]; agree {
				valid++
			}
		}
	}
	return valid, nil
}

// settleDraft updates the statistics for a draft of which some tokens were accepted.
func (e *Engine) settleDraft(s *sequence, accepted int) {
	if n := len(s.draft); n > 0 {
		s.stats.Drafted += n
		s.stats.Accepted += accepted
		s.spec.verified(e, s, accepted)
	}
	if s.spec != nil {
		s.spec.earn(e, 1)
	}
}

// decide chooses the token after the i-th drafted one.
func (e *Engine) decide(s *sequence, row, i int) (int32, error) {
	logits := e.f.logits(row + i)
	pos := len(s.tokens)
	if i < len(s.probs) {
		return s.sampler.reject(logits, pos, s.draft[i], s.probs[i])
	}
	token, err := s.sampler.sample(logits, pos)
	c := s.req.Constraint
	if c == nil {
		return token, err
	}
	if err == nil {
		if next, ok := c.Next(s.state, token); ok {
			s.state = next
			return token, nil
		}
	} else if err != errNothingAllowed {
		return 0, err
	}
	e.metrics.masked.Add(1)
	c.Mask(s.state, s.allowed)
	if token, err = s.sampler.masked(logits, pos, s.allowed); err != nil {
		return 0, nothingAllowed(c, err)
	}
	next, ok := c.Next(s.state, token)
	if !ok {
		return 0, fmt.Errorf("scheduler: generate: the constraint's mask allows token %d in state %d, but Next refuses it", token, s.state)
	}
	s.state = next
	return token, nil
}

// nothingAllowed asks a constraint, if it can report one, for the reason why it allows no token.
func nothingAllowed(c Constraint, err error) error {
	if x, ok := c.(interface{ Err() error }); ok && errors.Is(err, errNothingAllowed) {
		if why := x.Err(); why != nil {
			return fmt.Errorf("scheduler: generate: the constraint gave up: %w", why)
		}
	}
	return err
}

// commit appends a token to the text. The parameter row is the index of the row of its logits.
func (e *Engine) commit(s *sequence, token int32, row int, forced bool) error {
	t := Token{ID: token, Forced: forced, Stop: slices.Contains(s.req.StopTokens, token), Cached: s.stats.Cached}
	if n := s.req.LogProbs; n != 0 && !forced {
		var err error
		if t.LogProb, t.Top, err = s.sampler.logProbs(e.f.logits(row), token, n); err != nil {
			return err
		}
	}
	s.tokens = append(s.tokens, token)
	s.out = append(s.out, t)
	s.sampler.committed(token)
	s.stats.Generated++
	if forced {
		s.stats.Forced++
	}
	if s.spec != nil {
		s.spec.committed(token)
	}
	switch {
	case t.Stop:
		s.ended, s.stats.Finish = true, FinishStop
	case s.req.MaxTokens > 0 && s.generated() >= s.req.MaxTokens:
		s.ended, s.stats.Finish = true, FinishLength
	case len(s.tokens) >= e.cfg.Context:
		return &ContextError{Context: e.cfg.Context, Prompt: len(s.req.Prompt), Generated: s.generated()}
	}
	return nil
}

// force appends the tokens that the constraint forces.
func (e *Engine) force(s *sequence) error {
	c := s.req.Constraint
	if c == nil || s.req.ForcedAsDrafts {
		return nil
	}
	for !s.ended {
		s.forced = c.Forced(s.state, s.forced[:0])
		if len(s.forced) == 0 {
			return nil
		}
		for _, t := range s.forced {
			next, ok := c.Next(s.state, t)
			if !ok || t < 0 || int(t) >= e.f.vocab() { // a pass with an invalid token would fail for all requests
				return fmt.Errorf("scheduler: generate: the constraint forces token %d in state %d, but Next refuses it", t, s.state)
			}
			s.state = next
			if err := e.commit(s, t, 0, true); err != nil || s.ended {
				return err
			}
		}
	}
	return nil
}
