package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/internal/wire"
)

// chatEvent is one event of a chat completion stream, or a whole completion. Its fields are those
// of OpenAI and of compatible servers; unknown ones are ignored. The types of package wire read
// fields of an unexpected type as absent, since no field other than the answer's own may void it.
type chatEvent struct {
	Choices wire.List[chatChoice] `json:"choices"`
	Usage   wire.Maybe[chatUsage] `json:"usage"`
	Error   json.RawMessage       `json:"error"`
	Object  wire.String           `json:"object"` // "error": vLLM's bare error objects
	Type    wire.String           `json:"type"`
}

type chatChoice struct {
	Index        wire.Int              `json:"index"`
	Delta        wire.Maybe[chatDelta] `json:"delta"`
	Message      wire.Maybe[chatDelta] `json:"message"` // in answers that are not streamed
	FinishReason wire.String           `json:"finish_reason"`
	Usage        wire.Maybe[chatUsage] `json:"usage"` // Kimi reports the usage here
}

type chatDelta struct {
	Content          json.RawMessage            `json:"content"` // a string, or a list of parts (Mistral)
	Refusal          wire.String                `json:"refusal"`
	ReasoningContent json.RawMessage            `json:"reasoning_content"` // DeepSeek, Kimi, Qwen, vLLM, SGLang, llama.cpp
	Reasoning        json.RawMessage            `json:"reasoning"`         // OpenRouter, Groq, Ollama, newer vLLM
	ReasoningDetails wire.List[json.RawMessage] `json:"reasoning_details"` // OpenRouter: to be sent back unchanged
	ToolCalls        wire.List[chatCall]        `json:"tool_calls"`
	FunctionCall     wire.Maybe[chatFunction]   `json:"function_call"` // the oldest servers
}

type chatCall struct {
	Index    wire.Int                 `json:"index"`
	ID       wire.String              `json:"id"`
	Function wire.Maybe[chatFunction] `json:"function"`

	fields json.RawMessage // those that this package does not know
}

// UnmarshalJSON also keeps the fields that this package does not know.
func (c *chatCall) UnmarshalJSON(data []byte) error {
	type plain chatCall
	if err := json.Unmarshal(data, (*plain)(c)); err != nil {
		return err
	}
	c.fields = wire.Unknown(data, "index", "id", "type", "function")
	var outer struct {
		Function json.RawMessage `json:"function"`
	}
	if json.Unmarshal(data, &outer) == nil {
		if inner := wire.Unknown(outer.Function, "name", "arguments"); inner != nil {
			c.fields = wire.Join(c.fields, "function", inner)
		}
	}
	return nil
}

type chatFunction struct {
	Name      wire.String     `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a string, or from some servers an object
}

// doneMark is the data of the event that ends a stream.
var doneMark = []byte("[DONE]")

// chatDecoder reads one chat stream.
type chatDecoder struct {
	m       *Model
	calls   wire.Calls
	usage   agent.Usage
	counted bool
	reason  string
	refused bool
	details []json.RawMessage
	done    bool
	pieces  bool // some of the answer came in deltas: a message repeats it
}

func (d *chatDecoder) complete() bool { return d.reason != "" }
func (d *chatDecoder) finished() bool { return d.done }

func (d *chatDecoder) event(ev wire.Event, out []agent.Chunk) ([]agent.Chunk, error) {
	data := bytes.TrimSpace(ev.Data)
	if len(data) == 0 {
		return out, nil
	}
	if bytes.HasPrefix(data, doneMark) {
		d.done = true
		return out, nil
	}
	var e chatEvent
	if err := json.Unmarshal(data, &e); err != nil {
		if ev.Partial && d.complete() {
			return out, nil // a tail that was cut off after the answer was complete
		}
		return out, d.m.badEvent(ev, err)
	}
	if e.failed() || (ev.Name == "error" && len(e.Choices) == 0) {
		failure, _ := parseError(data)
		return out, d.m.modelError(0, failure)
	}
	if e.Usage.Set {
		d.count(&e.Usage.V)
	}
	for i := range e.Choices {
		if c := &e.Choices[i]; c.Index.N == 0 {
			out = d.choice(c, out)
		}
	}
	if d.calls.Mixed() {
		return out, errMixed()
	}
	return out, nil
}

// errMixed returns the error for arguments that could belong to either of two calls.
func errMixed() error {
	return &agent.ModelError{Kind: agent.ErrServer, Provider: provider,
		Err: errors.New(readStream + ": the arguments of several calls cannot be told apart: the server sent them with one index and without ids")}
}

// failed reports whether the event is an error object.
func (e *chatEvent) failed() bool {
	return !wire.Absent(e.Error) || (len(e.Choices) == 0 && (e.Object == "error" || e.Type == "error"))
}

func (d *chatDecoder) choice(c *chatChoice, out []agent.Chunk) []agent.Chunk {
	if c.Usage.Set {
		d.count(&c.Usage.V)
	}
	if c.Delta.Set {
		n := len(out)
		out = d.delta(&c.Delta.V, wire.CallDelta{Last: c.FinishReason != ""}, out)
		d.pieces = d.pieces || len(out) > n
	}
	if c.Message.Set && !d.pieces {
		out = d.delta(&c.Message.V, wire.CallDelta{Whole: true}, out)
	}
	if c.FinishReason != "" && c.FinishReason != "null" {
		d.reason = string(c.FinishReason)
	}
	return out
}

// delta reads a piece of the answer. kind says what is known about its calls.
func (d *chatDecoder) delta(c *chatDelta, kind wire.CallDelta, out []agent.Chunk) []agent.Chunk {
	thought := contentText(c.ReasoningContent)
	if thought == "" {
		thought = contentText(c.Reasoning)
	}
	shown, inline := content(c.Content)
	if thought += inline; thought != "" {
		out = append(out, agent.ThinkingDelta{Text: thought, Provider: d.m.thinker})
	}
	d.details = append(d.details, c.ReasoningDetails...)
	if shown != "" {
		out = append(out, agent.TextDelta{Text: shown})
	}
	if c.Refusal != "" {
		d.refused = true
		out = append(out, agent.TextDelta{Text: string(c.Refusal)})
	}
	d.calls.Next()
	for i := range c.ToolCalls {
		call := &c.ToolCalls[i]
		kind.Index, kind.ID, kind.Fields = call.Index, string(call.ID), call.fields
		out = d.call(kind, &call.Function.V, out)
	}
	if c.FunctionCall.Set && len(c.ToolCalls) == 0 {
		kind.Index = wire.Int{Set: true}
		out = d.call(kind, &c.FunctionCall.V, out)
	}
	return out
}

func (d *chatDecoder) call(kind wire.CallDelta, f *chatFunction, out []agent.Chunk) []agent.Chunk {
	kind.Name, kind.Args = string(f.Name), wire.Text(f.Arguments)
	return d.calls.Add(kind, out)
}

// contentText returns the text of a string or a list of parts.
func contentText(raw json.RawMessage) string {
	shown, thought := content(raw)
	return shown + thought
}

// content returns the text and the reasoning in a content field: a string, a part or a list of
// parts. A number is the text of a server that does not quote it.
func content(raw json.RawMessage) (shown, thought string) {
	if len(raw) == 0 {
		return "", ""
	}
	switch c := raw[0]; {
	case c == '"':
		return text(raw), ""
	case c == '[' || c == '{':
		var parts contentList
		if json.Unmarshal(raw, &parts) != nil {
			return "", ""
		}
		for _, p := range parts {
			shown += p.shown
			thought += p.thought
		}
	case c == '-' || (c >= '0' && c <= '9'):
		return string(raw), ""
	}
	return shown, thought
}

// contentList is a list of parts; a part may be a bare string.
type contentList []contentPart

func (l *contentList) UnmarshalJSON(data []byte) error {
	if data[0] == '{' {
		*l = make(contentList, 1)
		return json.Unmarshal(data, &(*l)[0])
	}
	return json.Unmarshal(data, (*[]contentPart)(l))
}

type contentPart struct{ shown, thought string }

func (p *contentPart) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '"':
		return json.Unmarshal(data, &p.shown)
	case '{':
		var part struct {
			Text     wire.String     `json:"text"`
			Thinking json.RawMessage `json:"thinking"` // Mistral: a list of text parts
		}
		if err := json.Unmarshal(data, &part); err != nil {
			return err
		}
		p.shown, p.thought = string(part.Text), contentText(part.Thinking)
	}
	return nil
}

// finish returns the last chunks, or the reason why there is no answer.
func (d *chatDecoder) finish() (out []agent.Chunk, err error) {
	out = d.calls.Flush(out)
	if len(d.details) > 0 {
		if o, ok := mergeDetails(d.details); ok {
			out = append(out, o)
		}
	}
	if d.counted {
		out = append(out, d.usage)
	}
	reason, err := d.finishReason()
	if err != nil {
		return out, err
	}
	return append(out, agent.Finish{Reason: reason}), nil
}

// finishReason maps the server's finish reason. It returns an error if that means a failure.
func (d *chatDecoder) finishReason() (agent.FinishReason, error) {
	if d.reason == "" {
		return "", errIncomplete("before the finish_reason")
	}
	called := d.calls.Count() > 0
	switch reason, failed := wire.Finish(d.reason); {
	case failed == agent.ErrIncomplete:
		return "", errIncomplete("with finish_reason " + d.m.clean(d.reason))
	case failed == agent.ErrOverloaded: // DeepSeek
		return "", &agent.ModelError{Kind: failed, Provider: provider, Err: fmt.Errorf("%s: the server ran out of resources", readStream)}
	case failed != "":
		return "", &agent.ModelError{Kind: failed, Provider: provider, Err: fmt.Errorf("%s: it ended with finish_reason %s; send the request again", readStream, d.m.clean(d.reason))}
	case called && (reason == agent.FinishStop || reason == agent.FinishOther): // Ollama, older vLLM, named tool choices
		return agent.FinishTools, nil
	case reason == agent.FinishStop && d.refused:
		return agent.FinishRefusal, nil
	case reason == agent.FinishTools && !called:
		return "", errIncomplete("with tool calls announced but none sent")
	default:
		return reason, nil
	}
}
