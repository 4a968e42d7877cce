package train

import "fmt"

// Sequence is one text to train on.
type Sequence struct {
	Tokens []int32
	// Weights[i] is the weight of the loss of predicting Tokens[i] from the tokens before it. 0
	// leaves the token out; a negative weight makes the token less likely, as policy gradients
	// need. Weights[0] is ignored, since nothing comes before the first token.
	Weights []float32
	// Answers, if not empty, holds the positions in Tokens at which several answers to one prompt
	// begin. The right answer comes first, then wrong ones, and the last ends at the end of Tokens.
	// The prompt is everything before the first answer. Each answer follows the prompt and does not
	// see the others. All answers have the same first token, which is given, since it is the last
	// token of the prompt. See Config.Contrast.
	Answers []int32
	// Apart disables the choice between answers: each is learned with its weights, as if it were
	// the only answer to the prompt.
	Apart bool
}

// decisionWeight is the smallest weight with which a token counts as a decision, for which hits are
// reported.
const decisionWeight = 0.995

func (s Sequence) check(shape Shape) error {
	if n := s.span(); n == 0 || n > shape.Context {
		return fmt.Errorf("a sequence of %d tokens; 1 to %d fit the context", n, shape.Context)
	}
	if err := s.checkAnswers(); err != nil {
		return err
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

// checkAnswers returns an error for answers that are empty or out of order, and for answers whose
// first token has a weight.
func (s Sequence) checkAnswers() error {
	for i, at := range s.Answers {
		end := s.end(i)
		if at < 1 || int(at) >= end || end > len(s.Tokens) {
			return fmt.Errorf("answer %d of %d begins at token %d of %d and ends at %d", i+1, len(s.Answers), at, len(s.Tokens), end)
		}
		if int(at) < len(s.Weights) && s.Weights[at] != 0 {
			return fmt.Errorf("answer %d of %d: its first token has the weight %v; it is given", i+1, len(s.Answers), s.Weights[at])
		}
	}
	return nil
}

// prompt returns the length of the prompt that all answers follow, or 0 for a sequence without
// answers.
func (s Sequence) prompt() int {
	if len(s.Answers) == 0 {
		return 0
	}
	return int(s.Answers[0])
}

// span returns the number of positions in s: those in its prompt plus those in its longest answer.
func (s Sequence) span() int {
	if len(s.Answers) == 0 {
		return len(s.Tokens)
	}
	longest := 0
	for i, at := range s.Answers {
		longest = max(longest, s.end(i)-int(at))
	}
	return s.prompt() + longest
}

// end returns the end of answer i: the start of the next, or the end of the tokens.
func (s Sequence) end(i int) int {
	if i+1 < len(s.Answers) {
		return int(s.Answers[i+1])
	}
	return len(s.Tokens)
}

// weight returns the sum of the absolute weights of the predictions in s, without answers that only
// serve as alternatives in a choice.
func (s Sequence) weight() float64 {
	sum, end := 0.0, s.end(0)
	if s.Apart {
		end = len(s.Weights)
	}
	for i, w := range s.Weights[:end] {
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
