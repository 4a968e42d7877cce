package agent

import "strings"

// Effects says what a call may touch. The zero value means nothing is known: such a call runs
// alone, counts as a write, and is never approved as harmless.
type Effects struct {
	Known bool // the lists and flags below are complete
	// Reads and Writes name resources. A name that starts with a scheme ("todo:", "proc:3") is a
	// resource of exactly that name. Any other name is a slash-separated path, relative to the
	// workspace or absolute, that covers everything below it; "." is the whole workspace.
	Reads, Writes []string
	Flags         EffectFlags
	Reasons       []string // the reasons, in words, for explanations
}

// EffectFlags are effects beyond reading and writing named resources.
type EffectFlags uint32

// The effect flags.
const (
	EffectDelete  EffectFlags = 1 << iota // removes files
	EffectKill                            // signals processes
	EffectNetwork                         // may reach the network
	EffectExec                            // runs programs whose effects are not known from their name
	EffectOutside                         // touches paths outside the workspace
	EffectSecret                          // may read credentials
	EffectSpend                           // may spend money, such as a sub-agent's model calls
	EffectObeyed                          // writes a file that something later obeys or executes: hooks, settings, instructions
)

// ReadOnly returns the effects of a call that only reads the given resources.
func ReadOnly(reads ...string) Effects { return Effects{Known: true, Reads: reads} }

// Writing returns the effects of a call that reads and writes the given resources.
func Writing(writes ...string) Effects { return Effects{Known: true, Writes: writes} }

// IsReadOnly reports whether the effects are known and include no write and no flag.
func (e Effects) IsReadOnly() bool { return e.Known && len(e.Writes) == 0 && e.Flags == 0 }

// EffectsOf returns the effects of call: if the tool is an [Effecter], what the tool reports for
// this call, otherwise the effects in its spec.
func EffectsOf(t Tool, call ToolCall) Effects {
	if e, ok := t.(Effecter); ok {
		return e.CallEffects(call)
	}
	return t.Spec().Effects
}

// Resources of the session itself. Writing them changes nothing outside the session, so plan mode
// allows it.
const (
	ResourcePlan  = "session:plan"
	ResourceTodos = "session:todos"
)

// changesNothing reports whether a call changes nothing outside the session: its effects are known,
// it writes at most the session's own resources, and it has no flag except spending.
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

var flagNames = []string{"deletes", "kills", "network", "executes", "outside the workspace", "secrets", "spends", "writes what is obeyed later"}

// String returns the effects in one line, such as "reads go.mod; writes a.go; deletes".
func (e Effects) String() string {
	var parts []string
	if !e.Known {
		parts = append(parts, "unknown")
	}
	if len(e.Reads) > 0 {
		parts = append(parts, "reads "+strings.Join(e.Reads, ", "))
	}
	if len(e.Writes) > 0 {
		parts = append(parts, "writes "+strings.Join(e.Writes, ", "))
	}
	for i, name := range flagNames {
		if e.Flags&(1<<i) != 0 {
			parts = append(parts, name)
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return visibleLine(strings.Join(parts, "; "))
}
