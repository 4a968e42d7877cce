package router

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
)

// does returns a candidate that produces a text at the given cost in micro-dollars.
func does(name, text string, cost int64, err error) Candidate[string] {
	return Candidate[string]{Name: name, Run: func(context.Context, []RunAttempt[string]) (Ran[string], error) {
		return Ran[string]{Value: text, Digest: "tried " + text, MicroDollars: cost}, err
	}}
}

func checkText(_ context.Context, a *RunAttempt[string]) (Finding, error) {
	switch {
	case strings.Contains(a.Value, "unclear"):
		return Finding{}, errors.New("the tests do not build")
	case strings.Contains(a.Value, "right"):
		return Finding{Verdict: Passed}, nil
	}
	return Finding{Verdict: Rejected, Feedback: "FAIL"}, nil
}

func TestCascadeRuns(t *testing.T) {
	down := &agent.ModelError{Kind: agent.ErrServer, Err: errors.New("down")}
	odds, err := PriorOdds(Prior{0.7, 0.01}, Prior{0.5, 0.02})
	if err != nil {
		t.Fatal(err)
	}
	weigh := func(worth float64) *Escalation {
		e, err := NewEscalation(EscalationConfig{Odds: odds, Check: Check{0.1, 0.1}, Worth: worth})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	capped, err := NewEscalation(EscalationConfig{Candidates: 2, Dollars: 1})
	if err != nil {
		t.Fatal(err)
	}
	type outcome struct {
		Best      string
		Passed    bool
		Why       Why
		Discarded []string
		Cost      int64
		Fails     bool
	}
	for _, tt := range []struct {
		name string
		cfg  RunsConfig[string]
		want outcome
	}{
		{"the first passes", RunsConfig[string]{Candidates: []Candidate[string]{does("a", "right", 1, nil), does("b", "right", 5, nil)}},
			outcome{Best: "a", Passed: true, Why: WhyPassed, Cost: 1}},
		{"the second passes", RunsConfig[string]{Candidates: []Candidate[string]{does("a", "wrong", 1, nil), does("b", "right", 5, nil)}},
			outcome{Best: "b", Passed: true, Why: WhyPassed, Discarded: []string{"a"}, Cost: 6}},
		{"none passes", RunsConfig[string]{Candidates: []Candidate[string]{does("a", "wrong", 1, nil), does("b", "worse", 5, nil)}},
			outcome{Best: "b", Why: WhyExhausted, Discarded: []string{"a"}, Cost: 6}},
		{"none passes, the first was likelier", RunsConfig[string]{Decide: weigh(100), Candidates: []Candidate[string]{does("a", "wrong", 1, nil), does("b", "worse", 5, nil)}},
			outcome{Best: "a", Why: WhyExhausted, Discarded: []string{"b"}, Cost: 6}},
		{"not worth another", RunsConfig[string]{Decide: weigh(0.05), Candidates: []Candidate[string]{does("a", "wrong", 1, nil), does("b", "right", 5, nil)}},
			outcome{Best: "a", Why: WhyNoGain, Cost: 1}},
		{"the check has no opinion", RunsConfig[string]{Candidates: []Candidate[string]{does("a", "unclear", 1, nil), does("b", "wrong", 5, nil)}},
			outcome{Best: "b", Why: WhyExhausted, Discarded: []string{"a"}, Cost: 6}},
		{"one fails", RunsConfig[string]{Candidates: []Candidate[string]{does("a", "", 1, errors.New("crashed")), does("b", "right", 5, nil)}},
			outcome{Best: "b", Passed: true, Why: WhyPassed, Cost: 6}},
		{"the provider is down", RunsConfig[string]{Candidates: []Candidate[string]{does("a", "", 0, down), does("b", "wrong", 5, nil)}},
			outcome{Best: "b", Why: WhyExhausted, Cost: 5}},
		{"all fail", RunsConfig[string]{Candidates: []Candidate[string]{does("a", "", 1, down), does("b", "", 5, errors.New("crashed"))}},
			outcome{Why: WhyExhausted, Cost: 6, Fails: true}},
		{"one panics", RunsConfig[string]{Candidates: []Candidate[string]{{Name: "a", Run: func(context.Context, []RunAttempt[string]) (Ran[string], error) { panic("oops") }}, does("b", "right", 5, nil)}},
			outcome{Best: "b", Passed: true, Why: WhyPassed, Cost: 5}},
		{"too dear", RunsConfig[string]{Decide: capped, Candidates: []Candidate[string]{does("a", "wrong", 2_000_000, nil), does("b", "right", 5, nil)}},
			outcome{Best: "a", Why: WhyDollars, Cost: 2_000_000}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := outcome{}
			tt.cfg.Verify = checkText
			tt.cfg.Discard = func(a *RunAttempt[string]) { got.Discarded = append(got.Discarded, a.Name) }
			var l ledger
			r, err := CascadeRuns(l.trace(t.Context()), tt.cfg)
			got.Fails, got.Why, got.Cost, got.Passed = err != nil, r.Why, r.MicroDollars, r.Passed
			if r.Best != nil {
				got.Best = r.Best.Name
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var told int64
			kept := ""
			for _, a := range l.routed {
				told += a.MicroDollars
				if a.Kept {
					kept += a.Model
				}
			}
			if told != got.Cost || kept != got.Best || len(l.began) != len(r.Attempts) || len(l.routed) != len(r.Attempts) {
				t.Errorf("the trace tells of %d micro-dollars and of keeping %q: %v", told, kept, l.lines())
			}
		})
	}
}

func TestCascadeRunsPassOnWhatFailed(t *testing.T) {
	var seen []string
	second := Candidate[string]{Name: "b", Run: func(_ context.Context, earlier []RunAttempt[string]) (Ran[string], error) {
		for _, e := range earlier {
			seen = append(seen, e.Name, e.Digest, e.Finding.Feedback)
		}
		return Ran[string]{Value: "right"}, nil
	}}
	if _, err := CascadeRuns(t.Context(), RunsConfig[string]{Candidates: []Candidate[string]{does("a", "wrong", 1, nil), second}, Verify: checkText}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "tried wrong", "FAIL"}, seen); diff != "" {
		t.Error(diff)
	}
}

func TestCascadeRunsEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	discarded := 0
	r, err := CascadeRuns(ctx, RunsConfig[string]{
		Candidates: []Candidate[string]{does("a", "wrong", 1, nil), {Name: "b", Run: func(ctx context.Context, _ []RunAttempt[string]) (Ran[string], error) {
			cancel()
			return Ran[string]{Value: "half"}, ctx.Err()
		}}},
		Verify: checkText, Discard: func(*RunAttempt[string]) { discarded++ },
	})
	if !errors.Is(err, context.Canceled) || r.Best == nil || r.Best.Name != "a" || len(r.Attempts) != 2 || discarded != 0 {
		t.Errorf("%+v, %v, %d discarded", r, err, discarded)
	}
}

func TestCascadeRunsTimeout(t *testing.T) {
	for _, says := range []bool{true, false} { // says is whether the answer states that it was cut short
		r, err := CascadeRuns(t.Context(), RunsConfig[string]{Candidates: []Candidate[string]{does("a", "x", 1, nil)}, Timeout: time.Millisecond,
			Verify: func(ctx context.Context, _ *RunAttempt[string]) (Finding, error) {
				<-ctx.Done()
				if says {
					return Finding{}, ctx.Err()
				}
				return Finding{}, nil
			}})
		if err != nil || r.Passed || !errors.Is(r.Best.CheckErr, context.DeadlineExceeded) {
			t.Errorf("%+v, %v", r.Best, err)
		}
	}
}

func TestCascadeRunsConfig(t *testing.T) {
	e, err := NewEscalation(EscalationConfig{Candidates: 3})
	if err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]RunsConfig[string]{
		"none": {}, "no run": {Candidates: []Candidate[string]{{}}}, "other": {Candidates: []Candidate[string]{does("a", "", 0, nil)}, Decide: e},
	} {
		if _, err := CascadeRuns(t.Context(), cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
