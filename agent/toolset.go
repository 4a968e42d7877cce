package agent

import "reflect"

// toolset holds the tools that the model is offered in a run. The loop's goroutine changes it
// between steps, when no running call can access it.
type toolset struct {
	agent   *Agent
	session *Session
	mode    mode

	tools  []Tool
	specs  []ToolSpec
	byName map[string]int
	source []Tool // the source's last answer
	ready  bool
}

// refresh updates the tools if those of the source changed. A change within a session is a declared
// breakpoint: requests no longer begin with the bytes of the previous one.
func (t *toolset) refresh() {
	var source []Tool
	if t.agent.cfg.ToolSource != nil {
		source = t.agent.cfg.ToolSource.Tools()
	}
	if t.ready && sameTools(source, t.source) {
		return
	}
	changed := t.ready
	t.source, t.ready = source, true
	t.tools, t.specs = nil, nil // not reused, since views of them are in use
	t.byName = make(map[string]int, len(t.agent.static)+len(source))
	for _, tool := range t.agent.static {
		t.offer(tool)
	}
	for _, tool := range source {
		t.offer(tool)
	}
	t.session.enter(t.mode.plan, changed)
}

// sameTools reports whether a source returned the same tools as before.
func sameTools(a, b []Tool) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) == 0 || &a[0] == &b[0] { // a source does not modify a slice that it returned
		return true
	}
	for i := range a {
		if !sameTool(a[i], b[i]) {
			return false
		}
	}
	return true
}

// sameTool compares tools. Types for which == would panic are compared by their specs.
func sameTool(a, b Tool) bool {
	if a == nil || b == nil || (reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable()) {
		return a == b
	}
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.DeepEqual(a.Spec(), b.Spec())
}

// offer adds a tool. A tool whose name is already taken, or that changes things in plan mode, is
// left out.
func (t *toolset) offer(tool Tool) {
	if tool == nil {
		return
	}
	spec := tool.Spec()
	if t.mode.plan && !changesNothing(&spec.Effects) {
		return
	}
	if _, dup := t.byName[spec.Name]; dup || !toolName.MatchString(spec.Name) {
		if l := t.agent.cfg.Logger; l != nil {
			l.Error("agent: a tool of Config.ToolSource is left out: its name is invalid or taken", "tool", spec.Name)
		}
		return
	}
	t.byName[spec.Name] = len(t.tools)
	t.tools = append(t.tools, tool)
	t.specs = append(t.specs, spec)
}
