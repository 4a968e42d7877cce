package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/json/jsonstream"
)

// CallDelta is a piece of a tool call, as a server streams it.
type CallDelta struct {
	Index  Int    // the server's number of the call, if it sent one
	ID     string // the server's id of the call, if it sent one
	Name   string
	Args   string
	Fields json.RawMessage // object of the fields that this library does not know; nil for none
	// Whole says that the delta is a complete call, so that it continues no other.
	Whole bool
	Last  bool // the answer ends with this event: no arguments follow
}

// Calls sorts the deltas of one answer into calls. Its zero value, with a Prefix, is ready.
//
// OpenAI numbers calls by index and sends id and name in the first delta. Compatible servers leave
// out the index or the id, put every call under index 0 and tell them apart by id only, repeat id,
// name and type in every delta, make up a new id for every delta, send the name after the id, or
// announce a call with the arguments "{}" before the real ones. Two rules keep one call from
// getting the arguments of another: an id that is known decides, and arguments that say nothing are
// passed on only at the end of the answer.
type Calls struct {
	Prefix string // of ids for calls that have none from the server
	Owner  string // provider of the fields in [CallDelta.Fields]; empty drops them

	list  []*call
	begun int // number of calls announced
	event int // number of the event that is being read
	mixed bool
	ended *call // a call that no later delta can continue
}

type call struct {
	wire    Int // the server's index
	wireID  string
	id      string // ours, once begun
	name    string
	index   int // ours, once begun
	begun   bool
	whole   bool
	event   int // the event that last continued it
	scan    jsonstream.Scanner
	args    string // that were not passed on: they came before the name, or say nothing
	sent    bool   // some arguments were passed on
	once    string // the arguments, if one delta brought them whole
	fields  []byte
	spilled bool // its arguments are complete: what follows is not part of them
}

// Count returns the number of calls.
func (t *Calls) Count() int { return len(t.list) }

// Has reports whether there is a call with this id of the server. Without an id it reports whether
// there is any call.
func (t *Calls) Has(id string) bool {
	return slices.ContainsFunc(t.list, func(c *call) bool { return id == "" || c.wireID == id })
}

// Mixed reports whether arguments came that fit two calls equally well.
func (t *Calls) Mixed() bool { return t.mixed }

// Next begins the deltas of another event: those of one event without an index belong to different
// calls.
func (t *Calls) Next() { t.event++ }

// Add handles one delta and appends its chunks to out.
func (t *Calls) Add(d CallDelta, out []agent.Chunk) []agent.Chunk {
	if d.Name == "" && d.ID == "" && d.Args == "" && d.Fields == nil {
		return out
	}
	c := t.find(&d)
	if c == nil {
		if t.ended != nil {
			out, t.ended = t.release(t.ended, out), nil
		}
		c = &call{wire: d.Index, whole: d.Whole}
		t.list = append(t.list, c)
	}
	c.event = t.event
	if c.wireID == "" {
		c.wireID = d.ID
	}
	if c.name == "" {
		c.name = d.Name
	}
	pending, args := t.arguments(c, &d)
	if !c.begun && c.name != "" {
		out = t.begin(c, out)
	}
	if c.begun && args != "" {
		out = t.pass(c, args, t.pass(c, pending, out))
	}
	return t.keepFields(c, d.Fields, out)
}

// pass passes arguments of a call on.
func (t *Calls) pass(c *call, args string, out []agent.Chunk) []agent.Chunk {
	if args == "" {
		return out
	}
	c.sent = true
	return append(out, agent.ToolCallDelta{Index: c.index, Args: args})
}

// arguments adds the arguments of a delta to c and returns those to pass on: some that waited for
// the call's name, and those of the delta.
func (t *Calls) arguments(c *call, d *CallDelta) (pending, now string) {
	if d.Args == "" {
		return "", ""
	}
	if c.scan.Complete() && !SaysNothing(c.args) { // what follows is a repetition
		if d.Name == "" && d.ID == "" && opens(d.Args) && t.emptyBefore(c) {
			t.mixed = true
		}
		return "", ""
	}
	first := !c.sent && strings.TrimSpace(c.args) == ""
	if !first && !c.sent && SaysNothing(c.args) && strings.TrimSpace(d.Args) == "" {
		return "", ""
	}
	if !first && !c.sent && SaysNothing(c.args) && opens(d.Args) { // announced with "{}", now streamed
		c.args, c.scan = "", jsonstream.Scanner{}
		first = true
	}
	if first && SaysNothing(d.Args) && !d.Whole && !d.Last {
		c.args = d.Args
		c.scan = jsonstream.Scanner{}
		return "", ""
	}
	if c.scan.Feed(d.Args) && first {
		c.once = d.Args
	}
	if c.name == "" {
		c.args += d.Args
		return "", ""
	}
	pending = c.args
	c.args = ""
	return pending, d.Args
}

// SaysNothing reports whether arguments hold none: servers announce a call with them and stream the
// real ones afterwards.
func SaysNothing(args string) bool {
	s := strings.TrimSpace(args)
	if s == "null" || s == `""` || s == `"{}"` {
		return true
	}
	return len(s) >= 2 && s[0] == '{' && s[len(s)-1] == '}' && strings.TrimSpace(s[1:len(s)-1]) == ""
}

// opens reports whether arguments begin with an object.
func opens(args string) bool { return strings.HasPrefix(strings.TrimLeft(args, " \t\r\n"), "{") }

// emptyBefore reports whether a call before c has the same number and no arguments.
func (t *Calls) emptyBefore(c *call) bool {
	for _, o := range t.list {
		if o == c {
			break
		}
		if o.wire == c.wire && !o.sent && o.args == "" {
			return true
		}
	}
	return false
}

// find returns the call that a delta continues, or nil for a new one.
func (t *Calls) find(d *CallDelta) *call {
	if d.Whole || len(t.list) == 0 {
		return nil
	}
	if d.ID != "" { // an id that is known decides
		for _, c := range slices.Backward(t.list) {
			if c.wireID == d.ID && (c.wire == d.Index || !d.Index.Set || !c.wire.Set) {
				return t.unless(c, d)
			}
		}
	}
	if !d.Index.Set {
		return t.unless(t.list[len(t.list)-1], d)
	}
	for _, c := range slices.Backward(t.list) {
		if c.wire == d.Index {
			return t.unless(c, d)
		}
	}
	return nil
}

// unless returns c unless d begins another call.
func (t *Calls) unless(c *call, d *CallDelta) *call {
	switch {
	case c.endedBy(d):
		if c.wireID == "" || c.wireID == d.ID {
			t.ended = c
		}
		return nil
	case c.whole || (!d.Index.Set && c.event == t.event && c.event > 0):
		return nil
	}
	return c
}

// endedBy reports whether a delta that could continue c starts another call.
func (c *call) endedBy(d *CallDelta) bool {
	otherID := d.ID != "" && c.wireID != "" && d.ID != c.wireID
	complete := c.scan.Complete()
	switch {
	case d.Name == "": // more arguments, possibly under an id made up for this delta
		return otherID && complete && opens(d.Args)
	case c.name == "":
		return otherID
	case d.Name != c.name:
		return true
	case otherID: // an id made up for this delta, if its arguments cannot be the first of a call
		middle := c.scan.Started() && !complete && d.Args != "" && !opens(d.Args)
		return !middle
	case d.ID != "" && d.ID == c.wireID:
		return complete && opens(d.Args) && !c.repeats(d.Args)
	case d.Args == "":
		return c.empty()
	}
	return complete || (SaysNothing(c.args) && json.Valid([]byte(d.Args)))
}

// empty reports whether c has no arguments so far.
func (c *call) empty() bool { return !c.sent && c.args == "" }

// repeats reports whether args can be the arguments of c, sent again.
func (c *call) repeats(args string) bool {
	return args == c.once || (c.once == "" && json.Valid([]byte(args)))
}

// begin announces a call.
func (t *Calls) begin(c *call, out []agent.Chunk) []agent.Chunk {
	c.begun, c.index = true, t.begun
	t.begun++
	return append(out, agent.ToolCallStart{Index: c.index, ID: t.uniqueID(c), Name: c.name})
}

// uniqueID returns the call's id, or one made from its position in the conversation, so that it is
// the same in a replay and differs from those of earlier answers.
func (t *Calls) uniqueID(c *call) string {
	base := c.wireID
	if base == "" {
		base = t.Prefix + strconv.Itoa(c.index)
	}
	used := func(id string) bool {
		return slices.ContainsFunc(t.list, func(o *call) bool { return o != c && o.begun && o.id == id })
	}
	c.id = base
	for n := 2; used(c.id); n++ {
		c.id = base + "_" + strconv.Itoa(n)
	}
	return c.id
}

// keepFields passes on the fields of a call that this library does not know, once it has an id.
func (t *Calls) keepFields(c *call, fields json.RawMessage, out []agent.Chunk) []agent.Chunk {
	if fields != nil && t.Owner != "" && !bytes.Equal(fields, c.fields) {
		c.fields, c.spilled = slices.Clone(fields), false
	}
	if c.begun && c.fields != nil && !c.spilled {
		c.spilled = true
		out = append(out, CallFields(t.Owner, c.id, c.fields))
	}
	return out
}

// End ends the call with that number of the server: args are all its arguments. They are passed on
// unless they came piece by piece.
func (t *Calls) End(index int64, args string, fields json.RawMessage, out []agent.Chunk) []agent.Chunk {
	for _, c := range t.list {
		if c.wire.N != index {
			continue
		}
		out = t.keepFields(c, fields, out)
		if !c.sent {
			if strings.TrimSpace(args) != "" {
				c.args = args
			}
			out = t.release(c, out)
		}
	}
	return out
}

// Flush ends the answer: it announces calls that never got a name, so that the model is informed of
// them, and passes on the arguments that were held back.
func (t *Calls) Flush(out []agent.Chunk) []agent.Chunk {
	for _, c := range t.list {
		out = t.release(c, out)
	}
	return out
}

// release announces a call if that is still to be done, and passes on its arguments.
func (t *Calls) release(c *call, out []agent.Chunk) []agent.Chunk {
	if !c.begun {
		out = t.begin(c, out)
	}
	args := c.args
	if c.args = ""; SaysNothing(args) {
		args = "{}"
	}
	return t.keepFields(c, nil, t.pass(c, args, out))
}
