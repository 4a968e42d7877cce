package openai

import (
	"bytes"
	"encoding/json"
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
	Index        int        `json:"index"`
	Delta        chatDelta  `json:"delta"`
	Message      chatDelta  `json:"message"` // in answers that are not streamed
	FinishReason string     `json:"finish_reason"`
	Usage        *chatUsage `json:"usage"` // Kimi reports the usage here
}

type chatDelta struct {
	Content          json.RawMessage   `json:"content"` // a string, or a list of parts (Mistral)
	Refusal          string            `json:"refusal"`
	ReasoningContent json.RawMessage   `json:"reasoning_content"` // DeepSeek, Kimi, Qwen, vLLM, SGLang, llama.cpp
	Reasoning        json.RawMessage   `json:"reasoning"`         // OpenRouter, Groq, Ollama, newer vLLM
	ReasoningDetails []json.RawMessage `json:"reasoning_details"` // OpenRouter: to be sent back unchanged
	ToolCalls        []chatCall        `json:"tool_calls"`
	FunctionCall     *chatFunction     `json:"function_call"` // the oldest servers
}

type chatCall struct {
	Index    *int         `json:"index"`
	ID       string       `json:"id"`
	Function chatFunction `json:"function"`
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
	calls   callTracker
	usage   agent.Usage
	counted bool
	reason  string
	refused bool
	details []json.RawMessage
	done    bool
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
	d.count(e.Usage)
	for i := range e.Choices {
		if c := &e.Choices[i]; c.Index == 0 {
			out = d.choice(c, out)
		}
	}
	return out, nil
}

// failed reports whether the event is an error object.
func (e *chatEvent) failed() bool {
	return (len(e.Error) > 0 && string(e.Error) != "null") || (len(e.Choices) == 0 && (e.Object == "error" || e.Type == "error"))
}

func (d *chatDecoder) choice(c *chatChoice, out []agent.Chunk) []agent.Chunk {
	d.count(c.Usage)
	out = d.delta(&c.Delta, out)
	out = d.delta(&c.Message, out)
	if c.FinishReason != "" {
		d.reason = c.FinishReason
	}
	return out
}

func (d *chatDecoder) delta(c *chatDelta, out []agent.Chunk) []agent.Chunk {
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
	for i := range c.ToolCalls {
		out = d.calls.delta(&c.ToolCalls[i], out)
	}
	if c.FunctionCall != nil {
		zero := 0
		out = d.calls.delta(&chatCall{Index: &zero, Function: *c.FunctionCall}, out)
	}
	return out
}

// contentText returns the text of a string or a list of parts.
func contentText(raw json.RawMessage) string {
	shown, thought := content(raw)
	return shown + thought
}

// content returns the text and the reasoning in a content field.
func content(raw json.RawMessage) (shown, thought string) {
	if len(raw) == 0 {
		return "", ""
	}
	switch raw[0] {
	case '"':
		return text(raw), ""
	case '[':
		var parts []struct {
			Type     string          `json:"type"`
			Text     string          `json:"text"`
			Thinking json.RawMessage `json:"thinking"` // Mistral: a list of text parts
		}
		if json.Unmarshal(raw, &parts) != nil {
			return "", ""
		}
		for _, p := range parts {
			shown += p.Text
			thought += contentText(p.Thinking)
		}
	}
	return shown, thought
}

// finish returns the last chunks, or the reason why there is no answer.
func (d *chatDecoder) finish() (out []agent.Chunk, err error) {
	out = d.calls.flush(out)
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
	called := d.calls.count() > 0
	switch d.reason {
	case "":
		return "", errIncomplete("before the finish_reason")
	case "stop", "eos", "end_turn", "stop_sequence", "complete":
		switch {
		case called:
			return agent.FinishTools, nil // Ollama, older vLLM, named tool choices
		case d.refused:
			return agent.FinishRefusal, nil
		}
		return agent.FinishStop, nil
	case "tool_calls", "function_call", "tool_use":
		if !called {
			return "", errIncomplete("with tool calls announced but none sent")
		}
		return agent.FinishTools, nil
	case "length", "max_tokens", "model_length":
		return agent.FinishLength, nil
	case "content_filter", "safety":
		return agent.FinishFilter, nil
	case "refusal":
		return agent.FinishRefusal, nil
	case "insufficient_system_resource": // DeepSeek
		return "", &agent.ModelError{Kind: agent.ErrOverloaded, Provider: provider, Err: fmt.Errorf("%s: the server ran out of resources", readStream)}
	case "error", "abort", "unknown":
		return "", errIncomplete("with finish_reason " + d.reason)
	}
	if called {
		return agent.FinishTools, nil
	}
	return agent.FinishOther, nil
}
