package scheduler

// reject accepts or replaces a token x that was drawn from the distribution q, so that the outcome
// follows the distribution p of these logits. It accepts x with probability min(1, p(x)/q(x)), and
// otherwise draws from max(0, p−q) (Leviathan et al. 2023, theorem 1; Chen et al. 2023).
func (s *sampler) reject(logits []float32, pos int, x int32, q []cand) (int32, error) {
	s.pen.apply(logits)
	defer s.pen.undo(logits)
	if err := s.distribution(logits); err != nil {
		return 0, err
	}
	p := s.cands
	sumP, sumQ := weight(p), weight(q)
	px, qx := 0.0, 0.0
	for i := range p {
		if p[i].id == x {
			px = p[i].w / sumP
			break
		}
	}
	if s.other == nil {
		s.other = make(map[int32]float64, len(q))
	}
	clear(s.other)
	for i := range q {
		s.other[q[i].id] = q[i].w / sumQ
	}
	qx = s.other[x]
	if uniform(s.p.Seed, pos, streamAccept)*qx < px {
		return x, nil
	}
	left := 0.0
	for i := range p {
		p[i].w = max(0, p[i].w/sumP-s.other[p[i].id])
		left += p[i].w
	}
	if left == 0 { // p equals q except for rounding
		return x, nil
	}
	return draw(p, uniform(s.p.Seed, pos, streamResidual)), nil
}

func weight(cands []cand) float64 {
	sum := 0.0
	for i := range cands {
		sum += cands[i].w
	}
	return sum
}
