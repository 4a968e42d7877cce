package agent

import "reflect"

// toolset is what the model is offered in a run.
type toolset struct {
	tools  []Tool
	specs  []ToolSpec
	byName map[string]int
	source []Tool // what the source last gave
	ready  bool
}

// refreshTools takes up the tools of the source when they changed. A change within a session is a declared breakpoint:
// requests no longer begin with the bytes of the last one.
func (r *run) refreshTools() {
	t := &r.toolset
	var source []Tool
	if r.agent.cfg.ToolSource != nil {
		source = r.agent.cfg.ToolSource.Tools()
	}
	if t.ready && sameTools(source, t.source) {
		return
	}
	changed := t.ready
	*t = toolset{source: source, ready: true, byName: make(map[string]int, len(r.agent.static)+len(source))}
	for _, tool := range r.agent.static {
		r.offer(tool)
	}
	for _, tool := range source {
		r.offer(tool)
	}
	r.session.enter(r.plan, changed)
}

// sameTools reports whether a source gave the tools it gave before.
func sameTools(a, b []Tool) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) == 0 || &a[0] == &b[0] { // a source does not modify what it gave
		return true
	}
	for i := range a {
		if !sameTool(a[i], b[i]) {
			return false
		}
	}
	return true
}

// sameTool compares tools of types that == would panic over by what they say of themselves.
func sameTool(a, b Tool) bool {
	if a == nil || b == nil || (reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable()) {
		return a == b
	}
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.DeepEqual(a.Spec(), b.Spec())
}

// offer adds a tool. One that clashes, or changes things in plan mode, is left out.
func (r *run) offer(tool Tool) {
	if tool == nil {
		return
	}
	t := &r.toolset
	spec := tool.Spec()
	if r.plan && !changesNothing(&spec.Effects) {
		return
	}
	if _, dup := t.byName[spec.Name]; dup || !toolName.MatchString(spec.Name) {
		if l := r.agent.cfg.Logger; l != nil {
			l.Error("agent: a tool of Config.ToolSource is left out: its name is invalid or taken", "tool", spec.Name)
		}
		return
	}
	t.byName[spec.Name] = len(t.tools)
	t.tools = append(t.tools, tool)
	t.specs = append(t.specs, spec)
}

// Resources of the session itself. Writing them changes nothing in the world, so plan mode allows it.
const (
	ResourcePlan  = "session:plan"
	ResourceTodos = "session:todos"
)

// changesNothing reports whether a call leaves the world as it is: its effects are known, it writes the session's own
// resources at most, and its flags allow nothing but spending.
func changesNothing(e *Effects) bool {
	if !e.Known || e.Flags&^(EffectSpend|EffectSecret|EffectOutside) != 0 {
		return false
	}
	for _, w := range e.Writes {
		if w != ResourcePlan && w != ResourceTodos {
			return false
		}
	}
	return true
}

func planSystem(system string) string {
	const mode = "You are in plan mode. Look around with the tools you have; nothing may be changed yet. When you know " +
		"enough, answer with a plan: the goal, the files and functions to change, the steps in order, how each will be " +
		"verified, and what is uncertain. Do not carry it out."
	if system == "" {
		return mode
	}
	return system + "\n\n" + mode
}

// enter notes the mode of a run; a change of mode or of tools rewrites the head of later requests.
func (s *Session) enter(plan, toolsChanged bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if toolsChanged || (s.entered && s.planMode != plan) {
		s.epoch++
	}
	s.entered, s.planMode = true, plan
}
