package agent

import (
	"context"
	"fmt"
	"strings"
)

// Explanation describes what would happen to a call, without running it.
type Explanation struct {
	Call        ToolCall
	Found       bool // a tool of that name exists
	Effects     Effects
	Description CallDescription // title, parse tree or diff, and the place where it would run
	Verdict     Verdict         // decision, with the rule or grant that makes it; Ask if the host would be asked
}

// Explain returns what a call would do, where it would run, and how the mode of the session's
// active run, the policy and the session's grants decide on it. The session may be nil. Middleware
// may still refuse or rewrite the call when it runs.
func (a *Agent) Explain(ctx context.Context, s *Session, tc ToolCall) Explanation {
	ex := Explanation{Call: tc}
	tool, spec := a.findTool(tc.Name)
	if tool == nil {
		ex.Verdict = Verdict{Rule: "unknown tool", Reason: fmt.Sprintf("there is no tool named %q", tc.Name)}
		return ex
	}
	ex.Found = true
	var prepared *PreparedCall
	if p := preparerOf(tool); p != nil {
		var err error
		never := func(Effects, CallDescription) bool { return false }
		if prepared, err = p.PrepareCall(ToolContext(ctx, ToolScope{Session: s, CallID: tc.ID}), tc, never); err != nil {
			ex.Effects, ex.Verdict = spec.Effects, Verdict{Rule: "not prepared", Reason: err.Error()}
			return ex
		}
		ex.Effects = prepared.Effects
	} else {
		ex.Effects = callEffects(tool, &spec, tc)
	}
	req := permissionRequest(s, tool, &spec, tc, ex.Effects, prepared)
	ex.Description = req.Description
	if s != nil {
		if v := s.modeVerdict(&ex.Effects); v.Decision != Allow {
			ex.Verdict = v
			return ex
		}
	}
	if a.cfg.Policy == nil {
		ex.Verdict = Verdict{Decision: Allow, Rule: "no policy"}
		return ex
	}
	ex.Verdict = a.cfg.Policy.Decide(ctx, req)
	if ex.Verdict.Decision == Ask && s != nil {
		if g, ok := s.grantFor(req); ok {
			ex.Verdict = Verdict{Decision: Allow, Rule: g.String()}
		}
	}
	return ex
}

// modeVerdict denies a call that the session's active run would refuse because of its mode.
func (s *Session) modeVerdict(e *Effects) Verdict {
	s.mu.Lock()
	r := s.run
	s.mu.Unlock()
	if r == nil {
		return Verdict{Decision: Allow}
	}
	return r.mode.verdict(e)
}

func (a *Agent) findTool(name string) (Tool, ToolSpec) {
	tools := a.static
	if a.cfg.ToolSource != nil {
		tools = append(tools[:len(tools):len(tools)], a.cfg.ToolSource.Tools()...)
	}
	for _, t := range tools {
		if t == nil {
			continue
		}
		if spec := t.Spec(); spec.Name == name && toolName.MatchString(name) {
			return t, spec
		}
	}
	return nil, ToolSpec{}
}

// String formats the explanation for a human reader, with every text as [Visible].
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s (%s)", e.Call.Name, e.Verdict.Decision, e.Verdict.Rule)
	if e.Verdict.Reason != "" {
		fmt.Fprintf(&b, ": %s", e.Verdict.Reason)
	}
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "\n%s: %s", name, text)
		}
	}
	line("call", e.Description.Title)
	line("runs in", e.Description.Where)
	line("effects", e.Effects.String())
	for _, why := range e.Effects.Reasons {
		line("because", why)
	}
	if e.Description.Detail != "" {
		fmt.Fprintf(&b, "\n%s", strings.TrimRight(e.Description.Detail, "\n"))
	}
	return Visible(b.String())
}
