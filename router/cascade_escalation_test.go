package router

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var near = cmpopts.EquateApprox(1e-9, 1e-9)

// trials makes a row of "+" (resolved), "-" (not) and "?" (missing). The trial at position n costs
// n dollars.
func trials(pattern string) []Trial {
	var row []Trial
	for i, c := range pattern {
		t := Trial{Resolved: c == '+', Missing: c == '?', Dollars: float64(i + 1)}
		if t.Missing {
			t.Dollars = 0
		}
		row = append(row, t)
	}
	return row
}

func TestOddsByHand(t *testing.T) {
	// Ten tasks: 6 that both candidates solve, 1 that only the second solves, and 3 that neither
	// solves.
	var rows [][]Trial
	for _, p := range []string{"++", "++", "++", "++", "++", "++", "-+", "--", "--", "--"} {
		rows = append(rows, trials(p))
	}
	o, err := LearnOdds(rows)
	if err != nil {
		t.Fatal(err)
	}
	// Marginals by Laplace's rule: 7/12 and 8/12. The independent kind has a weight of two tasks.
	first, second := 7.0/12, 8.0/12
	b := o.believe(Check{}, []Tried{{Candidate: 0, Verdict: Rejected}})
	weight := 2 * (1 - first) // of the independent kind, after the failure
	want := (weight*second + 1) / (weight + 4)
	if got, dollars := b.expect(1); math.Abs(got-want) > 1e-12 || math.Abs(dollars-2) > 1e-12 {
		t.Errorf("after a failure the second solves %v for $%v, want %v for $2", got, dollars, want)
	}
	// A fallible check: Bayes' rule computed by hand for the attempt itself.
	c := Check{FalseAccept: 0.1, FalseReject: 0.2}
	tried := []Tried{{Candidate: 0, Verdict: Passed}}
	right := 0.8 * (2*first + 6)
	wrong := 0.1 * (2*(1-first) + 4)
	b = o.believe(c, tried)
	if got, want := b.right(tried[0]), right/(right+wrong); math.Abs(got-want) > 1e-12 {
		t.Errorf("an attempt that passed is right with probability %v, want %v", got, want)
	}
}

func TestOddsFillGaps(t *testing.T) {
	var rows [][]Trial
	for range 50 {
		rows = append(rows, trials("++"), trials("--"))
	}
	rows = append(rows, trials("+?"))
	o, err := LearnOdds(rows)
	if err != nil {
		t.Fatal(err)
	}
	last := o.kinds[len(o.kinds)-1]
	if last.resolve[0] != 1 || last.resolve[1] < 0.95 || last.resolve[1] >= 1 || math.Abs(last.dollars[1]-2) > 1e-6 {
		t.Errorf("the missing result was filled as %+v", last)
	}
}

func TestOddsErrors(t *testing.T) {
	for name, rows := range map[string][][]Trial{
		"none": nil, "empty": {{}}, "ragged": {trials("+"), trials("++")}, "nine": {trials("+++++++++")},
		"negative": {{{Dollars: -1}}}, "no number": {{{Dollars: math.NaN()}}},
	} {
		if _, err := LearnOdds(rows); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, p := range []Prior{{Resolve: 0}, {Resolve: 1}, {Resolve: 0.5, Dollars: -1}, {Resolve: math.NaN()}} {
		if _, err := PriorOdds(p); err == nil {
			t.Errorf("%+v: no error", p)
		}
	}
}

func TestPriorOddsKeepTheirMargins(t *testing.T) {
	o, err := PriorOdds(Prior{0.6, 0.03}, Prior{0.75, 0.4}, Prior{0.02, 1})
	if err != nil {
		t.Fatal(err)
	}
	b := o.believe(Check{}, nil)
	for j, want := range []float64{0.6, 0.75, 0.02} {
		if got, _ := b.expect(j); math.Abs(got-want) > 1e-9 {
			t.Errorf("candidate %d solves %v, want %v", j, got, want)
		}
	}
	after, _ := o.believe(Check{}, []Tried{{Candidate: 0, Verdict: Rejected}}).expect(1)
	if after > 0.7 || after < 0.4 {
		t.Errorf("after a failure the second solves %v; a failure says that the task is hard, not hopeless", after)
	}
}

// randomOdds returns odds of n candidates on tasks of several kinds.
func randomOdds(r *rand.Rand, n int) *Odds {
	o := &Odds{candidates: n}
	for range 1 + r.IntN(6) {
		k := kind{weight: r.Float64() + 0.1}
		for range n {
			k.resolve = append(k.resolve, r.Float64())
			k.dollars = append(k.dollars, r.Float64())
		}
		o.kinds = append(o.kinds, k)
	}
	return o
}

// value evaluates an escalation on the odds that it uses, by walking every kind, outcome and
// verdict, without any belief.
func value(e *Escalation, check Check, worth float64) (net float64) {
	total := 0.0
	for _, k := range e.cfg.Odds.kinds {
		total += k.weight
	}
	for _, k := range e.cfg.Odds.kinds {
		var walk func(tried []Tried, right []bool, spent float64) float64
		walk = func(tried []Tried, right []bool, spent float64) float64 {
			s := e.Next(tried, spent)
			if s.Candidate < 0 {
				for i, a := range tried {
					if a.Candidate == s.Best && right[i] {
						return worth
					}
				}
				return 0
			}
			v := -k.dollars[s.Candidate]
			for _, ok := range []bool{true, false} {
				p := k.resolve[s.Candidate]
				if !ok {
					p = 1 - p
				}
				for _, verdict := range []Verdict{Passed, Rejected} {
					yes, no := check.likelihood(verdict)
					if !ok {
						yes = no
					}
					v += p * yes * walk(append(tried[:len(tried):len(tried)], Tried{Candidate: s.Candidate, Verdict: verdict}),
						append(right[:len(right):len(right)], ok), spent)
				}
			}
			return v
		}
		net += k.weight / total * walk(nil, nil, 0)
	}
	return net
}

// TestEscalationIsOptimal compares the decider with every fixed order of every length; each is
// valued by walking all possible outcomes. It also compares the decider's own expectation with such
// a walk.
//
// Evidence: routers · A cascade escalates in the best order
func TestEscalationIsOptimal(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 60 {
		n := 1 + r.IntN(3)
		worth, check := 0.5+3*r.Float64(), Check{FalseAccept: r.Float64() / 2, FalseReject: r.Float64() / 2}
		odds := randomOdds(r, n)
		e, err := NewEscalation(EscalationConfig{Odds: odds, Check: check, Worth: worth})
		if err != nil {
			t.Fatal(err)
		}
		got := value(e, check, worth)
		resolved, dollars := e.Expect()
		if math.Abs(worth*resolved-dollars-got) > 1e-9 {
			t.Fatalf("it expects %v of itself and gets %v", worth*resolved-dollars, got)
		}
		for _, order := range permutations(n) {
			for attempts := 1; attempts <= n; attempts++ {
				f, err := NewEscalation(EscalationConfig{Odds: odds.reorder(order), InOrder: true, Check: check, Attempts: attempts})
				if err != nil {
					t.Fatal(err)
				}
				if other := value(f, check, worth); other > got+1e-9 {
					t.Errorf("the order %v of %d attempts is worth %v, the decider %v", order, attempts, other, got)
				}
			}
		}
	}
}

func (o *Odds) reorder(order []int) *Odds {
	p := &Odds{candidates: o.candidates}
	for _, k := range o.kinds {
		n := kind{weight: k.weight}
		for _, j := range order {
			n.resolve = append(n.resolve, k.resolve[j])
			n.dollars = append(n.dollars, k.dollars[j])
		}
		p.kinds = append(p.kinds, n)
	}
	return p
}

func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for _, p := range permutations(n - 1) {
		for i := range n {
			all = append(all, append(append(append([]int(nil), p[:i]...), n-1), p[i:]...))
		}
	}
	return all
}

// TestEscalationFollowsWeitzman checks a case with a known answer: independent candidates and a
// check that never errs are tried in descending order of success per dollar, while an attempt is
// worth its cost (Weitzman, "Optimal Search for the Best Alternative", 1979).
func TestEscalationFollowsWeitzman(t *testing.T) {
	o := &Odds{candidates: 4, kinds: []kind{{weight: 1, resolve: []float64{0.7, 0.5, 0.9, 0.2}, dollars: []float64{0.4, 0.1, 0.6, 0.5}}}}
	e, err := NewEscalation(EscalationConfig{Odds: o, Worth: 2})
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	var tried []Tried
	for {
		s := e.Next(tried, 0)
		if s.Candidate < 0 {
			break
		}
		got = append(got, s.Candidate)
		tried = append(tried, Tried{Candidate: s.Candidate, Verdict: Rejected})
	}
	if diff := cmp.Diff([]int{1, 0, 2}, got); diff != "" { // success per dollar is 5, 1.75 and 1.5; the last candidate's 0.4 is not worth its cost
		t.Error(diff)
	}
}

func TestStepInOrder(t *testing.T) {
	a := func(c int, v Verdict) Tried { return Tried{Candidate: c, Verdict: v} }
	broken := func(c int) Tried { return Tried{Candidate: c, Broken: true} }
	for _, tt := range []struct {
		name  string
		cfg   EscalationConfig
		tried []Tried
		spent float64
		want  Step
	}{
		{name: "first", want: Step{Candidate: 0, Best: -1, Why: WhyFirst}},
		{name: "passed", tried: []Tried{a(0, Passed)}, want: Step{Candidate: -1, Best: 0, Why: WhyPassed}},
		{name: "rejected", tried: []Tried{a(0, Rejected)}, want: Step{Candidate: 1, Best: 0, Why: WhyRejected}},
		{name: "the check could not run", tried: []Tried{a(0, Unchecked)}, want: Step{Candidate: 1, Best: 0, Why: WhyRejected}},
		{name: "broken", tried: []Tried{broken(0)}, want: Step{Candidate: 1, Best: -1, Why: WhyRejected}},
		{name: "all rejected", tried: []Tried{a(0, Rejected), a(1, Rejected), a(2, Rejected)}, want: Step{Candidate: -1, Best: 2, Why: WhyExhausted}},
		{name: "the last broke", tried: []Tried{a(0, Rejected), a(1, Rejected), broken(2)}, want: Step{Candidate: -1, Best: 1, Why: WhyExhausted}},
		{name: "all broke", tried: []Tried{broken(0), broken(1), broken(2)}, want: Step{Candidate: -1, Best: -1, Why: WhyExhausted}},
		{name: "attempts", cfg: EscalationConfig{Attempts: 1}, tried: []Tried{a(0, Rejected)}, want: Step{Candidate: -1, Best: 0, Why: WhyAttempts}},
		{name: "dollars", cfg: EscalationConfig{Dollars: 1}, tried: []Tried{a(0, Rejected)}, spent: 1.5, want: Step{Candidate: -1, Best: 0, Why: WhyDollars}},
	} {
		tt.cfg.Candidates = 3
		e, err := NewEscalation(tt.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, e.Next(tt.tried, tt.spent)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestStepByWorth(t *testing.T) {
	odds, err := PriorOdds(Prior{0.6, 0.03}, Prior{0.75, 0.4})
	if err != nil {
		t.Fatal(err)
	}
	step := func(cfg EscalationConfig, spent float64, tried ...Tried) Step {
		t.Helper()
		cfg.Odds = odds
		e, err := NewEscalation(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return e.Next(tried, spent)
	}
	failed := Tried{Candidate: 0, Verdict: Rejected}
	for _, tt := range []struct {
		name string
		got  Step
		cand int
		best int
		why  Why
	}{
		{"cheap first", step(EscalationConfig{}, 0), 0, -1, WhyFirst},
		{"worth going on", step(EscalationConfig{Worth: 2}, 0, failed), 1, 0, WhyGain},
		{"not worth it", step(EscalationConfig{Worth: 0.3}, 0, failed), -1, 0, WhyNoGain},
		{"passed", step(EscalationConfig{Worth: 2}, 0, Tried{Candidate: 0, Verdict: Passed}), -1, 0, WhyPassed},
		{"a check that says nothing", step(EscalationConfig{Worth: 20, Check: Check{0.5, 0.5}}, 0, Tried{Candidate: 0, Verdict: Passed}), 1, 0, WhyGain},
		{"an answer is needed", step(EscalationConfig{Worth: 0.001}, 0), 0, -1, WhyFirst},
		{"also after a broken one", step(EscalationConfig{Worth: 0.001}, 0, Tried{Candidate: 0, Broken: true}), 1, -1, WhyGain},
		{"too dear", step(EscalationConfig{Worth: 2, Dollars: 0.2}, 0.03, failed), -1, 0, WhyDollars},
		{"all tried", step(EscalationConfig{Worth: 2}, 0, failed, Tried{Candidate: 1, Verdict: Rejected}), -1, 1, WhyExhausted},
	} {
		if tt.got.Candidate != tt.cand || tt.got.Best != tt.best || tt.got.Why != tt.why {
			t.Errorf("%s: %+v, want candidate %d, best %d, %q", tt.name, tt.got, tt.cand, tt.best, tt.why)
		}
	}
}

func TestWorthFor(t *testing.T) {
	odds, err := PriorOdds(Prior{0.6, 0.03}, Prior{0.75, 0.4}, Prior{0.8, 1})
	if err != nil {
		t.Fatal(err)
	}
	last := 0.0
	for _, dollars := range []float64{0.01, 0.1, 0.3, 0.5, 2} {
		b, err := WorthFor(EscalationConfig{Odds: odds}, dollars)
		if err != nil {
			t.Fatal(err)
		}
		mean, solved := 0.0, 0.0
		for _, way := range []struct{ worth, share float64 }{{b.Low, 1 - b.Share}, {b.High, b.Share}} {
			e, err := NewEscalation(EscalationConfig{Odds: odds, Worth: way.worth})
			if err != nil {
				t.Fatal(err)
			}
			r, d := e.Expect()
			mean, solved = mean+way.share*d, solved+way.share*r
		}
		if dollars < 0.03 && mean > 0.03+1e-9 || dollars >= 0.03 && mean > dollars+1e-9 {
			t.Errorf("for $%v a task $%v are spent", dollars, mean)
		}
		if solved < last {
			t.Errorf("for $%v fewer tasks are solved than for less: %v after %v", dollars, solved, last)
		}
		last = solved
		if u := b.Pick(0); u != b.High && b.Share > 0 || b.Pick(0.999999) != b.Low && b.Share < 0.9 {
			t.Errorf("picks of %+v are wrong", b)
		}
	}
	if diff := cmp.Diff(last, 0.0, near); diff == "" {
		t.Error("nothing is solved")
	}
}

func TestNewEscalationErrors(t *testing.T) {
	odds, err := PriorOdds(Prior{0.5, 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]EscalationConfig{
		"none": {}, "differ": {Odds: odds, Candidates: 2}, "worth": {Odds: odds, Worth: -1}, "infinite": {Odds: odds, Worth: math.Inf(1)},
		"dollars": {Odds: odds, Dollars: -1}, "check": {Odds: odds, Check: Check{FalseAccept: 1.5}}, "no number": {Odds: odds, Check: Check{FalseReject: math.NaN()}},
	} {
		if _, err := NewEscalation(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func BenchmarkEscalation(b *testing.B) {
	odds, err := PriorOdds(Prior{0.5, 0.03}, Prior{0.6, 0.2}, Prior{0.65, 0.3}, Prior{0.7, 0.4}, Prior{0.75, 0.6})
	if err != nil {
		b.Fatal(err)
	}
	e, err := NewEscalation(EscalationConfig{Odds: odds, Check: Check{0.1, 0.1}})
	if err != nil {
		b.Fatal(err)
	}
	tried := []Tried{{Candidate: 0, Verdict: Rejected}, {Candidate: 3, Verdict: Rejected}}
	b.ReportAllocs()
	for b.Loop() {
		e.Next(tried, 0)
	}
}
