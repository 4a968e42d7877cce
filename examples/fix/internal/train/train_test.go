package train

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/engine/tensor"
	"github.com/luthier-dev/luthier/internal/tier"
)

func TestMain(m *testing.M) { tier.Main(m) }

// copies is a task that only attention can learn: a text, a mark, and the same text again. Only the
// copy has a weight.
type copies struct{ vocab, length, count int }

func (c copies) Len() int { return c.count }

func (c copies) Read(i int, dst *Sequence) {
	rng := rand.New(rand.NewPCG(uint64(i), 5))
	dst.Tokens, dst.Weights = append(dst.Tokens[:0], 0), append(dst.Weights[:0], 0)
	n := 2 + rng.IntN(c.length-1)
	for range n {
		dst.Tokens, dst.Weights = append(dst.Tokens, int32(2+rng.IntN(c.vocab-2))), append(dst.Weights, 0)
	}
	dst.Tokens, dst.Weights = append(dst.Tokens, 1), append(dst.Weights, 0)
	for j := range n {
		dst.Tokens, dst.Weights = append(dst.Tokens, dst.Tokens[1+j]), append(dst.Weights, 1)
	}
}

// microPlan returns the plan of a run of a few seconds.
func microPlan(dir string, tokens int64) Plan {
	return Plan{
		Out: dir, Shape: Micro(16), Seed: 3, Tokens: tokens, Batch: 1024, EvalEvery: 25,
		Config: Config{Workers: 2, Rate: 0.01, MicroTokens: 300},
		Data:   []Mixed{{Source: copies{16, 8, 5000}, Share: 0.75, Name: "short"}, {Source: copies{16, 14, 5000}, Share: 0.25, Name: "long"}},
		Warn:   func(err error) { panic(err) },
	}
}

// Evidence: training · Training lowers the loss and draws its curve
func TestLossFalls(t *testing.T) {
	for name, rounded := range map[string]bool{"float32": false, "bfloat16": true} {
		t.Run(name, func(t *testing.T) { testLossFalls(t, rounded) })
	}
}

func testLossFalls(t *testing.T, rounded bool) {
	plan := microPlan(t.TempDir(), 300_000)
	plan.Config.BFloat16 = rounded
	var held Sequence
	copies{16, 8, 1}.Read(99_999, &held)
	plan.Valid = []Validation{{Name: "held out", Sequences: []Sequence{held}}}
	points, err := Run(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	first, last := points[0], points[len(points)-1]
	t.Logf("loss %.3f → %.3f, hits %.2f → %.2f, load %.2f", first.Loss, last.Loss, first.Accuracy, last.Accuracy, last.Load)
	if !(last.Loss < first.Loss/2) || last.Accuracy < 0.7 {
		t.Errorf("loss %.3f → %.3f with %.0f%% of the decisions hit: it has not learnt to copy", first.Loss, last.Loss, 100*last.Accuracy)
	}
	if last.Done != 1 || last.Rate > 0.05 {
		t.Errorf("the run ended at %v of its length with a rate of %v", last.Done, last.Rate)
	}
	if len(last.Valid) != 1 || last.Valid[0].Loss > 1.5 {
		t.Errorf("evaluation at the end: %+v", last.Valid)
	}
	for _, name := range []string{CheckpointFile, CurvePNG, CurveHTML} {
		if info, err := os.Stat(filepath.Join(plan.Out, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestResumeIsExact checks that a run that was stopped and resumed equals a run without a stop, bit
// for bit.
//
// Evidence: training · Training resumes to the bit, also after a kill
func TestResumeIsExact(t *testing.T) {
	whole, halves := microPlan(t.TempDir(), 40_000), microPlan(t.TempDir(), 40_000)
	if _, err := Run(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		plan, steps := halves, 0
		plan.Resume = i > 0
		plan.PointEvery = time.Nanosecond // one report per step
		plan.Report = func(Point, time.Duration) {
			if steps++; steps == 9 && i < 2 {
				cancel()
			}
		}
		_, err := Run(ctx, plan)
		cancel()
		if i < 2 && !errors.Is(err, context.Canceled) {
			t.Fatalf("a stopped run ended with %v", err)
		}
		if i == 2 && err != nil {
			t.Fatal(err)
		}
	}
	a, b := loadAll(t, whole), loadAll(t, halves)
	if a.steps != b.steps || a.steps < 30 {
		t.Errorf("%d steps in one go, %d in parts", a.steps, b.steps)
	}
	for name, pair := range map[string][2][]float32{
		"weights": {a.model.weights, b.model.weights}, "momentum": {a.optim.momentum, b.optim.momentum}, "squares": {a.optim.square, b.optim.square},
	} {
		if !cmp.Equal(pair[0], pair[1]) {
			t.Errorf("%s differ", name)
		}
	}
}

func loadAll(t *testing.T, plan Plan) *Trainer {
	t.Helper()
	tr, err := LoadTrainer(filepath.Join(plan.Out, CheckpointFile), plan.Config, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.Close)
	return tr
}

func TestRunRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := Run(t.Context(), microPlan(dir, 2000)); err != nil {
		t.Fatal(err)
	}
	for want, edit := range map[string]func(*Plan){
		"holds the checkpoint of another run": func(p *Plan) { p.Out = dir },
		"nothing to go on with":               func(p *Plan) { p.Resume = true },
		"no length of a run":                  func(p *Plan) { p.Tokens = 0 },
		"there are none":                      func(p *Plan) { p.Data = nil },
		"there are wsd and cosine":            func(p *Plan) { p.Schedule.Kind = "steps" },
		"go on with the same":                 func(p *Plan) { p.Out, p.Resume, p.Seed = dir, true, 9 },
		"the run had 2 data files":            func(p *Plan) { p.Out, p.Resume, p.Data = dir, true, p.Data[:1] },
		"do not divide":                       func(p *Plan) { p.Shape.KVHeads = 3 },
		"the share of":                        func(p *Plan) { p.Data = []Mixed{{Source: copies{9, 3, 1}, Share: -1}} },
		"no such file":                        func(p *Plan) { p.Init = filepath.Join(dir, "missing") },
	} {
		plan := microPlan(t.TempDir(), 2000)
		edit(&plan)
		if _, err := Run(t.Context(), plan); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

// TestStepSkipsNumbersThatAreNone checks that a step with a gradient that is not finite changes
// nothing.
func TestStepSkipsNumbersThatAreNone(t *testing.T) {
	m := shaken(t, Micro(16), 1)
	tr, err := NewTrainer(m, Config{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	batch := texts(m.shape, 1, 20, 30)
	m.weights[m.layout.norm] = float32(math.Inf(1))
	before := append([]float32(nil), m.weights...)
	s, err := tr.Step(batch, 1)
	if err != nil || !s.Skipped || !cmp.Equal(before, m.weights) {
		t.Errorf("skipped %v, error %v", s.Skipped, err)
	}
	m.weights[m.layout.norm] = 1
	if s, err = tr.Step(batch, 1); err != nil || s.Skipped || s.Step != 1 || cmp.Equal(before, m.weights) {
		t.Errorf("after it: %+v, %v", s, err)
	}
}

func TestStepRefuses(t *testing.T) {
	m := shaken(t, Micro(16), 1)
	tr, err := NewTrainer(m, Config{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	long := make([]int32, m.shape.Context+1)
	for want, batch := range map[string][]Sequence{
		"nothing to learn":      {{Tokens: []int32{1, 2}, Weights: []float32{1, 0}}},
		"with 1 weights":        {{Tokens: []int32{1, 2}, Weights: []float32{1}}},
		"the vocabulary has 16": {{Tokens: []int32{1, 16}, Weights: []float32{0, 1}}},
		"fit the context":       {{Tokens: long, Weights: make([]float32, len(long))}},
		"weight 1 is NaN":       {{Tokens: []int32{1, 2}, Weights: []float32{0, float32(math.NaN())}}},
	} {
		if _, err := tr.Step(batch, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

// TestBFloat16Gradient checks that rounded operands do not change the direction of the gradient,
// except for tokens whose choice between two experts is close.
//
// Evidence: training · Every gradient matches a second computation
func TestBFloat16Gradient(t *testing.T) {
	gradient := func(rounded bool) []float32 {
		m := shaken(t, Shape{Vocab: 64, Dim: 96, Layers: 3, Heads: 3, KVHeads: 1, HeadDim: 32, Experts: 4, Active: 2, FF: 96, Context: 256}, 1)
		tr, err := NewTrainer(m, Config{Workers: 2, BFloat16: rounded})
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		if _, err := tr.run(texts(m.shape, 1, 200, 130, 250), true); err != nil {
			t.Fatal(err)
		}
		tr.reduce.run()
		return tr.workers[0].grads
	}
	x, y := gradient(false), gradient(true)
	xx, yy, xy := float64(tensor.Product(x, x)), float64(tensor.Product(y, y)), float64(tensor.Product(x, y))
	if cos := xy / math.Sqrt(xx*yy); !(cos > 0.99) || math.Abs(math.Sqrt(yy/xx)-1) > 0.01 {
		t.Errorf("the gradients' cosine is %v, their lengths %v and %v", cos, math.Sqrt(xx), math.Sqrt(yy))
	} else {
		t.Logf("cosine %v", cos)
	}
}

func TestStepAllocatesNothing(t *testing.T) {
	m := shaken(t, Micro(16), 1)
	tr, err := NewTrainer(m, Config{Workers: 2, BFloat16: true})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	batch := texts(m.shape, 1, 60, 130, 20)
	step := func() {
		if _, err := tr.Step(batch, 1e-3); err != nil {
			t.Fatal(err)
		}
	}
	step()
	step()
	// Routing changes the sizes that experts compute, so some memory may still grow; the returned
	// loads are also allocated.
	if n := testing.AllocsPerRun(10, step); n > 6 {
		t.Errorf("%v allocations in a step", n)
	}
}
