package agent

import (
	"context"
	"errors"
	"fmt"
	"reflect"
)

// errUnpriced refuses a sub-agent whose cost the limit of a run above it cannot count.
var errUnpriced = errors.New("the run has a cost limit, but there is no price for the sub-agent's model; the host must add one to Config.Prices or set Config.AllowUnpriced. Do this task yourself")

// under returns the agent that runs a task for a run of by. What holds for by holds for it too: the
// policies of both decide, the middleware of by surrounds its own, and every setting that its own
// configuration leaves out is by's. own is that configuration as the host gave it, without
// defaults.
func (a *Agent) under(by *Agent, own Config) (*Agent, error) {
	child := *a
	child.cfg = own.under(&by.cfg)
	child.cfg.setDefaults()
	child.handle = nest(by.handle, a.handle)
	child.capped = a.capped || by.capped
	if child.price == nil {
		if p, ok := by.cfg.Prices.Find(ModelName(own.Model)); ok {
			child.price = &p
		}
	}
	if child.capped && child.price == nil && !child.cfg.AllowUnpriced && !ReportsCost(own.Model) {
		return nil, fmt.Errorf("%w (the model is %q)", errUnpriced, ModelName(own.Model))
	}
	return &child, nil
}

// under returns c completed by the configuration of the agent above. Model, Tools, ToolSource,
// Verify, Output, Purpose and SessionLimits belong to the task, and Checkpointer to the run above,
// which takes its snapshot before the task begins: they stay as they are.
func (c Config) under(by *Config) Config {
	orZero(&c.System, by.System)
	c.Policy = strictest(by.Policy, c.Policy)
	if c.Ask == nil {
		c.Ask = by.Ask
	}
	c.limitsUnder(by)
	orZero(&c.Repetition, by.Repetition)
	orZero(&c.Retry, by.Retry)
	if c.Prices == nil {
		c.Prices = by.Prices
	}
	c.AllowUnpriced = c.AllowUnpriced || by.AllowUnpriced
	orZero(&c.Compactor, by.Compactor)
	orZero(&c.ContextBudget, by.ContextBudget)
	orZero(&c.Artifacts, by.Artifacts)
	if sameModel(c.Model, by.Model) { // another model may not accept them
		c.requestUnder(by)
	}
	orZero(&c.Logger, by.Logger)
	if c.Now == nil {
		c.Now = by.Now
	}
	if c.NewID == nil {
		c.NewID = by.NewID
	}
	if c.Random == nil {
		c.Random = by.Random
	}
	if c.Sleep == nil {
		c.Sleep = by.Sleep
	}
	return c
}

func (c *Config) limitsUnder(by *Config) {
	orZero(&c.Limits.Steps, by.Limits.Steps)
	orZero(&c.Limits.Tokens, by.Limits.Tokens)
	orZero(&c.Limits.MicroDollars, by.Limits.MicroDollars)
	orZero(&c.Limits.Wall, by.Limits.Wall)
	orZero(&c.Limits.Verifications, by.Limits.Verifications)
	orZero(&c.Limits.ArgBytes, by.Limits.ArgBytes)
	orZero(&c.Limits.ResponseBytes, by.Limits.ResponseBytes)
	orZero(&c.Parallel, by.Parallel)
	orZero(&c.ToolTimeout, by.ToolTimeout)
	orZero(&c.Grace, by.Grace)
	orZero(&c.ResultBytes, by.ResultBytes)
}

func (c *Config) requestUnder(by *Config) {
	orZero(&c.MaxOutput, by.MaxOutput)
	orZero(&c.Temperature, by.Temperature)
	orZero(&c.Effort, by.Effort)
	orZero(&c.Seed, by.Seed)
	if c.Stop == nil {
		c.Stop = by.Stop
	}
}

// sameModel reports whether two models are known to be the same.
func sameModel(a, b Model) bool {
	if name := ModelName(a); name != "" {
		return name == ModelName(b)
	}
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// orZero sets *p to def when it is zero.
func orZero[T comparable](p *T, def T) {
	var zero T
	if *p == zero {
		*p = def
	}
}

// strictest returns a policy that allows what both allow, and refuses what one refuses. A nil
// policy allows everything.
func strictest(outer, inner Policy) Policy {
	if outer == nil || inner == nil {
		if outer == nil {
			return inner
		}
		return outer
	}
	return bothPolicies{outer, inner}
}

// bothPolicies is the policy that strictest returns.
type bothPolicies struct{ outer, inner Policy }

// Decide returns the stricter verdict.
func (p bothPolicies) Decide(ctx context.Context, req *PermissionRequest) Verdict {
	v := p.outer.Decide(ctx, req)
	if v.Decision != Ask && v.Decision != Allow {
		return v
	}
	if w := p.inner.Decide(ctx, req); w.Decision != Allow && (w.Decision != Ask || v.Decision == Allow) {
		return w
	}
	return v
}

// nest returns the middleware chain inner within outer; nil means none. The chain outer is the one
// that the run above uses, so that what its middleware counts or keeps is counted and kept once.
func nest(outer, inner Handler) Handler {
	if outer == nil || inner == nil {
		if outer == nil {
			return inner
		}
		return outer
	}
	return func(ctx context.Context, op *Op) error {
		run := op.run
		var within func(ctx context.Context, op *Op) error
		within = func(ctx context.Context, op *Op) error {
			defer func(o *Op) { o.run = within }(op) // outer may call it again
			op.run = run
			return inner(ctx, op)
		}
		op.run = within
		return outer(ctx, op)
	}
}
