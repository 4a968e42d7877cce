package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/json/jsontree"
	"github.com/luthier-dev/luthier/router/internal/wire"
)

// responsesEvent is one event of a Responses stream.
type responsesEvent struct {
	Type        wire.String          `json:"type"`
	OutputIndex wire.Int             `json:"output_index"`
	ItemID      wire.String          `json:"item_id"`
	Delta       json.RawMessage      `json:"delta"`
	Arguments   wire.String          `json:"arguments"`
	Item        json.RawMessage      `json:"item"`
	Response    wire.Maybe[response] `json:"response"`
	Error       json.RawMessage      `json:"error"`
	Object      wire.String          `json:"object"`
}

// response is a whole answer of the Responses API.
type response struct {
	Object            wire.String                `json:"object"`
	Status            wire.String                `json:"status"`
	Error             json.RawMessage            `json:"error"`
	Output            wire.List[json.RawMessage] `json:"output"`
	IncompleteDetails wire.Maybe[struct {
		Reason wire.String `json:"reason"`
	}] `json:"incomplete_details"`
	Usage wire.Maybe[responsesUsage] `json:"usage"`
}

type responsesUsage struct {
	Input        wire.Int `json:"input_tokens"`
	Output       wire.Int `json:"output_tokens"`
	InputDetails wire.Maybe[struct {
		Cached     wire.Int `json:"cached_tokens"`
		CacheWrite wire.Int `json:"cache_write_tokens"`
	}] `json:"input_tokens_details"`
	OutputDetails wire.Maybe[struct {
		Reasoning wire.Int `json:"reasoning_tokens"`
	}] `json:"output_tokens_details"`
}

// responsesItem is an output item, with the fields that this package understands.
type responsesItem struct {
	ID        wire.String     `json:"id"`
	Type      wire.String     `json:"type"`
	CallID    wire.String     `json:"call_id"`
	Name      wire.String     `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Input     wire.String     `json:"input"` // of a custom tool: any text
	Encrypted wire.String     `json:"encrypted_content"`
	Content   wire.List[struct {
		Type    wire.String `json:"type"`
		Text    wire.String `json:"text"`
		Refusal wire.String `json:"refusal"`
	}] `json:"content"`
	Summary wire.List[struct {
		Text wire.String `json:"text"`
	}] `json:"summary"`
}

// callItemFields are the fields of a call that are sent again in another form, or mean nothing to a
// server that stores no conversation.
var callItemFields = []string{"id", "type", "call_id", "name", "arguments", "input", "status"}

// openItem is an output item while it is streamed.
type openItem struct {
	index    wire.Int // the server's
	id       wire.String
	call     int64 // our number of its call, from 1; 0 for none
	streamed bool  // part of it was passed on
	parts    int   // summary parts begun
	done     bool
}

// responsesDecoder reads one Responses stream.
type responsesDecoder struct {
	m       *Model
	items   []*openItem
	calls   wire.Calls
	seen    bool // some of the answer came before the final response
	refused bool
	final   *response
	done    bool
}

func (d *responsesDecoder) complete() bool { return d.final != nil }
func (d *responsesDecoder) finished() bool { return d.done }

// item returns the item of an event. Items differ by their place in the output, and by
// their ids if several have one place. Some servers make up another id for every event.
func (d *responsesDecoder) item(index wire.Int, id wire.String, begins bool) *openItem {
	var last *openItem
	for _, it := range d.items {
		if it.index.N != index.N {
			continue
		}
		if id != "" && it.id == id {
			return it
		}
		last = it
	}
	if last != nil && !(begins && (last.done || (last.id != "" && id != ""))) {
		return last
	}
	it := &openItem{index: index, id: id}
	d.items = append(d.items, it)
	return it
}

func (d *responsesDecoder) event(ev wire.Event, out []agent.Chunk) ([]agent.Chunk, error) {
	data := bytes.TrimSpace(ev.Data)
	if len(data) == 0 || bytes.HasPrefix(data, doneMark) {
		d.done = d.done || len(data) > 0
		return out, nil
	}
	var e responsesEvent
	if err := json.Unmarshal(data, &e); err != nil {
		if ev.Partial && d.complete() {
			return out, nil
		}
		return out, d.m.badEvent(ev, err)
	}
	if e.Type == "" {
		e.Type = wire.String(ev.Name)
	}
	switch e.Type {
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done":
		if !e.Response.Set {
			return out, d.end(nil)
		}
		out = d.unseen(&e.Response.V, out)
		return out, d.end(&e.Response.V)
	case "error":
		failure, _ := parseError(data)
		return out, d.m.modelError(0, failure)
	case "", "message":
		return d.untyped(data, &e, out)
	}
	n := len(out)
	out = d.piece(&e, out)
	d.seen = d.seen || len(out) > n
	return out, nil
}

// unseen reads the items of a final response that no earlier event sent: all of them if the server
// streams none, otherwise calls.
func (d *responsesDecoder) unseen(r *response, out []agent.Chunk) []agent.Chunk {
	for i, raw := range r.Output {
		var item responsesItem
		if json.Unmarshal(raw, &item) != nil {
			continue
		}
		call := item.Type == "function_call" || item.Type == "custom_tool_call"
		if !d.seen || (call && !d.calls.Has(string(item.CallID))) {
			out = d.itemDone(&openItem{index: wire.Int{N: int64(i), Set: true}}, raw, out)
		}
	}
	return out
}

// untyped reads an object without a type: an error object, or the answer of a server that does not
// stream.
func (d *responsesDecoder) untyped(data []byte, e *responsesEvent, out []agent.Chunk) ([]agent.Chunk, error) {
	if !wire.Absent(e.Error) {
		failure, _ := parseError(data)
		return out, d.m.modelError(0, failure)
	}
	var r response
	if e.Object != "response" || json.Unmarshal(data, &r) != nil {
		return out, nil
	}
	for i, raw := range r.Output {
		out = d.itemDone(&openItem{index: wire.Int{N: int64(i), Set: true}}, raw, out)
	}
	return out, d.end(&r)
}

// piece reads an event in the middle of the stream.
func (d *responsesDecoder) piece(e *responsesEvent, out []agent.Chunk) []agent.Chunk {
	switch e.Type {
	case "response.output_item.added", "response.output_item.done":
		var item responsesItem
		_ = json.Unmarshal(e.Item, &item)
		it := d.item(e.OutputIndex, item.ID, e.Type == "response.output_item.added")
		if e.Type == "response.output_item.added" {
			return d.itemAdded(it, e.Item, &item, out)
		}
		return d.itemDone(it, e.Item, out)
	}
	it := d.item(e.OutputIndex, e.ItemID, false)
	switch e.Type {
	case "response.output_text.delta", "response.refusal.delta":
		d.refused = d.refused || e.Type == "response.refusal.delta"
		return passText(it, text(e.Delta), out)
	case "response.reasoning_text.delta":
		if d.m.cfg.Summary == "" {
			return out // kept whole at its end, see reasoningDone
		}
		return d.passThought(it, text(e.Delta), out)
	case "response.reasoning_summary_text.delta":
		return d.passThought(it, text(e.Delta), out)
	case "response.reasoning_summary_part.added":
		if it.parts++; it.parts > 1 && it.streamed {
			return append(out, agent.ThinkingDelta{Text: "\n\n", Provider: d.m.thinker})
		}
	case "response.function_call_arguments.delta":
		if it.call > 0 {
			return d.calls.Add(wire.CallDelta{Index: wire.Int{N: it.call, Set: true}, Args: text(e.Delta)}, out)
		}
	}
	return out
}

func passText(it *openItem, s string, out []agent.Chunk) []agent.Chunk {
	if s == "" {
		return out
	}
	it.streamed = true
	return append(out, agent.TextDelta{Text: s})
}

func (d *responsesDecoder) passThought(it *openItem, s string, out []agent.Chunk) []agent.Chunk {
	if s == "" {
		return out
	}
	it.streamed = true
	return append(out, agent.ThinkingDelta{Text: s, Provider: d.m.thinker})
}

func (d *responsesDecoder) itemAdded(it *openItem, raw json.RawMessage, item *responsesItem, out []agent.Chunk) []agent.Chunk {
	if item.Type != "function_call" || item.Name == "" || item.CallID == "" {
		return out
	}
	return d.addCall(it, raw, item, "", out)
}

// addCall announces the call of an item, with arguments or without.
func (d *responsesDecoder) addCall(it *openItem, raw json.RawMessage, item *responsesItem, args string, out []agent.Chunk) []agent.Chunk {
	it.call = int64(d.calls.Count() + 1)
	return d.calls.Add(wire.CallDelta{Index: wire.Int{N: it.call, Set: true}, ID: string(item.CallID), Name: string(item.Name),
		Args: args, Fields: wire.Unknown(raw, callItemFields...), Last: args != ""}, out)
}

// itemDone reads a whole item: the parts of it that did not stream, and those that come only at its
// end.
func (d *responsesDecoder) itemDone(it *openItem, raw json.RawMessage, out []agent.Chunk) []agent.Chunk {
	var item responsesItem
	if it.done || json.Unmarshal(raw, &item) != nil {
		return out
	}
	it.done = true
	switch item.Type {
	case "function_call", "custom_tool_call":
		args := text(item.Arguments)
		if item.Type == "custom_tool_call" { // its input is any text: a call has an object
			args = `{"input":` + string(jsontree.AppendQuoted(nil, string(item.Input))) + `}`
		}
		if it.call == 0 {
			return d.addCall(it, raw, &item, args, out)
		}
		return d.calls.End(it.call, args, wire.Unknown(raw, callItemFields...), out)
	case "message":
		if it.streamed {
			return out
		}
		for _, c := range item.Content {
			d.refused = d.refused || c.Refusal != ""
			out = passText(it, string(c.Text+c.Refusal), out)
		}
	case "reasoning":
		return d.reasoningDone(it, raw, &item, out)
	case "":
	default:
		return append(out, agent.Opaque{Provider: responseItems, Data: append(json.RawMessage(nil), raw...)})
	}
	return out
}

// reasoningDone closes a reasoning item with its signature. Raw reasoning, which open models show
// instead of a summary, is kept as it is for the server that sent it. It is shown if Config.Summary
// asks for reasoning.
func (d *responsesDecoder) reasoningDone(it *openItem, raw json.RawMessage, item *responsesItem, out []agent.Chunk) []agent.Chunk {
	end := agent.ThinkingDelta{Signature: string(item.Encrypted), Provider: d.m.thinker}
	if !it.streamed {
		var texts []string
		for _, s := range item.Summary {
			texts = append(texts, string(s.Text))
		}
		if d.m.cfg.Summary != "" {
			for _, c := range item.Content {
				texts = append(texts, string(c.Text))
			}
		}
		end.Text = strings.Join(texts, "\n\n")
	}
	if end.Text != "" || end.Signature != "" {
		out = append(out, end)
	}
	if end.Signature == "" && len(item.Content) > 0 {
		out = append(out, agent.Opaque{Provider: d.m.thinker, Data: append(json.RawMessage(nil), raw...)})
	}
	return out
}

// end handles the terminal event.
func (d *responsesDecoder) end(r *response) error {
	if r == nil {
		return errIncomplete("with a terminal event that holds no response")
	}
	d.final, d.done = r, true
	if r.Status != "failed" && r.Status != "cancelled" {
		return nil
	}
	failure := apiError{Message: "the response " + string(r.Status)}
	if !wire.Absent(r.Error) {
		failure = apiError{}
		if json.Unmarshal(r.Error, &failure) != nil {
			failure.Message = text(r.Error)
		}
	}
	return d.m.modelError(0, failure)
}

func (d *responsesDecoder) finish() (out []agent.Chunk, err error) {
	if d.final == nil {
		return nil, errIncomplete("before response.completed")
	}
	out = d.calls.Flush(out)
	if u := d.final.Usage.V; d.final.Usage.Set && u.Input.Set {
		out = append(out, agent.Usage{Input: u.Input.N, CachedInput: u.InputDetails.V.Cached.N, CacheWrite: u.InputDetails.V.CacheWrite.N,
			Output: u.Output.N, Reasoning: u.OutputDetails.V.Reasoning.N})
	}
	return append(out, agent.Finish{Reason: d.reason()}), nil
}

func (d *responsesDecoder) reason() agent.FinishReason {
	if d.final.Status == "incomplete" {
		if reason, failed := wire.Finish(string(d.final.IncompleteDetails.V.Reason)); failed == "" && reason != agent.FinishStop {
			return reason
		}
		return agent.FinishOther
	}
	if d.final.Status != "completed" && d.final.Status != "" { // such as queued: there is no answer yet
		return agent.FinishOther
	}
	switch {
	case d.calls.Count() > 0:
		return agent.FinishTools
	case d.refused:
		return agent.FinishRefusal
	}
	return agent.FinishStop
}
