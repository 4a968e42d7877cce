package openai

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/jsonstream"
)

// callTracker sorts the tool call deltas of a stream into calls.
//
// OpenAI numbers calls by index and sends id and name in the first delta. Compatible servers leave
// out the index or the id, put every call under index 0, repeat id, name and type in every delta,
// make up a new id for every delta, or send the name after the id.
type callTracker struct {
	prefix string // of ids for calls that have none from the server
	calls  []*trackedCall
	begun  int // number of calls announced
}

type trackedCall struct {
	wire    int // the server's index; -1 for none
	id      string
	name    string
	index   int // ours, once begun
	begun   bool
	scan    jsonstream.Scanner
	pending string // arguments that came before the name
}

func (t *callTracker) count() int { return len(t.calls) }

// delta handles one delta.
func (t *callTracker) delta(c *chatCall, out []agent.Chunk) []agent.Chunk {
	call := t.find(c)
	if call == nil {
		call = &trackedCall{wire: -1}
		if c.Index != nil {
			call.wire = *c.Index
		}
		t.calls = append(t.calls, call)
	}
	if call.id == "" {
		call.id = c.ID
	}
	if call.name == "" {
		call.name = c.Function.Name
	}
	args := arguments(c.Function.Arguments)
	call.scan.Feed(args)
	if !call.begun {
		if call.name == "" {
			call.pending += args
			return out
		}
		out = t.begin(call, out)
	}
	if args != "" {
		out = append(out, agent.ToolCallDelta{Index: call.index, Args: args})
	}
	return out
}

// arguments returns the text of an arguments field.
func arguments(raw json.RawMessage) string {
	if len(raw) > 0 && raw[0] != '"' && string(raw) != "null" {
		return string(raw) // some servers send an object instead of a string
	}
	return text(raw)
}

// find returns the call that a delta continues, or nil for a new one.
func (t *callTracker) find(c *chatCall) *trackedCall {
	if len(t.calls) == 0 {
		return nil
	}
	if c.Index == nil {
		return t.findUnnumbered(c)
	}
	for i := len(t.calls) - 1; i >= 0; i-- {
		if call := t.calls[i]; call.wire == *c.Index {
			if call.endedBy(c) {
				return nil
			}
			return call
		}
	}
	return nil
}

// findUnnumbered finds the call of a delta without an index: by id, or else the last one.
func (t *callTracker) findUnnumbered(c *chatCall) *trackedCall {
	if c.ID != "" {
		for _, call := range t.calls {
			if call.id == c.ID {
				return call
			}
		}
	}
	last := t.calls[len(t.calls)-1]
	if last.endedBy(c) {
		return nil
	}
	return last
}

// endedBy reports whether a delta under call's index starts another call: it has a name, and either
// another id or, without an id to compare, comes after call's arguments are complete.
func (call *trackedCall) endedBy(c *chatCall) bool {
	if c.Function.Name == "" || call.name == "" {
		return false
	}
	if c.ID != "" && call.id != "" {
		return c.ID != call.id
	}
	return call.scan.Complete()
}

// begin announces a call and emits the arguments that were held back.
func (t *callTracker) begin(call *trackedCall, out []agent.Chunk) []agent.Chunk {
	call.begun, call.index = true, t.begun
	t.begun++
	out = append(out, agent.ToolCallStart{Index: call.index, ID: t.uniqueID(call), Name: call.name})
	if call.pending != "" {
		out = append(out, agent.ToolCallDelta{Index: call.index, Args: call.pending})
		call.pending = ""
	}
	return out
}

// uniqueID returns the call's id, or one made from its position in the conversation, so that it is
// the same in a replay and differs from those of earlier answers.
func (t *callTracker) uniqueID(call *trackedCall) string {
	id := call.id
	if id == "" {
		id = t.prefix + strconv.Itoa(call.index)
	}
	used := func(id string) bool {
		return slices.ContainsFunc(t.calls, func(o *trackedCall) bool { return o != call && o.begun && o.id == id })
	}
	for n := 2; used(id); n++ {
		id = call.id + "_" + strconv.Itoa(n)
	}
	call.id = id
	return id
}

// flush announces calls that never got a name, so that the model is informed of them.
func (t *callTracker) flush(out []agent.Chunk) []agent.Chunk {
	for _, call := range t.calls {
		if !call.begun {
			out = t.begin(call, out)
		}
	}
	return out
}
