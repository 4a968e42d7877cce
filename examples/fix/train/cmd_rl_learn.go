package main

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/luthier-dev/luthier/examples/fix/internal/dataset"
	"github.com/luthier-dev/luthier/examples/fix/internal/train"
	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
)

// rlTeach configures how the model learns from a round's answers.
type rlTeach struct {
	share  float64 // share of supervised data in the training tokens
	batch  int     // tokens per step of rejection sampling
	epochs int
}

func (t *rlTeach) flags(f *flag.FlagSet) {
	f.Float64Var(&t.share, "share", 0.3, "part of the tokens learned that comes from -data")
	f.IntVar(&t.batch, "batch", 8192, "`tokens` of a step (reject; grpo takes one step of all answers, on policy)")
	f.IntVar(&t.epochs, "epochs", 1, "times a round's answers are learned (reject)")
}

// learn updates the weights from the answers of a round.
func (r *rl) learn(rng *rand.Rand, prompts []*prompt, sum *rlRound) error {
	lessons, err := r.lessons(prompts)
	if err != nil {
		return err
	}
	sum.Lessons = len(lessons)
	if len(lessons) == 0 {
		return nil // in every group, all answers have the same reward, so there is nothing to learn
	}
	var mix *train.Mix
	if len(r.mixed) > 0 && r.teach.share > 0 {
		if mix, err = train.NewMix(r.mixed, r.trainer.Model().Shape().Context, rng.Uint64()); err != nil {
			return err
		}
	}
	epochs, batch := r.teach.epochs, r.teach.batch
	if r.method == methodGRPO {
		epochs, batch = 1, math.MaxInt
	}
	for range epochs {
		rng.Shuffle(len(lessons), func(i, j int) { lessons[i], lessons[j] = lessons[j], lessons[i] })
		for rest := lessons; len(rest) > 0; {
			n, tokens := 0, 0
			for ; n < len(rest) && tokens < batch; n++ {
				tokens += len(rest[n].Tokens)
			}
			step := slices.Clone(rest[:n])
			if mix != nil {
				step = append(step, mix.Batch(int(float64(tokens)*r.teach.share/(1-r.teach.share)))...)
			}
			stats, err := r.trainer.Step(step, 1)
			if err != nil {
				return err
			}
			sum.step(stats)
			rest = rest[n:]
		}
	}
	return nil
}

// lessons makes the training sequences of a round.
func (r *rl) lessons(prompts []*prompt) ([]train.Sequence, error) {
	var out []train.Sequence
	for _, p := range prompts {
		list, err := r.lessonsOf(p)
		if err != nil {
			return nil, fmt.Errorf("learn from answers about %s: %w", p.task.ID, err)
		}
		out = append(out, list...)
	}
	return out, nil
}

// lessonsOf makes a sequence from every distinct answer that the model can learn from. With GRPO,
// identical answers become one sequence with their total weight.
func (r *rl) lessonsOf(p *prompt) ([]train.Sequence, error) {
	if r.method == methodList || r.method == methodTail {
		return r.listOf(p)
	}
	gains, key := rarity(p.answers), func(a *answer) string { return a.text }
	if r.method == methodGRPO {
		gains, key = advantages(p.answers), func(a *answer) string { return fmt.Sprint(a.tokens) }
	}
	gain := map[string]float64{}
	for i := range p.answers {
		if r.method == methodGRPO {
			gain[key(&p.answers[i])] += gains[i]
		} else {
			gain[key(&p.answers[i])] = gains[i]
		}
	}
	var out []train.Sequence
	for i := range p.answers {
		a := &p.answers[i]
		g := gain[key(a)]
		delete(gain, key(a)) // each distinct answer only once
		if g == 0 || a.text == "" {
			continue
		}
		e, err := dataset.Encode(r.tok, p.state.Prompt(), a.text, 0)
		if err != nil {
			return nil, err
		}
		s := sequenceOf(e, g)
		if r.method == methodGRPO {
			s = sampled(r.tok, e, a.tokens, g)
		}
		if len(s.Tokens) <= r.trainer.Model().Shape().Context {
			out = append(out, s)
		}
	}
	return out, nil
}

// rarity returns the weights of answers in rejection sampling. The rarer right answers are in their
// group, the higher their weight, so that repairs that the model already finds often do not
// outweigh new ones. Other answers have no weight.
func rarity(answers []answer) []float64 {
	out, right := make([]float64, len(answers)), 0
	for _, a := range answers {
		if a.counts && a.reward == rewardRight {
			right++
		}
	}
	for i, a := range answers {
		if a.counts && a.reward == rewardRight {
			out[i] = float64(len(answers)-right+1) / float64(len(answers))
		}
	}
	return out
}

// advantages returns the weights of answers in GRPO (Shao et al., arXiv:2402.03300): the difference
// between their reward and the group's mean, in standard deviations. The answers come from the
// current weights and are used for one step only, so there is no probability ratio to clip.
func advantages(answers []answer) []float64 {
	const eps = 1e-4
	out := make([]float64, len(answers))
	n, mean, square := 0.0, 0.0, 0.0
	for _, a := range answers {
		if a.counts {
			n, mean, square = n+1, mean+a.reward, square+a.reward*a.reward
		}
	}
	if n < 2 {
		return out
	}
	mean /= n
	std := math.Sqrt(max(0, square/n-mean*mean))
	if std < eps {
		return out
	}
	for i, a := range answers {
		if a.counts {
			out[i] = (a.reward - mean) / (std + eps)
		}
	}
	return out
}

// sequenceOf returns the sequence of an example, with the weights of its answer multiplied by gain.
func sequenceOf(e dataset.Example, gain float64) train.Sequence {
	s := train.Sequence{Tokens: make([]int32, len(e.Tokens)), Weights: make([]float32, len(e.Tokens))}
	for i, t := range e.Tokens {
		s.Tokens[i], s.Weights[i] = int32(t), float32(float64(e.Weights[i])/100*gain)
	}
	return s
}

// sampled returns the example with the sampled tokens of its answer, which may split the text
// differently from the tokenizer. Only decisions have a weight.
func sampled(tok *tokenizer.Tokenizer, e dataset.Example, tokens []int32, gain float64) train.Sequence {
	begin := len(e.Tokens)
	for begin > 0 && e.Weights[begin-1] > 0 { // the prompt has no weight
		begin--
	}
	var decided []bool // for every byte of the answer
	var piece []byte
	for i := begin; i < len(e.Tokens); i++ {
		piece = tok.AppendPiece(piece[:0], int32(e.Tokens[i]))
		for range piece {
			decided = append(decided, e.Weights[i] >= dataset.Decision)
		}
	}
	s := train.Sequence{}
	for _, t := range e.Tokens[:begin] {
		s.Tokens, s.Weights = append(s.Tokens, int32(t)), append(s.Weights, 0)
	}
	at := 0
	for _, t := range tokens {
		piece = tok.AppendPiece(piece[:0], t)
		w := float32(0)
		if end := min(at+len(piece), len(decided)); at < end && slices.Contains(decided[at:end], true) {
			w = float32(gain)
		}
		at += len(piece)
		s.Tokens, s.Weights = append(s.Tokens, t), append(s.Weights, w)
	}
	return s
}
