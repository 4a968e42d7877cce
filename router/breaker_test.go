package router

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
)

// outcomes returns a model whose answers are listed in plan: "." is good, "x" an outage, "i" an
// invalid request, "c" a cut stream, "r" a rate limit of a minute.
func outcomes(plan string) *agenttest.Scripted {
	var turns []agenttest.Turn
	for _, c := range plan {
		fail := func(kind agent.ErrorKind, after time.Duration) agenttest.Turn {
			return agenttest.Error(&agent.ModelError{Kind: kind, RetryAfter: after, Err: errors.New("down")})
		}
		switch c {
		case '.':
			turns = append(turns, agenttest.Text("ok"))
		case 'x':
			turns = append(turns, fail(agent.ErrServer, 0))
		case 'i':
			turns = append(turns, fail(agent.ErrInvalid, 0))
		case 'r':
			turns = append(turns, fail(agent.ErrRateLimit, time.Minute))
		case 'c':
			turns = append(turns, agenttest.Join(agenttest.Text("half"), agenttest.Cut()))
		}
	}
	return agenttest.Script(turns...)
}

// Evidence: routers · A breaker pauses a failing member
func TestBreaker(t *testing.T) {
	for name, tt := range map[string]struct {
		plan  string // the model's answers
		cfg   BreakerConfig
		calls string // "q" sends a request, a digit waits for that number of seconds
		want  string // for each request: the answer in the letters of outcomes, "o" for a refusal by the breaker
		state BreakerState
	}{
		"opens after failures in a row":    {plan: "xxx", cfg: BreakerConfig{Failures: 3}, calls: "qqqqq", want: "xxxoo", state: BreakerOpen},
		"a success starts the count anew":  {plan: "xx.xx.", cfg: BreakerConfig{Failures: 3}, calls: "qqqqqq", want: "xx.xx.", state: BreakerClosed},
		"a bad request is no outage":       {plan: "iiiiii", cfg: BreakerConfig{Failures: 3}, calls: "qqqqqq", want: "iiiiii", state: BreakerClosed},
		"a cut stream is one":              {plan: "ccc", cfg: BreakerConfig{Failures: 3}, calls: "qqqq", want: "ccco", state: BreakerOpen},
		"a share of failures opens it too": {plan: ".x.x.x.x", cfg: BreakerConfig{Window: 8}, calls: "qqqqqqqqq", want: ".x.x.x.xo", state: BreakerOpen},
		"half-open after its time":         {plan: "xx", cfg: BreakerConfig{Failures: 2, Open: 5 * time.Second}, calls: "qq4q1", want: "xxo", state: BreakerHalfOpen},
		"a probe closes it":                {plan: "xx...", cfg: BreakerConfig{Failures: 2, Open: 5 * time.Second}, calls: "qq5qqq", want: "xx...", state: BreakerClosed},
		"two probes":                       {plan: "xx.x", cfg: BreakerConfig{Failures: 2, Probes: 2, Open: 5 * time.Second}, calls: "qq5qqq", want: "xx.xo", state: BreakerOpen},
		"a failed probe doubles the time":  {plan: "xxx.", cfg: BreakerConfig{Failures: 2, Open: 4 * time.Second}, calls: "qq4q5q3q", want: "xxxo.", state: BreakerClosed},
		"the time has a limit":             {plan: "xxxx.", cfg: BreakerConfig{Failures: 2, Open: 4 * time.Second, MaxOpen: 5 * time.Second}, calls: "qq4q5q5q", want: "xxxx.", state: BreakerClosed},
		"it heeds Retry-After":             {plan: "rr.", cfg: BreakerConfig{Failures: 2}, calls: "qq9q", want: "rro", state: BreakerOpen},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.cfg.Model = outcomes(tt.plan)
				b, err := NewBreaker(tt.cfg)
				if err != nil {
					t.Fatal(err)
				}
				got := ""
				for _, c := range tt.calls {
					if c != 'q' {
						time.Sleep(time.Duration(c-'0') * time.Second)
						continue
					}
					got += letter(tell(t.Context(), b, ask("go")))
				}
				if got != tt.want || b.State() != tt.state {
					t.Errorf("got %s and %s, want %s and %s", got, b.State(), tt.want, tt.state)
				}
			})
		})
	}
}

// letter returns an outcome in the letters of outcomes.
func letter(text string, fail *agent.ModelError) string {
	switch {
	case fail == nil && strings.HasSuffix(text, ".stop"):
		return "."
	case fail == nil:
		return "c"
	case strings.Contains(fail.Error(), "breaker"):
		return "o"
	case fail.Kind == agent.ErrInvalid:
		return "i"
	case fail.Kind == agent.ErrRateLimit:
		return "r"
	}
	return "x"
}

// TestBreakerProbesOnce checks that a half-open breaker lets only one request pass at a time. A
// probe that is cancelled does not count and frees its place, even if its reader panics.
func TestBreakerProbesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := agenttest.Error(&agent.ModelError{Kind: agent.ErrServer})
		m := agenttest.Script(fail, agenttest.Join(agenttest.Text("a"), agenttest.Hang()), agenttest.Text("b", "c"), agenttest.Text("ok"))
		b, err := NewBreaker(BreakerConfig{Model: m, Failures: 1, Open: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		note := func(ctx context.Context) {
			text, failed := tell(ctx, b, ask("go"))
			got = append(got, letter(text, failed))
		}
		note(t.Context())
		time.Sleep(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		go tell(ctx, b, ask("probe"))
		synctest.Wait()
		note(t.Context())
		cancel()
		synctest.Wait()
		func() {
			defer func() { _ = recover() }()
			for range b.Stream(t.Context(), ask("go")) {
				panic("of the reader")
			}
		}()
		note(t.Context())
		if diff := cmp.Diff([]string{"x", "o", "."}, got); diff != "" || b.State() != BreakerClosed {
			t.Errorf("%s, (-want +got):\n%s", b, diff)
		}
	})
}

// TestBreakerForgetsTheOld checks that a failure does not count if its request was sent before an
// outage and fails after the outage is over.
func TestBreakerForgetsTheOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := agenttest.Error(&agent.ModelError{Kind: agent.ErrServer})
		m := agenttest.Script(agenttest.Join(agenttest.Delay(time.Minute), fail), fail, agenttest.Text("ok"), agenttest.Text("ok"))
		b, err := NewBreaker(BreakerConfig{Model: m, Failures: 1, Open: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		go tell(t.Context(), b, ask("old"))
		synctest.Wait()
		got := ""
		for _, wait := range []time.Duration{0, 2 * time.Second, 58*time.Second + 500*time.Millisecond} {
			time.Sleep(wait)
			got += letter(tell(t.Context(), b, ask("go")))
		}
		if got != "x.." || b.State() != BreakerClosed {
			t.Errorf("got %s and %s", got, b.State())
		}
	})
}

// TestBreakerIsPassedOver checks that a Fallback does not even try a member whose breaker is open.
func TestBreakerIsPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, err := NewBreaker(BreakerConfig{Model: outcomes("x"), Failures: 1, Open: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		f, err := NewFallback(FallbackConfig{Members: members(b, outcomes(".."))})
		if err != nil {
			t.Fatal(err)
		}
		var l ledger
		ctx := l.trace(t.Context())
		for range 2 {
			tell(ctx, f, ask("go"))
		}
		if diff := cmp.Diff([]string{"a $0 server", "b $? kept", "b $? kept"}, l.lines()); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
		if b.Blocked() != time.Minute || f.Blocked() != 0 {
			t.Errorf("blocked for %v and %v", b.Blocked(), f.Blocked())
		}
	})
}
