package train

import "fmt"

// Sequence is one text to learn from.
type Sequence struct {
	Tokens []int32
	// Weights[i] is the weight of the loss of predicting Tokens[i] from the tokens before it. 0 leaves the token out; a
	// negative weight makes the token less likely, as policy gradients need. Weights[0] means nothing: nothing is before
	// the first token.
	Weights []float32
}

// decisionWeight is from which weight on a token counts as a decision, whose hits are reported.
const decisionWeight = 0.995

func (s Sequence) check(shape Shape) error {
	if len(s.Tokens) == 0 || len(s.Tokens) > shape.Context {
		return fmt.Errorf("a sequence of %d tokens; 1 to %d fit the context", len(s.Tokens), shape.Context)
	}
	if len(s.Weights) != len(s.Tokens) {
		return fmt.Errorf("a sequence of %d tokens with %d weights", len(s.Tokens), len(s.Weights))
	}
	for i, t := range s.Tokens {
		if t < 0 || int(t) >= shape.Vocab {
			return fmt.Errorf("token %d is %d; the vocabulary has %d", i, t, shape.Vocab)
		}
		if w := s.Weights[i]; w-w != 0 {
			return fmt.Errorf("weight %d is %v", i, w)
		}
	}
	return nil
}

// weight is the sum of the absolute weights of what s predicts.
func (s Sequence) weight() float64 {
	sum := 0.0
	for i, w := range s.Weights {
		if i > 0 {
			sum += abs64(float64(w))
		}
	}
	return sum
}

func abs64(v float64) float64 {
	if v < 0 {
		return -v
	}
	return v
}
