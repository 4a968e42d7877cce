package scheduler

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// exact computes the distribution by its definition: sort everything, truncate, normalise. If
// allowed is nil, all tokens are allowed.
func exact(logits []float32, p SampleParams, allowed []uint64) map[int32]float64 {
	full := truncate(logits, p)
	if allowed == nil {
		return normal(full)
	}
	left := map[int32]float64{}
	for id, w := range full {
		if allowed[id>>6]>>(id&63)&1 != 0 {
			left[id] = w
		}
	}
	if len(left) == 0 {
		masked := make([]float32, len(logits))
		maskLogits(masked, logits, allowed)
		left = truncate(masked, p)
	}
	return normal(left)
}

func truncate(logits []float32, p SampleParams) map[int32]float64 {
	var c []cand
	for i, v := range logits {
		if !math.IsInf(float64(v), -1) {
			c = append(c, cand{id: int32(i), logit: v})
		}
	}
	slices.SortFunc(c, byRank)
	if p.TopK > 0 && p.TopK < len(c) {
		c = c[:p.TopK]
	}
	sum := 0.0
	for i := range c {
		c[i].w = math.Exp(float64(c[i].logit-c[0].logit) / float64(p.Temperature))
		sum += c[i].w
	}
	if p.TopP > 0 && p.TopP < 1 {
		goal := float64(p.TopP) * sum
		for i := range c {
			if goal -= c[i].w; goal <= 0 {
				c = c[:i+1]
				break
			}
		}
	}
	out := map[int32]float64{}
	for i := range c {
		if i == 0 || c[i].w >= float64(p.MinP) {
			out[c[i].id] = c[i].w
		}
	}
	return out
}

func normal(w map[int32]float64) map[int32]float64 {
	sum := 0.0
	for _, v := range w {
		sum += v
	}
	for id := range w {
		w[id] /= sum
	}
	return w
}

func someLogits(n int, seed uint64, ties bool) []float32 {
	l := make([]float32, n)
	for i := range l {
		l[i] = float32(6 * (uniform(seed, i, 0) + uniform(seed, i, 1) - 1))
		if ties {
			l[i] = float32(math.Round(float64(l[i])))
		}
	}
	return l
}

var paramSets = []SampleParams{
	{Temperature: 1},
	{Temperature: 0.3},
	{Temperature: 2, TopK: 7},
	{Temperature: 1, TopP: 0.5},
	{Temperature: 1, TopP: 0.9},
	{Temperature: 0.8, MinP: 0.2},
	{Temperature: 1.2, TopK: 20, TopP: 0.8},
	{Temperature: 1.2, TopK: 20, TopP: 0.95, MinP: 0.05},
	{Temperature: 1.5, TopP: 0.97, MinP: 0.1},
	{Temperature: 1, TopK: 1},
	{Temperature: 1, TopK: 5000, TopP: 0.01},
}

func TestDistribution(t *testing.T) {
	for pi, p := range paramSets {
		for seed := range uint64(20) {
			logits := someLogits(20+int(seed)*37, seed, seed%2 == 0)
			if seed%5 == 0 {
				logits[3] = inf(-1)
			}
			s := newSampler(p, nil, &scratch{})
			if err := s.distribution(logits); err != nil {
				t.Fatal(err)
			}
			got := map[int32]float64{}
			for _, c := range s.cands {
				if c.w > 0 {
					got[c.id] = c.w
				}
			}
			want := exact(logits, p, nil)
			for id, w := range normal(got) {
				if math.Abs(w-want[id]) > 1e-6 {
					t.Fatalf("set %d, seed %d: token %d has probability %v, want %v", pi, seed, id, w, want[id])
				}
			}
			if len(got) != len(want) {
				t.Fatalf("set %d, seed %d: %d tokens, want %d", pi, seed, len(got), len(want))
			}
		}
	}
}

// chiSquare returns the number of standard deviations between the counts and the expectation
// (Wilson and Hilferty 1931). Cells with an expectation below five are merged.
func chiSquare(counts map[int32]int, want map[int32]float64, n int) float64 {
	sum, cells, restWant, restGot := 0.0, 0, 0.0, 0
	add := func(got int, want float64) {
		sum += (float64(got) - want) * (float64(got) - want) / want
		cells++
	}
	for id, p := range want {
		if e := p * float64(n); e >= 5 {
			add(counts[id], e)
		} else {
			restWant += e
			restGot += counts[id]
		}
	}
	for id, c := range counts {
		if want[id] == 0 && c > 0 {
			return math.Inf(1) // an impossible outcome
		}
	}
	if restWant > 1 {
		add(restGot, restWant)
	}
	k := float64(cells - 1)
	if k == 0 {
		return 0
	}
	return (math.Cbrt(sum/k) - (1 - 2/(9*k))) / math.Sqrt(2/(9*k))
}

// draws returns the number of tokens that a test of a distribution draws.
func draws() int {
	if testing.Short() {
		return 3000
	}
	return 20000
}

// farOff is the number of standard deviations that only a wrong distribution reaches.
const farOff = 3.8

func TestSamplingFollowsTheDistribution(t *testing.T) {
	n := draws()
	for pi, p := range paramSets {
		logits := someLogits(60, uint64(pi), false)
		s := newSampler(p, nil, &scratch{})
		counts := map[int32]int{}
		for pos := range n {
			s.p.Seed = uint64(pos % 7)
			id, err := s.sample(logits, pos)
			if err != nil {
				t.Fatal(err)
			}
			counts[id]++
		}
		if z := chiSquare(counts, exact(logits, p, nil), n); z > farOff {
			t.Errorf("set %d: %.1f standard deviations off", pi, z)
		}
	}
}

// TestSampleThenMask checks that sampling first and masking only if the token is refused results in
// the masked distribution, which would not be so if the second draw reused the first random number.
func TestSampleThenMask(t *testing.T) {
	n := draws()
	allowed := []uint64{0x0f0f_3355_1234_8001}
	told := 0
	for pi, p := range paramSets {
		logits := someLogits(64, uint64(pi)+5, false)
		want := exact(logits, p, allowed)
		s := newSampler(p, nil, &scratch{})
		counts, wrong := map[int32]int{}, map[int32]int{}
		for pos := range n {
			id, err := s.sample(logits, pos)
			other := id
			if err == nil && allowed[id>>6]>>(id&63)&1 == 0 {
				if s.distribution(logits) == nil && keepAllowed(&s.cands, allowed) {
					other = draw(s.cands, uniform(s.p.Seed, pos, streamSample))
				}
				id, err = s.masked(logits, pos, allowed)
			}
			if err != nil {
				t.Fatal(err)
			}
			counts[id]++
			wrong[other]++
		}
		if z := chiSquare(counts, want, n); z > farOff {
			t.Errorf("set %d: %.1f standard deviations off", pi, z)
		}
		if chiSquare(wrong, want, n) > farOff {
			told++
		}
	}
	if told < len(paramSets)/2 {
		t.Errorf("the test can tell a wrong method with %d sets of parameters only", told)
	}
}

// TestRejection checks that accepting or replacing tokens drawn from another distribution results
// in the sampler's distribution.
func TestRejection(t *testing.T) {
	n := draws()
	for pi, p := range paramSets {
		for _, far := range []float32{0, 0.5, 3} {
			logits, guess := someLogits(40, uint64(pi), false), someLogits(40, uint64(pi), false)
			for i, v := range someLogits(40, uint64(pi)+99, false) {
				guess[i] += far * v
			}
			s, d := newSampler(p, nil, &scratch{}), newSampler(p, nil, &scratch{})
			counts, accepted := map[int32]int{}, 0
			for pos := range n {
				if err := d.distribution(guess); err != nil {
					t.Fatal(err)
				}
				x := draw(d.cands, uniform(0, pos, streamDraft))
				id, err := s.reject(logits, pos, x, d.cands)
				if err != nil {
					t.Fatal(err)
				}
				counts[id]++
				if id == x {
					accepted++
				}
			}
			pd, qd, overlap := exact(logits, p, nil), exact(guess, p, nil), 0.0
			for id, v := range pd {
				overlap += min(v, qd[id])
			}
			if z := chiSquare(counts, pd, n); z > farOff {
				t.Errorf("set %d, far %v: %.1f standard deviations off", pi, far, z)
			}
			if got := float64(accepted) / float64(n); math.Abs(got-overlap) > 3/math.Sqrt(float64(n)) {
				t.Errorf("set %d, far %v: accepted %.3f, want %.3f, the overlap", pi, far, got, overlap)
			}
		}
	}
}

// TestSpeculationKeepsTheDistribution checks that at temperature 1, the engine's text has the same
// distribution with a draft model as without, for both ways of accepting.
//
// Evidence: engine · Speculation does not change the answer
func TestSpeculationKeepsTheDistribution(t *testing.T) {
	const words = 5
	n := draws() / 2
	p := []int32{1, 2, 3}
	lm := func(scale float32) func([]int32, []float32) {
		return func(prefix []int32, l []float32) {
			for i := range l {
				l[i] = scale * float32(uniform(uint64(prefix[len(prefix)-1]), i+len(prefix)*16, 0))
			}
		}
	}
	sample := SampleParams{Temperature: 1, TopP: 0.95}
	want := map[int32]float64{} // probabilities of three tokens in a row
	logits := make([]float32, words)
	next := func(prefix []int32) map[int32]float64 {
		lm(3)(prefix, logits)
		return exact(logits, sample, nil)
	}
	for a, pa := range next(p) {
		for b, pb := range next(append(p[:3:3], a)) {
			for c, pc := range next(append(p[:3:3], a, b)) {
				want[a*25+b*5+c] = pa * pb * pc
			}
		}
	}
	for _, rejection := range []bool{false, true} {
		t.Run(fmt.Sprint("rejection ", rejection), func(t *testing.T) {
			draft := newDraftModel(newToy(t, words, 32, lm(2)), DraftConfig{Context: 512, MinProb: 0.25})
			e := toyEngine(t, newToy(t, words, 32, lm(3)), EngineConfig{Speculation: SpecConfig{Draft: draft, Rejection: rejection, FixedDraft: 2, NoLookup: true}})
			counts := map[int32]int{}
			for i := range n {
				sample.Seed = uint64(i)
				got, _ := run(t, e, Request{Prompt: p, MaxTokens: 3, Sample: sample})
				counts[got[0]*25+got[1]*5+got[2]]++
			}
			if z := chiSquare(counts, want, n); z > farOff {
				t.Errorf("%.1f standard deviations off", z)
			}
			d := e.Metrics().Drafters["model"]
			t.Logf("%d of %d accepted", d.Accepted, d.Drafted)
			if d.Accepted == 0 || d.Accepted == d.Drafted {
				t.Errorf("%+v", d)
			}
		})
	}
}

func TestUniform(t *testing.T) {
	const n = 40000
	for _, f := range []func(i int) float64{
		func(i int) float64 { return uniform(uint64(i), 5, 0) },
		func(i int) float64 { return uniform(1, i, 0) },
		func(i int) float64 { return math.Mod(uniform(1, i, 0)+uniform(1, i, 1), 1) },
		func(i int) float64 { return math.Mod(uniform(1, i, 0)-uniform(1, i+1, 0)+1, 1) },
		func(i int) float64 { return math.Mod(uniform(uint64(i), 1, 0)-uniform(uint64(i)+1, 1, 0)+1, 1) },
	} {
		counts, want := map[int32]int{}, map[int32]float64{}
		for i := range n {
			v := f(i)
			if v < 0 || v >= 1 {
				t.Fatalf("%v is outside [0, 1)", v)
			}
			counts[int32(v*64)]++
		}
		for i := range int32(64) {
			want[i] = 1. / 64
		}
		if z := chiSquare(counts, want, n); z > farOff {
			t.Errorf("%.1f standard deviations off", z)
		}
	}
}

func TestExpNeg(t *testing.T) {
	for x := 0.0; x > -720; x -= 0.01371 {
		got, want := expNeg(x), math.Exp(x)
		if math.Abs(got-want) > 1e-8*want && x > -700 {
			t.Fatalf("e^%v is %v, want %v", x, got, want)
		}
	}
	if expNeg(math.Inf(-1)) != 0 || expNeg(0) != 1 {
		t.Error("ends")
	}
}

func TestGreedyTies(t *testing.T) {
	for _, n := range []int{1, 3, 4, 5, 17} {
		l := make([]float32, n)
		if id, _, err := largest(l); id != 0 || err != nil {
			t.Errorf("%d equal logits: %d, %v", n, id, err)
		}
		l[n-1] = 1
		if id, _, _ := largest(l); int(id) != n-1 {
			t.Errorf("last of %d: %d", n, id)
		}
		l[n/2] = float32(math.NaN())
		if _, _, err := largest(l); !errors.Is(err, ErrNaN) {
			t.Errorf("NaN among %d: %v", n, err)
		}
	}
}

func TestPenalties(t *testing.T) {
	p := SampleParams{RepetitionPenalty: 2, FrequencyPenalty: 0.5, PresencePenalty: 1, Bias: map[int32]float32{4: 10, 1: -1}}
	logits := []float32{1, 2, -3, 4, 5, 6}
	before := slices.Clone(logits)
	pen := newPenalties(&p, []int32{1, 2})
	pen.add(3)
	pen.add(3)
	pen.apply(logits)
	if diff := cmp.Diff([]float32{1, 0.5, -6, 4./2 - 2*0.5 - 1, 15, 6}, logits); diff != "" {
		t.Error(diff)
	}
	pen.undo(logits)
	if diff := cmp.Diff(before, logits); diff != "" {
		t.Error(diff)
	}
}

func TestSamplingDoesNotAllocate(t *testing.T) {
	logits := someLogits(5000, 1, false)
	allowed := make([]uint64, 79)
	for i := range allowed {
		allowed[i] = mix64(uint64(i))
	}
	for pi, p := range append(paramSets, SampleParams{}, SampleParams{Temperature: 1, RepetitionPenalty: 1.2}) {
		s := newSampler(p, prompt(500, 5000, 1), &scratch{})
		pos := 0
		if n := testing.AllocsPerRun(20, func() {
			pos++
			if _, err := s.sample(logits, pos); err != nil {
				t.Fatal(err)
			}
			if _, err := s.masked(logits, pos, allowed); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("set %d: %v allocations", pi, n)
		}
	}
}

func benchLogits() []float32 {
	l := make([]float32, 151936)
	for i := range l { // roughly normal, as for trained networks, with a few outliers
		for j := range uint64(8) {
			l[i] += float32(uniform(1, i, j) - 0.5)
		}
		l[i] *= 3
	}
	l[777], l[150000] = 14, 13
	return l
}

func BenchmarkSample(b *testing.B) {
	logits := benchLogits()
	for _, c := range []struct {
		name string
		p    SampleParams
	}{
		{"greedy", SampleParams{}},
		{"topk40_topp95", SampleParams{Temperature: 0.8, TopK: 40, TopP: 0.95}},
		{"topp95", SampleParams{Temperature: 0.8, TopP: 0.95}},
		{"full", SampleParams{Temperature: 1}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := newSampler(c.p, nil, &scratch{})
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := s.sample(logits, i); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("logprobs20", func(b *testing.B) {
		s := newSampler(SampleParams{}, nil, &scratch{})
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := s.logProbs(logits, 5, 20); err != nil {
				b.Fatal(err)
			}
		}
	})
}
