package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// shaken returns a model with random numbers in every weight, so that no gradient is zero because
// of a symmetry in the initialisation.
func shaken(t testing.TB, s Shape, seed uint64) *Model {
	t.Helper()
	m, err := New(s, seed)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 7))
	for i := range m.layout.params {
		p := &m.layout.params[i]
		switch p.role {
		case roleNorm:
			for j := range m.values(p) {
				m.values(p)[j] = 1 + 0.3*float32(rng.NormFloat64())
			}
		case roleEmbed:
			normal(rng, m.values(p), 0.4)
		default:
			normal(rng, m.values(p), 1/math.Sqrt(float64(p.cols)))
		}
	}
	return m
}

// texts makes sequences of these lengths with weights of every sign, including zero.
func texts(s Shape, seed uint64, lengths ...int) []Sequence {
	rng := rand.New(rand.NewPCG(seed, 11))
	var out []Sequence
	for _, n := range lengths {
		var q Sequence
		for range n {
			q.Tokens = append(q.Tokens, int32(rng.IntN(s.Vocab)))
			q.Weights = append(q.Weights, []float32{0, 0, 1, 0.05, 1, -0.5}[rng.IntN(6)])
		}
		out = append(out, q)
	}
	return out
}

var gradientShapes = map[string]Shape{
	"experts": {Vocab: 23, Dim: 12, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 6, Experts: 4, Active: 2, FF: 10, Context: 100},
	"dense":   {Vocab: 17, Dim: 8, Layers: 2, Heads: 3, KVHeads: 1, HeadDim: 4, FF: 14, Context: 100, RopeBase: 500},
	"one":     {Vocab: 9, Dim: 6, Layers: 1, Heads: 2, KVHeads: 2, HeadDim: 2, Experts: 3, Active: 1, FF: 5, Context: 100},
}

// TestGradients compares every gradient with central differences of the reference, in double
// precision. The sequences are spread over several passes of several workers; one is longer than a
// block of attention.
//
// Evidence: training · Every gradient matches a second computation
func TestGradients(t *testing.T) {
	for name, shape := range gradientShapes {
		t.Run(name, func(t *testing.T) {
			m := shaken(t, shape, 3)
			tr, err := NewTrainer(m, Config{Workers: 2, MicroTokens: 1000, Balance: 0.3})
			if err != nil {
				t.Fatal(err)
			}
			defer tr.Close()
			batch := texts(shape, 5, 5, blockTokens+9, 1, 12)
			if name == "experts" {
				batch = texts(shape, 5, 5, 1, 17) // the reference is slow, and another shape already covers the long sequence
			}
			if shape.Experts > 0 {
				// The balancing loss uses the expert shares of a pass: they equal those of the
				// reference only if there is a single pass.
				tr.cfg.Workers, tr.workers, tr.shares, tr.load = 1, tr.workers[:1], tr.shares[:1], tr.load[:1]
			}
			stats, err := tr.run(batch, true)
			if err != nil {
				t.Fatal(err)
			}
			tr.reduce.run()
			ref := newReference(m, tr.cfg.Balance)
			want := ref.loss(batch)
			got := stats.Loss
			if shape.Experts > 0 {
				got += tr.cfg.Balance * stats.Balance * float64(shape.Layers)
			}
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

func newReference(m *Model, balance float64) *reference {
	ref := &reference{s: m.shape, l: m.layout, balance: balance, w: make([]float64, len(m.weights))}
	for i, v := range m.weights {
		ref.w[i] = float64(v)
	}
	return ref
}

// checkGradient compares all gradients of a parameter by their distance relative to their length.
// Float32 sums agree to about 1e-6; a wrong factor or a forgotten term causes a much larger
// difference.
func checkGradient(t *testing.T, ref *reference, batch []Sequence, p *param, got []float32) {
	t.Helper()
	const h = 1e-5
	diff, length := 0.0, 0.0
	for i := 0; i < len(got); i += 1 + len(got)/16 { // sample large parameters to keep the test short
		w := &ref.w[p.at+i]
		old := *w
		*w = old + h
		up := ref.loss(batch)
		*w = old - h
		down := ref.loss(batch)
		*w = old
		want := (up - down) / (2 * h)
		diff += (float64(got[i]) - want) * (float64(got[i]) - want)
		length += want * want
	}
	if length == 0 && diff == 0 && p.role == roleMatrix {
		return // the weights belong to an expert that no token chose
	}
	if diff, length = math.Sqrt(diff), math.Sqrt(length); !(diff <= 1e-4*length) {
		t.Errorf("%s, part %d: gradient is off by %.2g of %.2g", p.name, p.expert, diff, length)
	}
}

// TestGradientsOfDroppedTokens checks that tokens for which an expert has no room bypass it, in the
// forward and the backward pass.
func TestGradientsOfDroppedTokens(t *testing.T) {
	shape := gradientShapes["experts"]
	m := shaken(t, shape, 3)
	tr, err := NewTrainer(m, Config{Workers: 1, Balance: 0.3, Capacity: 0.8, Drop: true})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	batch := texts(shape, 5, 15)
	stats, err := tr.run(batch, true)
	if err != nil {
		t.Fatal(err)
	}
	tr.reduce.run()
	ref := newReference(m, tr.cfg.Balance)
	ref.most = 6 // 0.8 · 15 tokens · 2 of 4 experts
	want := ref.loss(batch)
	if got := stats.Loss + tr.cfg.Balance*stats.Balance*float64(shape.Layers); math.Abs(got-want) > 2e-6*(1+math.Abs(want)) {
		t.Errorf("loss %v, want %v", got, want)
	}
	over := 0
	for _, layer := range ref.taken {
		for _, n := range layer {
			over += max(0, n-ref.most)
		}
	}
	if want := float64(over) / float64(15*shape.Layers*shape.Active); over == 0 || stats.Overflow != want {
		t.Errorf("overflow %v, want %v", stats.Overflow, want)
	}
	for i := range m.layout.params {
		p := &m.layout.params[i]
		checkGradient(t, ref, batch, p, tr.workers[0].grads[p.at:p.at+p.size()])
	}
}

// Evidence: training · Every gradient matches a second computation
func TestGradientCheckCanFail(t *testing.T) {
	shape := gradientShapes["dense"]
	m := shaken(t, shape, 3)
	ref, batch := newReference(m, 0), texts(shape, 5, 9)
	p := &m.layout.params[2]
	fake := &testing.T{}
	checkGradient(fake, ref, batch, p, make([]float32, p.size()))
	if !fake.Failed() {
		t.Fatal(fmt.Sprint("zeros pass for the gradient of ", p.name))
	}
}
