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
// of OpenAI and of compatible servers; unknown ones are ignored.
type chatEvent struct {
	Choices []chatChoice    `json:"choices"`
	Usage   *chatUsage      `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Object  string          `json:"object"` // "error": vLLM's bare error objects
	Type    string          `json:"type"`
}

type chatChoice struct {
	Index        wire.Int   `json:"index"`
	Delta        chatDelta  `json:"delta"`
	Message      chatDelta  `json:"message"` // in answers that are not streamed
	FinishReason string     `json:"finish_reason"`
	Usage        *chatUsage `json:"usage"` // Kimi reports the usage here
}

type chatDelta struct {
	Content          json.RawMessage     `json:"content"` // a string, or a list of parts (Mistral)
	Refusal          string              `json:"refusal"`
	ReasoningContent json.RawMessage     `json:"reasoning_content"` // DeepSeek, Kimi, Qwen, vLLM, SGLang, llama.cpp
	Reasoning        json.RawMessage     `json:"reasoning"`         // OpenRouter, Groq, Ollama, newer vLLM
	ReasoningDetails []json.RawMessage   `json:"reasoning_details"` // OpenRouter: to be sent back unchanged
	ToolCalls        wire.List[chatCall] `json:"tool_calls"`
	FunctionCall     *chatFunction       `json:"function_call"` // the oldest servers
}

// decodeChat reads an event. A field of an unexpected type counts as absent, so that a field which
// nobody needs cannot void the answer.
func decodeChat(data []byte, e *chatEvent) error {
	err := json.Unmarshal(data, e)
	if err == nil || !odd(err) {
		return err
	}
	if len(e.Choices) == 0 { // a server may send its only choice without a list
		var one struct {
			Choices *chatChoice `json:"choices"`
		}
		if err := json.Unmarshal(data, &one); (err == nil || odd(err)) && one.Choices != nil {
			e.Choices = []chatChoice{*one.Choices}
		}
	}
	return nil
}

type chatCall struct {
	index    wire.Int
	id       string
	function chatFunction
	fields   json.RawMessage // those that this package does not know
}

// UnmarshalJSON also keeps the fields that this package does not know.
func (c *chatCall) UnmarshalJSON(data []byte) error {
	var fields, function map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	_ = c.index.UnmarshalJSON(fields["index"]) // never fails
	c.id = wire.Quoted(fields["id"])
	if json.Unmarshal(fields["function"], &function) == nil {
		c.function = chatFunction{Name: wire.Quoted(function["name"]), Arguments: function["arguments"]}
	}
	c.fields = wire.Rest(fields, "index", "id", "type", "function")
	if inner := wire.Rest(function, "name", "arguments"); inner != nil {
		c.fields = wire.Join(c.fields, "function", inner)
	}
	return nil
}

type chatFunction struct {
	Name      string          `json:"name"`
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
	if err := decodeChat(data, &e); err != nil {
		if ev.Partial && d.complete() {
			return out, nil // a tail that was cut off after the answer was complete
		}
		return out, d.m.badEvent(ev, err)
	}
	if e.failed() || (ev.Name == "error" && len(e.Choices) == 0) {
		failure, _ := parseError(data)
		return out, d.m.modelError(0, failure)
	}
	d.count(e.Usage)
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
	d.count(c.Usage)
	n := len(out)
	out = d.delta(&c.Delta, wire.CallDelta{Last: c.FinishReason != "" && c.FinishReason != "null"}, out)
	if d.pieces = d.pieces || len(out) > n || len(c.Delta.ToolCalls) > 0; !d.pieces {
		out = d.delta(&c.Message, wire.CallDelta{Whole: true}, out)
	}
	if c.FinishReason != "" && c.FinishReason != "null" {
		d.reason = c.FinishReason
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
		out = append(out, agent.TextDelta{Text: c.Refusal})
	}
	d.calls.Next()
	for i := range c.ToolCalls {
		call := &c.ToolCalls[i]
		kind.Index, kind.ID, kind.Fields = call.index, call.id, call.fields
		out = d.call(kind, &call.function, out)
	}
	if c.FunctionCall != nil && len(c.ToolCalls) == 0 {
		kind.Index = wire.Int{Set: true}
		out = d.call(kind, c.FunctionCall, out)
	}
	return out
}

func (d *chatDecoder) call(kind wire.CallDelta, f *chatFunction, out []agent.Chunk) []agent.Chunk {
	kind.Name, kind.Args = f.Name, wire.Text(f.Arguments)
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
