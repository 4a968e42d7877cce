package openai

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/internal/wire"
)

// responsesEvent is one event of a Responses stream.
type responsesEvent struct {
	Type        string          `json:"type"`
	OutputIndex int             `json:"output_index"`
	Delta       json.RawMessage `json:"delta"`
	Arguments   string          `json:"arguments"`
	Item        json.RawMessage `json:"item"`
	Response    *response       `json:"response"`
	Error       json.RawMessage `json:"error"`
	Object      string          `json:"object"`
}

// response is a whole answer of the Responses API.
type response struct {
	ID                string            `json:"id"`
	Object            string            `json:"object"`
	Status            string            `json:"status"`
	Error             json.RawMessage   `json:"error"`
	Output            []json.RawMessage `json:"output"`
	IncompleteDetails struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage *struct {
		Input        int64 `json:"input_tokens"`
		Output       int64 `json:"output_tokens"`
		InputDetails struct {
			Cached     int64 `json:"cached_tokens"`
			CacheWrite int64 `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		OutputDetails struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	} `json:"usage"`
}

// responsesItem is an output item, with the fields that this package understands.
type responsesItem struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Encrypted string `json:"encrypted_content"`
	Content   []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
	Summary []struct {
		Text string `json:"text"`
	} `json:"summary"`
}

// openItem is an output item while it is streamed.
type openItem struct {
	call      int  // index of its call
	announced bool // its call was begun
	streamed  bool // part of it was passed on
	parts     int  // summary parts begun
	done      bool
}

// responsesDecoder reads one Responses stream.
type responsesDecoder struct {
	m       *Model
	prefix  string // of ids for calls that have none from the server
	items   map[int]*openItem
	calls   int
	refused bool
	final   *response
	done    bool
}

func (d *responsesDecoder) complete() bool { return d.final != nil }
func (d *responsesDecoder) finished() bool { return d.done }

func (d *responsesDecoder) item(index int) *openItem {
	if d.items == nil {
		d.items = map[int]*openItem{}
	}
	it := d.items[index]
	if it == nil {
		it = &openItem{}
		d.items[index] = it
	}
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
		e.Type = ev.Name
	}
	switch e.Type {
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		return out, d.end(e.Response)
	case "error":
		failure, _ := parseError(data)
		return out, d.m.modelError(0, failure)
	case "":
		return d.untyped(data, &e, out)
	}
	return d.piece(&e, out), nil
}

// untyped reads an object without a type: an error object, or the answer of a server that does not
// stream.
func (d *responsesDecoder) untyped(data []byte, e *responsesEvent, out []agent.Chunk) ([]agent.Chunk, error) {
	if len(e.Error) > 0 && string(e.Error) != "null" {
		failure, _ := parseError(data)
		return out, d.m.modelError(0, failure)
	}
	var r response
	if e.Object != "response" || json.Unmarshal(data, &r) != nil {
		return out, nil
	}
	for i, raw := range r.Output {
		out = d.itemDone(i, raw, out)
	}
	return out, d.end(&r)
}

// piece reads an event in the middle of the stream.
func (d *responsesDecoder) piece(e *responsesEvent, out []agent.Chunk) []agent.Chunk {
	it := d.item(e.OutputIndex)
	switch e.Type {
	case "response.output_item.added":
		return d.itemAdded(it, e.Item, out)
	case "response.output_item.done":
		return d.itemDone(e.OutputIndex, e.Item, out)
	case "response.output_text.delta", "response.refusal.delta":
		d.refused = d.refused || e.Type == "response.refusal.delta"
		return passOn(it, agent.TextDelta{Text: text(e.Delta)}, out)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return passOn(it, agent.ThinkingDelta{Text: text(e.Delta), Provider: d.m.thinker}, out)
	case "response.reasoning_summary_part.added":
		if it.parts++; it.parts > 1 && it.streamed {
			return append(out, agent.ThinkingDelta{Text: "\n\n", Provider: d.m.thinker})
		}
	case "response.function_call_arguments.delta":
		if it.announced {
			return passOn(it, agent.ToolCallDelta{Index: it.call, Args: text(e.Delta)}, out)
		}
	}
	return out
}

func passOn(it *openItem, c agent.Chunk, out []agent.Chunk) []agent.Chunk {
	switch c := c.(type) {
	case agent.TextDelta:
		if c.Text == "" {
			return out
		}
	case agent.ThinkingDelta:
		if c.Text == "" {
			return out
		}
	case agent.ToolCallDelta:
		if c.Args == "" {
			return out
		}
	}
	it.streamed = true
	return append(out, c)
}

func (d *responsesDecoder) itemAdded(it *openItem, raw json.RawMessage, out []agent.Chunk) []agent.Chunk {
	var item responsesItem
	if json.Unmarshal(raw, &item) != nil || item.Type != "function_call" || item.Name == "" || item.CallID == "" {
		return out
	}
	return d.begin(it, &item, out)
}

func (d *responsesDecoder) begin(it *openItem, item *responsesItem, out []agent.Chunk) []agent.Chunk {
	it.announced, it.call = true, d.calls
	d.calls++
	id := item.CallID
	if id == "" {
		id = d.prefix + strconv.Itoa(it.call)
	}
	return append(out, agent.ToolCallStart{Index: it.call, ID: id, Name: item.Name})
}

// itemDone reads a whole item: the parts of it that did not stream, and those that come only at its
// end.
func (d *responsesDecoder) itemDone(index int, raw json.RawMessage, out []agent.Chunk) []agent.Chunk {
	it := d.item(index)
	var item responsesItem
	if it.done || json.Unmarshal(raw, &item) != nil {
		return out
	}
	it.done = true
	switch item.Type {
	case "function_call":
		if !it.announced {
			out = d.begin(it, &item, out)
		}
		if !it.streamed {
			out = passOn(it, agent.ToolCallDelta{Index: it.call, Args: item.Arguments}, out)
		}
	case "message":
		if it.streamed {
			return out
		}
		for _, c := range item.Content {
			d.refused = d.refused || c.Refusal != ""
			out = passOn(it, agent.TextDelta{Text: c.Text + c.Refusal}, out)
		}
	case "reasoning":
		return d.reasoningDone(it, &item, out)
	case "":
	default:
		return append(out, agent.Opaque{Provider: responseItems, Data: append(json.RawMessage(nil), raw...)})
	}
	return out
}

// reasoningDone closes a reasoning item with its signature.
func (d *responsesDecoder) reasoningDone(it *openItem, item *responsesItem, out []agent.Chunk) []agent.Chunk {
	end := agent.ThinkingDelta{Signature: item.Encrypted, Provider: d.m.thinker}
	if !it.streamed {
		var texts []string
		for _, s := range item.Summary {
			texts = append(texts, s.Text)
		}
		for _, c := range item.Content {
			texts = append(texts, c.Text)
		}
		end.Text = strings.Join(texts, "\n\n")
	}
	if end.Text == "" && end.Signature == "" {
		return out
	}
	return append(out, end)
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
	failure := apiError{Message: "the response " + r.Status}
	if len(r.Error) > 0 && string(r.Error) != "null" {
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
	if u := d.final.Usage; u != nil {
		out = append(out, agent.Usage{Input: u.Input, CachedInput: u.InputDetails.Cached, CacheWrite: u.InputDetails.CacheWrite,
			Output: u.Output, Reasoning: u.OutputDetails.Reasoning})
	}
	return append(out, agent.Finish{Reason: d.reason()}), nil
}

func (d *responsesDecoder) reason() agent.FinishReason {
	if d.final.Status == "incomplete" {
		switch d.final.IncompleteDetails.Reason {
		case "max_output_tokens", "max_tokens", "length":
			return agent.FinishLength
		case "content_filter":
			return agent.FinishFilter
		}
		return agent.FinishOther
	}
	switch {
	case d.calls > 0:
		return agent.FinishTools
	case d.refused:
		return agent.FinishRefusal
	}
	return agent.FinishStop
}
