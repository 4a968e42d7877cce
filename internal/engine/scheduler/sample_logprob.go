package scheduler

import (
	"math"
)

// logProbs returns the log-probability of a token, and those of the n likeliest tokens. The
// distribution is that of the network, before temperature, penalties and mask.
func (s *sampler) logProbs(logits []float32, token int32, n int) (float32, []TokenProb, error) {
	z, err := normalizer(logits)
	if err != nil {
		return 0, nil, err
	}
	chosen := float32(float64(logits[token]) - z)
	if n <= 0 {
		return chosen, nil, nil
	}
	if err := s.topK(logits, min(n, len(logits))); err != nil {
		return 0, nil, err
	}
	top := make([]TokenProb, len(s.cands))
	for i, c := range s.cands {
		top[i] = TokenProb{ID: c.id, LogProb: float32(float64(c.logit) - z)}
	}
	return chosen, top, nil
}

// normalizer returns the logarithm of the sum of all weights. A logit minus this number is a
// log-probability.
func normalizer(logits []float32) (float64, error) {
	_, best, err := largest(logits)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, v := range logits {
		sum += expNeg(float64(v - best))
	}
	return float64(best) + math.Log(sum), nil
}
