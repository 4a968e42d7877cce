package agent

import (
	"context"
	"path"
	"reflect"
	"strings"
)

// Rule decides on the calls it matches.
type Rule struct {
	Name     string                              // shown in verdicts
	Tools    []string                            // names or path.Match patterns of tools; empty matches every tool
	Match    func(req *PermissionRequest) bool   // further condition; nil matches
	Decision Decision                            // the zero value denies
	Reason   string                              // shown with the verdict
	Explain  func(req *PermissionRequest) string // builds a reason for the call; nil uses Reason

	standard *standardRule // set by StandardRules
}

// Rules is a [Policy]: the first rule that matches decides, and a call that matches none is denied.
type Rules []Rule

// Decide returns the verdict of the first rule that matches.
func (rs Rules) Decide(_ context.Context, req *PermissionRequest) Verdict {
	for i := range rs {
		if r := &rs[i]; r.matches(req) {
			v := Verdict{Decision: r.Decision, Rule: r.Name, Reason: r.Reason}
			if r.Explain != nil {
				v.Reason = r.Explain(req)
			}
			return v
		}
	}
	return Verdict{Rule: "no rule matched", Reason: "no rule allows this call"}
}

func (r *Rule) matches(req *PermissionRequest) bool {
	if r.Match != nil && !r.Match(req) {
		return false
	}
	if len(r.Tools) == 0 {
		return true
	}
	for _, pattern := range r.Tools {
		if ok, err := path.Match(pattern, req.Call.Name); ok && err == nil {
			return true
		}
	}
	return false
}

// Autonomy sets how much the rules of [StandardRules] allow without asking.
type Autonomy uint8

// The degrees of autonomy, from the least.
const (
	AutonomyAsk       Autonomy = iota // reading is allowed, everything else asks
	AutonomyReadOnly                  // reading is allowed, everything else is denied
	AutonomyEdit                      // reading and tools that write files in the workspace are allowed; the rest (including every shell command that writes) asks
	AutonomySandboxed                 // also allows what runs inside a sandbox; what would run on the host asks
	// AutonomyDry is AutonomyEdit, and a command runs in a trial before the question, which then
	// shows what it changed. StandardRules knows no trials, and asks beforehand as for
	// AutonomyEdit; luthier.New makes them.
	AutonomyDry
)

// readsWorkspace reports whether everything that a call reads is in the workspace or is a resource
// of the session; a tool may have named a path outside without setting the flag for it.
func readsWorkspace(req *PermissionRequest) bool {
	for _, p := range req.Effects.Reads {
		if !hasScheme(p) && !PathUnder(p, ".") {
			return false
		}
	}
	return true
}

// StandardRules returns the rules for a degree of autonomy. A call counts as reading only if its
// effects are known and include no write, no network, no secret and nothing outside the workspace.
// A call with unknown effects is never allowed without asking, nor is one that writes a file that
// something later obeys or executes ([EffectObeyed]).
func StandardRules(a Autonomy) Rules {
	rules := Rules{{Name: "read-only", Match: func(req *PermissionRequest) bool {
		return req.Effects.Flags == 0 && changesNothing(&req.Effects) && readsWorkspace(req)
	}, Decision: Allow}}
	spend := Rule{Name: "sub-agent that only reads", Decision: Allow, Match: func(req *PermissionRequest) bool {
		return req.Effects.Flags == EffectSpend && changesNothing(&req.Effects) && readsWorkspace(req)
	}}
	rules = append(rules, spend)
	if a == AutonomyReadOnly {
		return allStandard(append(rules, Rule{Name: "read-only mode", Reason: "this agent may only read", Decision: Deny}))
	}
	if a >= AutonomyEdit {
		rules = append(rules, Rule{Name: "workspace write", Match: writesWorkspace, Decision: Allow})
	}
	if a == AutonomySandboxed {
		rules = append(rules, Rule{Name: "sandboxed", Decision: Allow, Match: func(req *PermissionRequest) bool {
			return req.Description.Sandboxed && req.Effects.Flags&EffectObeyed == 0
		}})
	}
	return allStandard(append(rules, Rule{Name: "needs approval", Decision: Ask, Explain: whyAsk}))
}

// standardRule holds the parts of a rule of [StandardRules], to notice a change. These rules treat
// a call no worse than one that does more.
type standardRule struct {
	match    uintptr
	decision Decision
}

func allStandard(rules Rules) Rules {
	for i := range rules {
		rules[i].standard = &standardRule{reflect.ValueOf(rules[i].Match).Pointer(), rules[i].Decision}
	}
	return rules
}

func (r *Rule) isStandard() bool {
	return r.standard != nil && *r.standard == standardRule{reflect.ValueOf(r.Match).Pointer(), r.Decision}
}

// writesWorkspace matches calls that only touch files in the workspace, from tools that can do
// nothing else. A shell command never matches, however harmless its analysis considers it: a tool
// without known limits of its own is not trusted to write.
func writesWorkspace(req *PermissionRequest) bool {
	e := &req.Effects
	if !req.Spec.Effects.Known || !e.Known || e.Flags&^EffectDelete != 0 || !readsWorkspace(req) {
		return false
	}
	for _, w := range e.Writes {
		if hasScheme(w) || !PathUnder(w, ".") {
			return false
		}
	}
	return true
}

// whyAsk explains in words why a call is not allowed without asking.
func whyAsk(req *PermissionRequest) string {
	e := &req.Effects
	if e.Flags&EffectObeyed != 0 {
		return "it writes what something later obeys or executes: " + strings.Join(e.Reasons, "; ")
	}
	if !e.Known {
		return "its effects are not known"
	}
	for _, f := range []struct {
		flag EffectFlags
		text string
	}{
		{EffectKill, "it signals processes"},
		{EffectDelete, "it deletes files"},
		{EffectNetwork, "it may reach the network"},
		{EffectExec, "it runs programs whose effects are not known"},
		{EffectSecret, "it may read credentials"},
		{EffectOutside, "it touches paths outside the workspace"},
		{EffectSpend, "it may spend money"},
	} {
		if e.Flags&f.flag != 0 {
			return f.text
		}
	}
	if !readsWorkspace(req) {
		return "it reads outside the workspace"
	}
	return "it writes"
}
