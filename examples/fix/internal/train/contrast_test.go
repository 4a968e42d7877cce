package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// lists makes sequences that have a prompt and answers of the given lengths, which all begin with
// the same token.
func lists(s Shape, seed uint64, prompt int, answers ...int) []Sequence {
	rng := rand.New(rand.NewPCG(seed, 13))
	var q Sequence
	add := func(weight float32) {
		q.Tokens, q.Weights = append(q.Tokens, int32(rng.IntN(s.Vocab))), append(q.Weights, weight)
	}
	for range prompt {
		add([]float32{0, 0, 0.1}[rng.IntN(3)])
	}
	for _, n := range answers {
		q.Answers = append(q.Answers, int32(len(q.Tokens)))
		q.Tokens, q.Weights = append(q.Tokens, 3), append(q.Weights, 0)
		for range n {
			add([]float32{0, 0.2, 1}[rng.IntN(3)])
		}
	}
	return []Sequence{q}
}

// TestGradientsOfAnswers compares the gradients of lists of answers with central differences of a
// reference that computes every answer separately.
func TestGradientsOfAnswers(t *testing.T) {
	for _, name := range []string{"experts", "dense"} {
		t.Run(name, func(t *testing.T) {
			shape := gradientShapes[name]
			m := shaken(t, shape, 3)
			tr, err := NewTrainer(m, Config{Workers: 2, MicroTokens: 1000, Balance: -1, Contrast: 0.7})
			if err != nil {
				t.Fatal(err)
			}
			defer tr.Close()
			apart := lists(shape, 4, 3, 2, 3)
			apart[0].Apart = true
			batch := slices.Concat(texts(shape, 5, 4), lists(shape, 1, 5, 4, 3, 2), apart, lists(shape, 2, 4, 3))
			if name == "dense" {
				batch = slices.Concat(texts(shape, 5, 6), lists(shape, 3, blockTokens-3, 7, 4), apart) // longer than a block of attention
			}
			stats, err := tr.run(batch, true)
			if err != nil {
				t.Fatal(err)
			}
			tr.reduce.run()
			ref := newReference(m, 0)
			ref.contrast = 0.7
			want := ref.loss(batch)
			got := stats.Loss + 0.7*stats.Contrast*float64(stats.Lists)/stats.Weight
			if d := math.Abs(got - want); d > 2e-6*math.Abs(want)+2e-6 {
				t.Errorf("loss %v, want %v", got, want)
			}
			for i := range m.layout.params {
				p := &m.layout.params[i]
				checkGradient(t, ref, batch, p, tr.workers[0].grads[p.at:p.at+p.size()])
			}
		})
	}
}
