package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// Candidate is one way to do a whole task, such as an agent with its own model on a fork of the
// workspace.
type Candidate[T any] struct {
	Name string
	// Run does the task. It receives the earlier attempts, oldest first, so that it may begin with
	// their findings ([RunAttempt.Digest] and [RunAttempt.Finding]) or with their work. It must
	// honour ctx. An error means that the attempt has no usable result; Run should still return the
	// usage and cost.
	Run func(ctx context.Context, earlier []RunAttempt[T]) (Ran[T], error)
}

// Ran is the result of a [Candidate]'s run.
type Ran[T any] struct {
	Value        T // defined by the host: a fork of the workspace, a patch, a session
	Digest       string
	Usage        agent.Usage
	MicroDollars int64
}

// RunAttempt is an attempt at a task and the finding of its check.
type RunAttempt[T any] struct {
	Ran[T]
	Candidate int
	Name      string
	Finding   Finding
	Err       error // of the candidate; if set, Value is not used
	CheckErr  error // of the check; if set, the check had no opinion
	Why       Why   // the reason for the attempt
	Duration  time.Duration
}

// RunsConfig describes a cascade of whole tasks.
type RunsConfig[T any] struct {
	Name       string         // in events; empty means "cascade"
	Candidates []Candidate[T] // from cheap to strong
	// Decide chooses the next candidate and when to stop. Nil tries them in order until one passes.
	Decide *Escalation
	// Verify checks a finished attempt, for instance by running the tests on its fork. Nil accepts
	// the first attempt that does not fail.
	Verify  func(ctx context.Context, a *RunAttempt[T]) (Finding, error)
	Timeout time.Duration // of one check; 0 means none
	// Discard releases what an attempt holds if it is not returned as the best. Nil does nothing.
	Discard func(a *RunAttempt[T])

	Now func() time.Time // nil means time.Now
}

// RunsResult is the result of a cascade of whole tasks.
type RunsResult[T any] struct {
	Best         *RunAttempt[T] // the attempt that is most likely right; nil if none is usable
	Passed       bool           // the check passed Best
	Right        float64        // probability that Best is right, if the odds are known
	Why          Why            // the reason why no further attempt was made
	Attempts     []RunAttempt[T]
	Usage        agent.Usage // of all attempts
	MicroDollars int64       // of all attempts
}

// CascadeRuns assigns a task to the candidate with the best expected value for its cost, checks the
// result, and tries other candidates while that is worth the cost. If no attempt passes, the best
// is the one that is most likely right, or without odds the last. A result is returned even if
// there is an error, which means that ctx ended or that every candidate failed.
//
// The attempts are reported to the [agent.RouteTrace] of ctx. If the models of a candidate are
// routers themselves, the attempts of those routers are reported one by one and count instead of
// the candidate's attempt.
func CascadeRuns[T any](ctx context.Context, cfg RunsConfig[T]) (*RunsResult[T], error) {
	if err := cfg.prepare(); err != nil {
		return nil, fmt.Errorf("router: cascade runs: %w", err)
	}
	r := &RunsResult[T]{}
	var tried []Tried
	var ends []func(kept bool)
	best := -1
	for {
		s := cfg.Decide.Next(tried, float64(r.MicroDollars)/1e6)
		r.Why, r.Right, best = s.Why, s.Right, s.Best
		if s.Candidate < 0 {
			break
		}
		t, end := cfg.attempt(ctx, r, s)
		ends = append(ends, end)
		if ctx.Err() != nil {
			best = s.Best
			break
		}
		tried = append(tried, t)
	}
	for i := range r.Attempts {
		a := &r.Attempts[i]
		kept := a.Candidate == best && a.Err == nil
		ends[i](kept)
		switch {
		case kept:
			r.Best, r.Passed = a, a.Finding.Verdict == Passed
		case cfg.Discard != nil && a.Err == nil:
			cfg.Discard(a)
		}
	}
	return r, r.err(ctx)
}

func (cfg *RunsConfig[T]) prepare() (err error) {
	if len(cfg.Candidates) == 0 {
		return errors.New("there are no candidates; give at least one")
	}
	for i, c := range cfg.Candidates {
		if c.Run == nil {
			return fmt.Errorf("candidate %d (%s) has no Run", i+1, c.Name)
		}
	}
	if cfg.Decide == nil {
		cfg.Decide, err = NewEscalation(EscalationConfig{Candidates: len(cfg.Candidates)})
	} else if n := cfg.Decide.cfg.Candidates; n != len(cfg.Candidates) {
		err = fmt.Errorf("Decide is for %d candidates, there are %d", n, len(cfg.Candidates))
	}
	if cfg.Name == "" {
		cfg.Name = "cascade"
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return err
}

// attempt runs and checks one candidate. It returns the attempt and a function that reports the
// attempt; that function must be called once it is certain whether the attempt is kept.
func (cfg *RunsConfig[T]) attempt(ctx context.Context, r *RunsResult[T], s Step) (Tried, func(kept bool)) {
	c := cfg.Candidates[s.Candidate]
	began := cfg.Now()
	scope := agent.BeginRoute(ctx, agent.Routing{Router: cfg.Name, Model: c.Name, Reason: string(s.Why), Attempt: len(r.Attempts) + 1})
	a := RunAttempt[T]{Candidate: s.Candidate, Name: c.Name, Why: s.Why}
	a.Ran, a.Err = runGuarded(scope, c, r.Attempts)
	a.Duration = cfg.Now().Sub(began)
	r.Usage, r.MicroDollars = r.Usage.Add(a.Usage), r.MicroDollars+a.MicroDollars
	t := Tried{Candidate: s.Candidate, Absent: unreachable(a.Err)}
	t.Broken = a.Err != nil && !t.Absent
	if a.Err == nil && ctx.Err() == nil {
		cfg.check(ctx, &a)
		t.Verdict = a.Finding.Verdict
	}
	r.Attempts = append(r.Attempts, a)
	return t, func(kept bool) {
		agent.EndRoute(scope, agent.Routed{Usage: a.Usage, MicroDollars: a.MicroDollars, Duration: a.Duration, Err: a.Err, Kept: kept})
	}
}

// unreachable reports whether a candidate failed for reasons unrelated to the task.
func unreachable(err error) bool {
	me, ok := errors.AsType[*agent.ModelError](err)
	return ok && (me.Kind.Retryable() || me.Kind == agent.ErrAuth)
}

func runGuarded[T any](ctx context.Context, c Candidate[T], earlier []RunAttempt[T]) (r Ran[T], err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("router: run candidate %s: it panicked: %v", c.Name, v)
		}
	}()
	return c.Run(ctx, earlier[:len(earlier):len(earlier)])
}

func (cfg *RunsConfig[T]) check(ctx context.Context, a *RunAttempt[T]) {
	if cfg.Verify == nil {
		a.Finding.Verdict = Passed
		return
	}
	a.Finding, a.CheckErr = checkWithin(ctx, cfg.Timeout, beat, func() bool { return true }, func(ctx context.Context) (Finding, error) {
		return cfg.Verify(ctx, a)
	})
}

// err returns the reason why there is no best attempt.
func (r *RunsResult[T]) err(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("router: cascade runs: %w", context.Cause(ctx))
	}
	if r.Best != nil {
		return nil
	}
	var errs []error
	for _, a := range r.Attempts {
		errs = append(errs, fmt.Errorf("%s: %w", a.Name, a.Err))
	}
	if errs == nil {
		return errors.New("router: cascade runs: the limit of cost left no attempt; raise it")
	}
	return fmt.Errorf("router: cascade runs: every candidate failed: %w", errors.Join(errs...))
}
