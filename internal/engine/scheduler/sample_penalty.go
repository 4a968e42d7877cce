package scheduler

// penalties changes the logits of a few tokens in place, and restores them.
type penalties struct {
	rep, freq, pres float32
	bias            map[int32]float32
	at              map[int32]int // index in the lists below
	ids             []int32
	counts          []int32 // times generated, not counting the prompt
	saved           []float32
	biased          []int32
	biasSaved       []float32
}

func newPenalties(p *SampleParams, prompt []int32) penalties {
	s := penalties{rep: p.RepetitionPenalty, freq: p.FrequencyPenalty, pres: p.PresencePenalty, bias: p.Bias}
	if s.rep == 0 {
		s.rep = 1
	}
	for t := range p.Bias {
		s.biased = append(s.biased, t)
	}
	if s.rep == 1 && s.freq == 0 && s.pres == 0 {
		return s
	}
	s.at = map[int32]int{}
	if s.rep != 1 { // the other penalties apply only to generated tokens
		for _, t := range prompt {
			s.see(t)
		}
	}
	return s
}

func (s *penalties) see(token int32) int {
	i, ok := s.at[token]
	if !ok {
		i = len(s.ids)
		s.at[token] = i
		s.ids = append(s.ids, token)
		s.counts = append(s.counts, 0)
	}
	return i
}

func (s *penalties) add(token int32) {
	if s.at != nil {
		s.counts[s.see(token)]++
	}
}

func (s *penalties) apply(logits []float32) {
	s.biasSaved = s.biasSaved[:0]
	for _, t := range s.biased {
		s.biasSaved = append(s.biasSaved, logits[t])
		logits[t] += s.bias[t]
	}
	s.saved = s.saved[:0]
	for i, t := range s.ids {
		v := logits[t]
		s.saved = append(s.saved, v)
		if v > 0 {
			v /= s.rep
		} else {
			v *= s.rep
		}
		if n := s.counts[i]; n > 0 {
			v -= s.freq*float32(n) + s.pres
		}
		logits[t] = v
	}
}

func (s *penalties) undo(logits []float32) {
	for i, v := range s.saved {
		logits[s.ids[i]] = v
	}
	for i, v := range s.biasSaved {
		logits[s.biased[i]] = v
	}
	s.saved, s.biasSaved = s.saved[:0], s.biasSaved[:0]
}
