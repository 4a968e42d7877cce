package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Grant is an approval for more than one call; it belongs to a session and is kept in its log.
type Grant struct {
	Scope  GrantScope `json:"scope"`
	Tool   string     `json:"tool"`
	Exact  string     `json:"exact,omitempty"`  // with GrantExact: the canonical text of the call
	Prefix string     `json:"prefix,omitempty"` // with GrantPath
	Time   time.Time  `json:"time,omitzero"`
	// Obeyed names the files that the approved call wrote, if something later obeys or executes one
	// of them. Only calls that write the same files are covered then.
	Obeyed string `json:"obeyed,omitempty"`
}

// Covers reports whether the grant allows a call. A path grant covers calls with known effects that
// write only below the prefix and that do nothing else worth asking about, except for deleting
// there. No grant covers a file that something later obeys or executes, unless the person was asked
// about that file.
func (g Grant) Covers(req *PermissionRequest) bool {
	if g.Tool != req.Call.Name {
		return false
	}
	if req.Effects.Flags&EffectObeyed != 0 && g.Obeyed != obeyedText(req) {
		return false
	}
	switch g.Scope {
	case GrantExact:
		return g.Exact != "" && g.Exact == exactText(req)
	case GrantPath:
		e := &req.Effects
		if g.Prefix == "" || !e.Known || e.Flags&^(EffectDelete|EffectObeyed) != 0 || len(e.Writes) == 0 {
			return false
		}
		for _, w := range e.Writes {
			if hasScheme(w) || !PathUnder(w, g.Prefix) {
				return false
			}
		}
		return true
	}
	return false
}

// obeyedText names the files of a call that writes what something later obeys or executes.
func obeyedText(req *PermissionRequest) string { return fmt.Sprintf("%q", req.Effects.Writes) }

// String formats the grant as a rule's name.
func (g Grant) String() string {
	if g.Scope == GrantPath {
		return fmt.Sprintf("grant: %s below %s", g.Tool, g.Prefix)
	}
	return "grant: exactly this " + g.Tool
}

// exactText returns the text that an exact grant binds to: where the call would run, in which
// sandbox, and what it is (the tool's own canonical text, or else the arguments).
func exactText(req *PermissionRequest) string {
	d := &req.Description
	kind, text := "exact", d.Exact
	if text == "" {
		kind, text = "args", string(req.Call.Args)
	}
	return fmt.Sprintf("%q sandboxed=%t %s:%s", d.Where, d.Sandboxed, kind, text)
}

// permissionRequest describes a call for a policy. If the tool panics while describing the call,
// the request has no description.
func permissionRequest(s *Session, t Tool, spec *ToolSpec, tc ToolCall, e Effects, prepared *PreparedCall) (req *PermissionRequest) {
	req = &PermissionRequest{Call: tc, Spec: *spec, Effects: e}
	if s != nil {
		req.SessionID = s.meta.ID
	}
	if prepared != nil {
		req.Description = prepared.Description.visible()
		return req
	}
	defer func() {
		if recover() != nil {
			req.Description = CallDescription{}
		}
	}()
	if d, ok := t.(Describer); ok {
		req.Description = d.DescribeCall(tc).visible()
	}
	return req
}

// permits decides on the calls of a run.
type permits struct {
	policy  Policy
	ask     AskFunc
	session *Session // its grants apply to every run
	out     *mailbox

	asking sync.Mutex // held while the host is asked: one question at a time
}

// decide returns whether a call may run: the policy first, then the session's grants, then the
// host's callback.
func (p *permits) decide(ctx context.Context, c *call, prepared *PreparedCall) Verdict {
	if p.policy == nil {
		return Verdict{Decision: Allow, Rule: "no policy"}
	}
	req := permissionRequest(p.session, c.tool, c.spec, c.tc, c.effects, prepared)
	v := p.policy.Decide(ctx, req)
	if v.Decision == Ask {
		v = p.resolve(ctx, req, v)
	}
	p.out.post(Decided{Call: c.tc, Verdict: v})
	return v
}

// resolve resolves an undecided verdict by a grant or by asking.
func (p *permits) resolve(ctx context.Context, req *PermissionRequest, v Verdict) Verdict {
	if g, ok := p.session.grantFor(req); ok {
		return Verdict{Decision: Allow, Rule: g.String()}
	}
	if p.ask == nil {
		return Verdict{Rule: v.Rule, Reason: orText(v.Reason, "the call needs approval") + "; there is nobody to ask, so it is refused. Find another way."}
	}
	p.asking.Lock()
	defer p.asking.Unlock()
	if g, ok := p.session.grantFor(req); ok { // granted while this call was waiting
		return Verdict{Decision: Allow, Rule: g.String()}
	}
	if ctx.Err() != nil {
		return Verdict{Rule: v.Rule, Reason: "the run was cancelled"}
	}
	answer := p.ask(ctx, req, v)
	if !answer.Allow {
		return Verdict{Rule: "asked", Reason: orText(answer.Reason, "the user refused the call. Do not repeat it; ask what they want instead.")}
	}
	if err := p.session.addGrant(answer, req); err != nil {
		return Verdict{Rule: "asked", Reason: err.Error()}
	}
	return Verdict{Decision: Allow, Rule: "asked"}
}

func (s *Session) grantFor(req *PermissionRequest) (Grant, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.grants {
		if g.Covers(req) {
			return g, true
		}
	}
	return Grant{}, false
}

// addGrant records an approval that extends beyond one call.
func (s *Session) addGrant(a Answer, req *PermissionRequest) error {
	if a.Scope == GrantOnce {
		return nil
	}
	if a.Scope == GrantPath && a.Prefix == "" {
		return errors.New("the approval names no path prefix (Answer.Prefix), so it covers nothing; ask again")
	}
	g := Grant{Scope: a.Scope, Tool: req.Call.Name, Time: s.now()}
	if req.Effects.Flags&EffectObeyed != 0 {
		g.Obeyed = obeyedText(req)
	}
	if a.Scope == GrantExact {
		g.Exact = exactText(req)
	} else {
		g.Prefix = a.Prefix
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.write(&Entry{Type: EntryGrant, Grant: &g}); err != nil {
		return err
	}
	s.grants = append(s.grants, g)
	return nil
}

// Grants returns the approvals that apply for the rest of the session.
func (s *Session) Grants() []Grant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Grant(nil), s.grants...)
}
