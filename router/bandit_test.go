package router

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newTestBandit(t testing.TB, seed uint64, arms ...Arm) *Bandit {
	t.Helper()
	b, err := NewBandit(BanditConfig{Arms: arms, Random: rand.New(rand.NewPCG(seed, seed)).Float64})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var act = Case{Purpose: "act", Size: 1}

// TestBanditLearns plays arms of known worth and checks that in the end nearly every choice is the
// best arm.
func TestBanditLearns(t *testing.T) {
	for _, tt := range []struct {
		name    string
		success []float64
		dollars []float64
		best    int
	}{
		{"success decides", []float64{0.3, 0.8, 0.5}, []float64{0.1, 0.1, 0.1}, 1},
		{"cost decides", []float64{0.6, 0.6, 0.6}, []float64{0.5, 0.3, 0.05}, 2},
		{"worth the price", []float64{0.5, 0.9, 0.6}, []float64{0.01, 0.3, 0.2}, 1},
		{"not worth the price", []float64{0.6, 0.7, 0.1}, []float64{0.05, 0.5, 0.01}, 0},
	} {
		b := newTestBandit(t, 3, Arm{Name: "a"}, Arm{Name: "b"}, Arm{Name: "c"})
		r := rand.New(rand.NewPCG(1, 2))
		offers := []Offer{{Arm: 0, Dollars: 0.2}, {Arm: 1, Dollars: 0.2}, {Arm: 2, Dollars: 0.2}} // the list prices do not distinguish the arms
		picks := make([]int, 3)
		for i := range 2000 {
			k := b.Choose(act, offers, nil)
			good := 0.0
			if r.Float64() < tt.success[k] {
				good = 1
			}
			b.Observe(act, k, good, 0.2, tt.dollars[k])
			if i >= 1000 {
				picks[k]++
			}
		}
		if picks[tt.best] < 900 {
			t.Errorf("%s: of the last 1000 choices %v", tt.name, picks)
		}
	}
}

// TestBanditTellsCasesApart uses two models that are each good at one case, and checks that the
// right one is chosen in each case.
func TestBanditTellsCasesApart(t *testing.T) {
	b := newTestBandit(t, 3, Arm{Name: "a"}, Arm{Name: "b"})
	r := rand.New(rand.NewPCG(1, 2))
	right := 0
	for i := range 2000 {
		c, best := act, 0
		if i%2 == 1 {
			c, best = Case{Purpose: "act", Size: 1, Failures: 1}, 1
		}
		k := b.Choose(c, []Offer{{Arm: 0}, {Arm: 1}}, nil)
		p := 0.2
		if k == best {
			p = 0.8
		}
		good := 0.0
		if r.Float64() < p {
			good = 1
		}
		b.Observe(c, k, good, 0, 0)
		if i >= 1000 && k == best {
			right++
		}
	}
	if right < 900 {
		t.Errorf("of the last 1000 choices %d were right", right)
	}
}

func TestBanditEstimates(t *testing.T) {
	b := newTestBandit(t, 1, Arm{Name: "a", Prior: 0.8}, Arm{Name: "b"})
	at := func(c Case, o Offer) Estimate { return b.Estimate(c, o) }
	if diff := cmp.Diff(Estimate{Good: 0.8, Drawn: 0.8, Dollars: 0.3, Score: 0.5}, at(act, Offer{Arm: 0, Dollars: 0.2, Extra: 0.1}), near); diff != "" {
		t.Errorf("without data it is not the prior:\n%s", diff)
	}
	for range 10 {
		b.Observe(act, 0, 0, 0.2, 0.4)
	}
	// Computed by hand: all (2*0.8+0)/(2+10), then 3 of that and 10 bad, then 6 of that and 10 bad.
	all := 1.6 / 12
	work := 3 * all / 13
	want := Estimate{Good: 6 * work / 16, Seen: 10, Dollars: 0.2 * (4 + 0.6) / (2 + 0.6)}
	want.Drawn, want.Score = want.Good, want.Good-want.Dollars
	if diff := cmp.Diff(want, at(act, Offer{Arm: 0, Dollars: 0.2}), near); diff != "" {
		t.Errorf("(-by hand +got):\n%s", diff)
	}
	other := at(Case{Purpose: "title"}, Offer{Arm: 0})
	if math.Abs(other.Good-all) > 1e-12 {
		t.Errorf("a new case borrows %v, want what is known of the arm, %v", other.Good, all)
	}
	if diff := cmp.Diff(at(Case{Purpose: "act", Size: 1, Failures: 3}, Offer{}), at(Case{Purpose: "act", Size: 1, Failures: 9}, Offer{})); diff != "" {
		t.Errorf("many failures are not one case:\n%s", diff)
	}
}

func TestBanditIsDeterministic(t *testing.T) {
	play := func() (picks []int) {
		b := newTestBandit(t, 9, Arm{Name: "a"}, Arm{Name: "b"}, Arm{Name: "c"})
		for i := range 100 {
			k := b.Choose(act, []Offer{{Arm: 0}, {Arm: 1}, {Arm: 2}}, nil)
			b.Observe(act, k, float64(i%2), 0, 0)
			picks = append(picks, k)
		}
		return picks
	}
	if diff := cmp.Diff(play(), play()); diff != "" {
		t.Error(diff)
	}
}

func TestBanditForgets(t *testing.T) {
	b := newTestBandit(t, 1, Arm{Name: "a"})
	for range 4000 {
		b.Observe(act, 0, 1, 1, 1)
	}
	for range 1500 {
		b.Observe(act, 0, 0, 1, 3)
	}
	if e := b.Estimate(act, Offer{Dollars: 1}); e.Good > 0.5 || e.Dollars < 2 {
		t.Errorf("after 1500 failures that cost three times as much: %+v", e)
	}
}

func TestBanditTakesNothingOdd(t *testing.T) {
	b := newTestBandit(t, 1, Arm{Name: "a"})
	before := b.Estimate(act, Offer{Dollars: 1})
	b.Observe(act, 7, 1, 1, 1)
	b.Observe(act, -1, 1, 1, 1)
	b.Observe(act, 0, math.NaN(), 1, 1)
	if diff := cmp.Diff(before, b.Estimate(act, Offer{Dollars: 1})); diff != "" {
		t.Error(diff)
	}
	b.Observe(act, 0, 0.5, math.NaN(), math.Inf(1))
	b.Observe(act, 0, 55, 1, -4)
	if e := b.Estimate(act, Offer{Dollars: 1}); e.Dollars != 1 || !(e.Good > 0.5 && e.Good < 1) {
		t.Errorf("%+v", e)
	}
	if k := b.Choose(act, nil, nil); k != -1 {
		t.Errorf("no offers gives %d", k)
	}
	long := make([]byte, 10000)
	for i := range 2 * maxCases {
		b.Observe(Case{Purpose: string(rune('a'+i)) + string(long)}, 0, 1, 0, 0)
	}
	if n := len(b.state[0].byCase); n > maxCases {
		t.Errorf("%d cases are kept", n)
	}
}

// TestDrawsAreBeta compares the mean and variance of the draws with those of the Beta distribution.
func TestDrawsAreBeta(t *testing.T) {
	b := newTestBandit(t, 5, Arm{Name: "a", Prior: 0.05}, Arm{Name: "b", Prior: 0.7})
	for range 20 {
		b.Observe(act, 1, 1, 0, 0)
	}
	for arm := range 2 {
		x, y := b.posterior(act, arm)
		const n = 50_000
		var sum, squares float64
		for range n {
			d := b.draw(act, arm)
			sum += d
			squares += d * d
		}
		mean := sum / n
		variance := squares/n - mean*mean
		wantMean, wantVar := x/(x+y), x*y/((x+y)*(x+y)*(x+y+1))
		if math.Abs(mean-wantMean) > 0.01 || math.Abs(variance-wantVar) > 0.1*wantVar {
			t.Errorf("Beta(%v, %v): mean %v, variance %v; want %v, %v", x, y, mean, variance, wantMean, wantVar)
		}
	}
}

func TestDrawEndsWithABrokenSource(t *testing.T) {
	for _, u := range []float64{0, 0.5, 1, -3, math.NaN()} {
		b, err := NewBandit(BanditConfig{Arms: []Arm{{Name: "a"}}, Random: func() float64 { return u }})
		if err != nil {
			t.Fatal(err)
		}
		if d := b.draw(act, 0); !(d >= 0 && d <= 1) {
			t.Errorf("a source of %v draws %v", u, d)
		}
	}
}

func TestNewBanditErrors(t *testing.T) {
	for name, cfg := range map[string]BanditConfig{
		"none": {}, "many": {Arms: make([]Arm, 33)}, "unnamed": {Arms: []Arm{{}}}, "twice": {Arms: []Arm{{Name: "a"}, {Name: "a"}}},
		"prior": {Arms: []Arm{{Name: "a", Prior: 2}}}, "worth": {Arms: []Arm{{Name: "a"}}, Worth: -1},
	} {
		if _, err := NewBandit(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestSizeClass(t *testing.T) {
	got := map[int]uint8{}
	for _, n := range []int{-1, 0, 3999, 4000, 16000, 64000, 256000, 1024000, math.MaxInt} {
		got[n] = SizeClass(n)
	}
	if diff := cmp.Diff(map[int]uint8{-1: 0, 0: 0, 3999: 0, 4000: 1, 16000: 2, 64000: 3, 256000: 4, 1024000: 5, math.MaxInt: 5}, got); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkBandit(b *testing.B) {
	bandit := newTestBandit(b, 1, Arm{Name: "a"}, Arm{Name: "b"}, Arm{Name: "c"}, Arm{Name: "d"})
	for i := range 100 {
		bandit.Observe(act, i%4, float64(i%3)/2, 1, 1)
	}
	offers := []Offer{{Arm: 0, Dollars: 1}, {Arm: 1, Dollars: 1}, {Arm: 2, Dollars: 1}, {Arm: 3, Dollars: 1}}
	notes := make([]Estimate, 4)
	b.ReportAllocs()
	for b.Loop() {
		bandit.Choose(act, offers, notes)
	}
}
