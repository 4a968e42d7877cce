package luthier

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools/coding"
)

// This file has what a toolbox and an agent on another machine say to each other, within the
// requests of package remote.

// farVersion changes with anything here that the other side must know.
const farVersion = 1

// farSpecs describes a toolbox to an agent.
type farSpecs struct {
	Version   int       `json:"version"`
	Box       string    `json:"box"`  // names this toolbox; another one remembers nothing of it
	Name      string    `json:"name"` // of the workspace, as commands see it
	ID        string    `json:"id"`
	OS        string    `json:"os"`
	Arch      string    `json:"arch"`
	Isolation string    `json:"isolation"` // in words
	Sandboxed bool      `json:"sandboxed"` // commands run in a sandbox
	Indexed   bool      `json:"indexed"`
	Tools     []farSpec `json:"tools"` // in the order in which a model is shown them
}

// farSpec describes a tool.
type farSpec struct {
	Name        string          `json:"name"`
	AtClient    bool            `json:"at_client,omitempty"` // the client has this tool itself; only its place is meant
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Effects     farEffects      `json:"effects,omitzero"`
	Timeout     time.Duration   `json:"timeout,omitempty"`
	Writes      bool            `json:"writes,omitempty"` // every call changes files
	Extra       bool            `json:"extra,omitempty"`  // it is none of the coding tools
}

// farEffects are agent.Effects.
type farEffects struct {
	Known   bool              `json:"known,omitempty"`
	Reads   []string          `json:"reads,omitempty"`
	Writes  []string          `json:"writes,omitempty"`
	Flags   agent.EffectFlags `json:"flags,omitempty"`
	Reasons []string          `json:"reasons,omitempty"`
}

// farDescription is an agent.CallDescription.
type farDescription struct {
	Title     string `json:"title,omitempty"`
	Exact     string `json:"exact,omitempty"`
	Detail    string `json:"detail,omitempty"`
	Where     string `json:"where,omitempty"`
	Sandboxed bool   `json:"sandboxed,omitempty"`
}

// farCall is a call, as the arguments of a remote.ToolRequest.
type farCall struct {
	Call agent.ToolCall `json:"call"`
	// Allowed limits a call that was not prepared. Nil allows everything: the call was approved as
	// it was prepared.
	Allowed *farEffects `json:"allowed,omitempty"`
	// Dry runs commands in trials, about which the client decides.
	Dry bool `json:"dry,omitempty"`
}

// farQuestion asks the client; exactly one field is set.
type farQuestion struct {
	Question *coding.Question     `json:"question,omitempty"` // the answer is a string
	Trial    *coding.CommandTrial `json:"trial,omitempty"`    // the answer is a farKeep
}

// farKeep says whether what a command changed in a trial is kept.
type farKeep struct {
	Keep   bool   `json:"keep"`
	Reason string `json:"reason,omitempty"`
}

// farResult is the result of a call.
type farResult struct {
	Result *agent.ToolResult `json:"result,omitempty"`
	// Exceeds reports that nothing was done, since the call would do more than is allowed.
	Exceeds bool `json:"exceeds,omitempty"`
}

// farInstruction is an agent.Instruction.
type farInstruction struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// atClient lists the coding tools that belong to the session, not to the workspace.
var atClient = []string{"read_artifact", "todo", "plan", "ask_user", "agent"}

// alwaysWrites lists the tools of which every call changes files.
var alwaysWrites = []string{"write", "edit", "apply_patch"}

// exceeds reports whether a call would do more than is allowed.
func exceeds(e agent.Effects, allowed *farEffects) bool {
	if allowed == nil {
		return false
	}
	within := func(names, of []string) bool {
		return !slices.ContainsFunc(names, func(n string) bool {
			return !slices.ContainsFunc(of, func(o string) bool { return n == o || agent.PathUnder(n, o) })
		})
	}
	return !e.Known || e.Flags&^allowed.Flags != 0 || !within(e.Writes, allowed.Writes) ||
		!within(e.Reads, append(slices.Clone(allowed.Reads), allowed.Writes...))
}
