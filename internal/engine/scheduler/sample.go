package scheduler

import (
	"fmt"
	"math"
)

// SampleParams controls how a token is chosen from logits. The zero value takes the likeliest
// token, or the lowest id if several are equally likely.
//
// The steps are, in this order: bias and penalties, temperature, top-k, top-p, min-p, as in Hugging
// Face's transformers and vLLM. A constraint's mask comes last; see sampler.masked.
type SampleParams struct {
	Temperature float32 // 0 means greedy
	TopK        int     // keep the k likeliest; 0 means all
	TopP        float32 // keep the likeliest until the sum of probabilities reaches p; 0 or 1 means all (Holtzman et al. 2020)
	MinP        float32 // keep those at least MinP times as likely as the likeliest; 0 means all
	// Seed fixes the outcome: the same seed, prompt and parameters result in the same text,
	// whatever else is running. Two requests with equal seeds use the same random numbers at the
	// same positions.
	Seed uint64

	RepetitionPenalty float32           // divides positive and multiplies negative logits of tokens in prompt or text (Keskar et al. 2019); 0 or 1 means none
	FrequencyPenalty  float32           // subtracted once per occurrence of the token in the generated text
	PresencePenalty   float32           // subtracted once if a token was generated
	Bias              map[int32]float32 // added to logits
}

func (p *SampleParams) validate(vocab int) error {
	bad := func(name string, v any, want string) error {
		return fmt.Errorf("%w: %s is %v; %s", ErrInvalid, name, v, want)
	}
	inRange := func(v, lo, hi float32) bool { return v >= lo && v <= hi }
	switch {
	case !inRange(p.Temperature, 0, 100):
		return bad("Temperature", p.Temperature, "it goes from 0 to 100")
	case p.TopK < 0:
		return bad("TopK", p.TopK, "it cannot be negative")
	case !inRange(p.TopP, 0, 1):
		return bad("TopP", p.TopP, "it goes from 0 to 1")
	case !inRange(p.MinP, 0, 1):
		return bad("MinP", p.MinP, "it goes from 0 to 1")
	case !inRange(p.RepetitionPenalty, 0, 100):
		return bad("RepetitionPenalty", p.RepetitionPenalty, "it goes from 0 to 100")
	case !inRange(p.FrequencyPenalty, -100, 100):
		return bad("FrequencyPenalty", p.FrequencyPenalty, "it goes from -100 to 100")
	case !inRange(p.PresencePenalty, -100, 100):
		return bad("PresencePenalty", p.PresencePenalty, "it goes from -100 to 100")
	}
	for t, b := range p.Bias {
		if t < 0 || int(t) >= vocab {
			return bad("a Bias token", t, fmt.Sprintf("the vocabulary has %d tokens", vocab))
		}
		if math.IsNaN(float64(b)) || math.IsInf(float64(b), 1) {
			return bad("a Bias", b, "it must be a number, or -Inf to ban a token; to force one, ban the others or use a Constraint")
		}
	}
	return nil
}

// cand is a token that may be chosen; w is its unnormalised weight.
type cand struct {
	id    int32
	logit float32
	w     float64
}

// sampler chooses tokens of one sequence.
type sampler struct {
	p   SampleParams
	pen penalties
	*scratch
}

// scratch is memory used only within one call, so that the samplers of one goroutine can share it.
type scratch struct {
	cands []cand
	mask  []float32         // logits without the tokens that a constraint forbids
	other map[int32]float64 // the draft model's probabilities, for rejection sampling
	bins  [nucleusBins]float64
}

func newSampler(p SampleParams, prompt []int32, s *scratch) *sampler {
	return &sampler{p: p, pen: newPenalties(&p, prompt), scratch: s}
}

// committed updates the penalties with a generated token.
func (s *sampler) committed(token int32) { s.pen.add(token) }

// sample chooses the token at position pos of the sequence from its logits, which it leaves
// unchanged.
func (s *sampler) sample(logits []float32, pos int) (int32, error) {
	s.pen.apply(logits)
	defer s.pen.undo(logits)
	if s.p.Temperature == 0 {
		best, _, err := largest(logits)
		return best, err
	}
	if err := s.distribution(logits); err != nil {
		return 0, err
	}
	return draw(s.cands, uniform(s.p.Seed, pos, streamSample)), nil
}

// masked chooses among the allowed tokens, if the token that sample chose for the same logits and
// position is not allowed.
//
// It draws again, with different random numbers, from the distribution of sample restricted to the
// set A of allowed tokens. Together, the two draws follow that restricted distribution exactly: an
// allowed token x is drawn in the first draw with probability p(x), or in the second with
// (1−p(A))·p(x)/p(A), which add up to p(x)/p(A). If truncation (top-k, top-p, min-p) left no
// allowed token, the mask is applied before truncation.
func (s *sampler) masked(logits []float32, pos int, allowed []uint64) (int32, error) {
	s.pen.apply(logits)
	defer s.pen.undo(logits)
	if s.p.Temperature > 0 {
		if err := s.distribution(logits); err != nil {
			return 0, err
		}
		if keepAllowed(&s.cands, allowed) {
			return draw(s.cands, uniform(s.p.Seed, pos, streamMasked)), nil
		}
	}
	if cap(s.mask) < len(logits) {
		s.mask = make([]float32, len(logits))
	}
	s.mask = s.mask[:len(logits)]
	maskLogits(s.mask, logits, allowed)
	best, _, err := largest(s.mask)
	if err != nil || s.p.Temperature == 0 {
		return best, err
	}
	if err := s.distribution(s.mask); err != nil {
		return 0, err
	}
	return draw(s.cands, uniform(s.p.Seed, pos, streamMasked)), nil
}

func keepAllowed(cands *[]cand, allowed []uint64) bool {
	kept := (*cands)[:0]
	for _, c := range *cands {
		if allowed[c.id>>6]>>(c.id&63)&1 != 0 && c.w > 0 {
			kept = append(kept, c)
		}
	}
	*cands = kept
	return len(kept) > 0
}

func maskLogits(dst, logits []float32, allowed []uint64) {
	inf := float32(math.Inf(-1))
	for i := 0; i < len(logits); i += 64 {
		word, end := allowed[i>>6], min(i+64, len(logits))
		if word == 0 {
			for j := i; j < end; j++ {
				dst[j] = inf
			}
			continue
		}
		for j := i; j < end; j++ {
			if word>>(j&63)&1 != 0 {
				dst[j] = logits[j]
			} else {
				dst[j] = inf
			}
		}
	}
}

// draw returns the candidate at fraction u of the total weight.
func draw(cands []cand, u float64) int32 {
	sum := 0.0
	for i := range cands {
		sum += cands[i].w
	}
	u *= sum
	last := cands[0].id
	for i := range cands {
		if cands[i].w == 0 {
			continue
		}
		if last = cands[i].id; u < cands[i].w {
			return last
		}
		u -= cands[i].w
	}
	return last // rounding used up the rest
}
