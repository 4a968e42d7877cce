package scheduler

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// errNothingAllowed reports that every logit is minus infinity.
var errNothingAllowed = errors.New("scheduler: generate: no token is allowed here; the constraint or the bias excludes the whole vocabulary")

// largest returns the lowest id among the largest logits. NaN is an error.
func largest(logits []float32) (int32, float32, error) {
	best, at := float32(math.Inf(-1)), -1
	i := 0
	// A block without a larger logit (or a NaN, for which every comparison is false) is skipped
	// with four comparisons.
	for ; i+4 <= len(logits); i += 4 {
		l := logits[i : i+4 : i+4]
		if l[0] <= best && l[1] <= best && l[2] <= best && l[3] <= best {
			continue
		}
		for j, v := range l {
			if !(v <= best) {
				if v != v {
					return 0, 0, nanError(i + j)
				}
				best, at = v, i+j
			}
		}
	}
	for ; i < len(logits); i++ {
		if v := logits[i]; !(v <= best) {
			if v != v {
				return 0, 0, nanError(i)
			}
			best, at = v, i
		}
	}
	if at < 0 {
		return 0, 0, errNothingAllowed
	}
	return int32(at), best, nil
}

func nanError(i int) error {
	return fmt.Errorf("%w: logit %d is NaN; the file's weights are damaged or overflow in this precision", ErrNaN, i)
}

// Candidates are dropped if their weight is below e^-tailNats times the weight of the best one:
// together they weigh less than the rounding error of the sum.
const (
	tailNats    = 40
	binsPerNat  = 8
	nucleusBins = tailNats*binsPerNat + 1
)

// distribution fills s.cands with the tokens that remain after temperature and truncation, with
// weights relative to that of the best one.
func (s *sampler) distribution(logits []float32) error {
	p := &s.p
	best, few, err := s.best(logits)
	if err != nil {
		return err
	}
	inv := 1 / float64(p.Temperature)
	floor := best - float32(tailNats*float64(p.Temperature))
	if p.MinP > 0 {
		floor = max(floor, minPFloor(best, p))
	}
	switch {
	case few:
		s.weigh(best, inv)
		if p.TopP > 0 && p.TopP < 1 {
			s.cutSorted(float64(p.TopP))
		}
		s.cutBelow(floor)
	case p.TopP > 0 && p.TopP < 1:
		s.gather(logits, best-float32(tailNats*float64(p.Temperature)))
		s.weigh(best, inv)
		s.nucleus(best, inv, float64(p.TopP))
		s.cutBelow(floor)
	default:
		s.gather(logits, floor)
		s.weigh(best, inv)
	}
	return nil
}

// best returns the largest logit, which must be a number. With top-k it also fills s.cands, and
// reports that in the result few.
func (s *sampler) best(logits []float32) (best float32, few bool, err error) {
	if few = s.p.TopK > 0 && s.p.TopK < len(logits); few {
		if err = s.topK(logits, s.p.TopK); err == nil {
			best = s.cands[0].logit
		}
	} else {
		_, best, err = largest(logits)
	}
	switch {
	case err != nil:
		return 0, few, err
	case math.IsInf(float64(best), 1):
		return 0, few, fmt.Errorf("%w: a logit is infinite", ErrNaN)
	case math.IsInf(float64(best), -1):
		return 0, few, errNothingAllowed
	}
	return best, few, nil
}

func minPFloor(best float32, p *SampleParams) float32 {
	return best + p.Temperature*float32(math.Log(float64(p.MinP)))
}

func (s *sampler) gather(logits []float32, floor float32) {
	s.cands = slices.Grow(s.cands[:0], len(logits))
	for i, v := range logits {
		if v >= floor {
			s.cands = append(s.cands, cand{id: int32(i), logit: v})
		}
	}
}

func (s *sampler) weigh(best float32, inv float64) {
	for i := range s.cands {
		c := &s.cands[i]
		c.w = expNeg(float64(c.logit-best) * inv)
	}
}

// cutBelow drops candidates whose logit is below floor; the best one always stays.
func (s *sampler) cutBelow(floor float32) {
	kept := s.cands[:0]
	for _, c := range s.cands {
		if c.logit >= floor || c.w == 1 {
			kept = append(kept, c)
		}
	}
	s.cands = kept
}

// byRank orders by descending logit, then by ascending id.
func byRank(a, b cand) int {
	if a.logit != b.logit {
		return cmp.Compare(b.logit, a.logit)
	}
	return cmp.Compare(a.id, b.id)
}

// topK fills s.cands with the first k tokens by rank, in order. It uses a heap whose root is the
// last of them, a threshold that few logits exceed. NaN is an error.
func (s *sampler) topK(logits []float32, k int) error {
	h := slices.Grow(s.cands[:0], k)
	for i, v := range logits[:k] {
		if v != v {
			return nanError(i)
		}
		h = append(h, cand{id: int32(i), logit: v})
	}
	for i := k/2 - 1; i >= 0; i-- {
		siftDown(h, i)
	}
	root := h[0].logit
	for i := k; i < len(logits); {
		if l := logits[i:]; len(l) >= 4 && l[0] <= root && l[1] <= root && l[2] <= root && l[3] <= root {
			i += 4
			continue
		}
		if v := logits[i]; !(v <= root) { // an equal logit has a higher id and ranks lower
			if v != v {
				return nanError(i)
			}
			h[0] = cand{id: int32(i), logit: v}
			siftDown(h, 0)
			root = h[0].logit
		}
		i++
	}
	slices.SortFunc(h, byRank)
	s.cands = h
	return nil
}

func siftDown(h []cand, i int) {
	for {
		last := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h); c++ {
			if byRank(h[c], h[last]) > 0 {
				last = c
			}
		}
		if last == i {
			return
		}
		h[i], h[last] = h[last], h[i]
		i = last
	}
}

// cutSorted keeps the first of the sorted candidates whose weights sum to the fraction p of the
// total.
func (s *sampler) cutSorted(p float64) {
	sum := 0.0
	for i := range s.cands {
		sum += s.cands[i].w
	}
	goal := p * sum
	for i := range s.cands {
		if goal -= s.cands[i].w; goal <= 0 {
			s.cands = s.cands[:i+1]
			return
		}
	}
}

// nucleus keeps the likeliest candidates whose weights sum to the fraction p of the total, in a
// fixed but unspecified order. Only the bin of weights in which the sum is reached needs sorting.
func (s *sampler) nucleus(best float32, inv, p float64) {
	clear(s.bins[:])
	sum := 0.0
	for i := range s.cands {
		c := &s.cands[i]
		s.bins[binOf(best, c.logit, inv)] += c.w
		sum += c.w
	}
	goal, edge := p*sum, 0
	for edge < nucleusBins-1 && s.bins[edge] < goal {
		goal -= s.bins[edge]
		edge++
	}
	n := 0
	for i := range s.cands { // whole bins first, then the edge bin
		if binOf(best, s.cands[i].logit, inv) < edge {
			s.cands[n], s.cands[i] = s.cands[i], s.cands[n]
			n++
		}
	}
	m := n
	for i := n; i < len(s.cands); i++ {
		if binOf(best, s.cands[i].logit, inv) == edge {
			s.cands[m], s.cands[i] = s.cands[i], s.cands[m]
			m++
		}
	}
	slices.SortFunc(s.cands[n:m], byRank)
	for i := n; i < m; i++ {
		if goal -= s.cands[i].w; goal <= 0 {
			m = i + 1
			break
		}
	}
	s.cands = s.cands[:m]
}

func binOf(best, logit float32, inv float64) int {
	return min(int(float64(best-logit)*inv*binsPerNat), nucleusBins-1)
}

// expNeg computes e^x for x ≤ 0 with a relative error of 1e-8, several times faster than math.Exp.
// It sets 2^k in the exponent bits, and computes the rest with a polynomial whose terms are grouped
// in pairs, so that they are computed in parallel.
func expNeg(x float64) float64 {
	if x < -700 {
		return 0
	}
	const log2e, ln2 = 1.4426950408889634, 0.6931471805599453
	k := int64(x*log2e - 0.5) // rounds to the nearest integer, because x is negative
	r := x - float64(k)*ln2
	r2 := r * r
	// Taylor to r^7; |r| ≤ 0.35.
	p := (1 + r) + r2*(1./2+r*(1./6)) + r2*r2*((1./24+r*(1./120))+r2*(1./720+r*(1./5040)))
	return p * math.Float64frombits(uint64(1023+k)<<52)
}
