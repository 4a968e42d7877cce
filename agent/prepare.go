package agent

import "context"

// Preparer is a [Tool] for which it takes time to find out what a call would do, such as a tool on
// another machine. An agent calls PrepareCall instead of CallEffects and DescribeCall, and then the
// function in its result instead of Call. Until then a call counts as one that may do everything
// that the spec names. A tool that wraps another has a method Preparer, which returns the inner
// tool or nil.
type Preparer interface {
	// PrepareCall finds out what a call would do, and does nothing. An error becomes the call's
	// result. ctx has the session and the id of the call.
	//
	// allowed reports whether every call with at most these effects would run unasked: each flag,
	// and each path within what is named. A tool may then return these effects without finding out,
	// if it refuses to do more. allowed returns false if the host's policy could decide differently
	// about such calls.
	PrepareCall(ctx context.Context, call ToolCall, allowed func(Effects, CallDescription) bool) (*PreparedCall, error)
}

// PreparedCall is a call of which it is known what it does.
type PreparedCall struct {
	Effects     Effects
	Description CallDescription
	// Call makes the call. If it would do something else by now, it does nothing and says so in its
	// result.
	Call func(ctx context.Context) (*ToolResult, error)
}

// preparerOf returns the Preparer that a tool is or wraps, or nil.
func preparerOf(t Tool) Preparer {
	switch t := t.(type) {
	case Preparer:
		return t
	case interface{ Preparer() Preparer }:
		return t.Preparer()
	}
	return nil
}

// prepare prepares a call. It returns nil if the tool is no Preparer.
func (v *invoker) prepare(ctx context.Context, c *call) (*PreparedCall, error) {
	p := preparerOf(c.tool)
	if p == nil {
		return nil, nil
	}
	allowed := func(e Effects, d CallDescription) bool {
		if v.mode.verdict(&e).Decision != Allow {
			return false
		}
		return v.permits.bounds(ctx, &PermissionRequest{Call: c.tc, Spec: *c.spec, Effects: e, Description: d.visible(), SessionID: v.session.ID()})
	}
	out, err := p.PrepareCall(ToolContext(ctx, ToolScope{Session: v.session, CallID: c.tc.ID}), c.tc, allowed)
	if err == nil {
		v.batch.prepared(c, out.Effects)
	}
	return out, err
}

// prepared sets the effects of a call that were found out.
func (b *batch) prepared(c *call, e Effects) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c.effects = e
	b.turn.Broadcast()
}

// bounds reports whether the policy allows every call that does at most what a request says.
func (p *permits) bounds(ctx context.Context, req *PermissionRequest) bool {
	return p.policy == nil || bounded(p.policy) && p.policy.Decide(ctx, req).Decision == Allow
}

// bounded reports whether a policy that allows a call also allows every call that does less. Only
// the policies of this package are known to.
func bounded(p Policy) bool {
	switch p := p.(type) {
	case Rules:
		for i := range p {
			if !p[i].isStandard() {
				return false
			}
		}
		return true
	case bothPolicies:
		return bounded(p.outer) && bounded(p.inner)
	}
	return false
}
