package langchain

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
)

// collector collects a scenario's events into one answer, for requests that do not stream.
type collector struct {
	stream   bool
	text     string
	thinking []agent.Thinking
	calls    []agenttest.WireCallStart
	args     map[int]string
	usage    agent.Usage
	finish   agent.FinishReason
}

func newCollector(r *agenttest.WireRequest) collector {
	var req struct{ Stream bool }
	_ = json.Unmarshal(r.Body, &req)
	c := collector{stream: req.Stream, args: map[int]string{}}
	for _, ev := range r.Reply.Events {
		if u, ok := ev.(agenttest.WireUsage); ok {
			c.usage = u.Usage
		}
	}
	return c
}

// add takes one event and reports whether the answer is complete.
func (c *collector) add(ev agenttest.WireEvent) bool {
	switch ev := ev.(type) {
	case agenttest.WireText:
		c.text += ev.Text
	case agenttest.WireThinking:
		c.thinking = append(c.thinking, agent.Thinking{Text: ev.Text, Signature: ev.Signature})
	case agenttest.WireCallStart:
		c.calls = append(c.calls, ev)
	case agenttest.WireCallArgs:
		c.args[ev.Index] += ev.Args
	case agenttest.WireFinish:
		c.finish = ev.Reason
		return true
	}
	return false
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

type object = map[string]any

// openaiWire answers as a chat completions server.
type openaiWire struct{ collector }

func (w *openaiWire) usageObject() object {
	return object{"prompt_tokens": w.usage.Input, "completion_tokens": w.usage.Output, "total_tokens": w.usage.Total(),
		"prompt_tokens_details": object{"cached_tokens": w.usage.CachedInput}, "completion_tokens_details": object{"reasoning_tokens": w.usage.Reasoning}}
}

func (w *openaiWire) chunk(delta object, finish any) string {
	return "data: " + mustJSON(object{"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}}}) + "\n\n"
}

func (w *openaiWire) Event(ev agenttest.WireEvent) string {
	done := w.add(ev)
	switch ev := ev.(type) {
	case agenttest.WireGarbage:
		return "data: {\"choices\": [oops\n\n"
	case agenttest.WireFailure:
		_, body := w.Error(0, ev.Failure)
		return "data: " + body + "\n\n"
	}
	if !w.stream {
		if done {
			return w.whole()
		}
		return ""
	}
	switch ev := ev.(type) {
	case agenttest.WireText:
		return w.chunk(object{"content": ev.Text}, nil)
	case agenttest.WireThinking:
		return w.chunk(object{"reasoning_content": ev.Text}, nil)
	case agenttest.WireEmpty:
		return ": keep-alive\n\ndata: {\"choices\":[]}\n\n" + w.chunk(object{}, nil)
	case agenttest.WireFinish:
		return w.chunk(object{}, ev.Reason) + "data: " + mustJSON(object{"choices": []object{}, "usage": w.usageObject()}) + "\n\ndata: [DONE]\n\n"
	}
	return ""
}

func (w *openaiWire) whole() string {
	msg := object{"role": "assistant", "content": w.text}
	for _, t := range w.thinking {
		was, _ := msg["reasoning_content"].(string)
		msg["reasoning_content"] = was + t.Text
	}
	var calls []object
	for _, c := range w.calls {
		calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": w.args[c.Index]}})
	}
	if calls != nil {
		msg["tool_calls"] = calls
	}
	return mustJSON(object{"choices": []object{{"index": 0, "message": msg, "finish_reason": w.finish}}, "usage": w.usageObject()})
}

func (w *openaiWire) Error(_ int, f agenttest.Failure) (string, string) {
	message := f.Message
	if f.Code == agenttest.FailContextLength {
		message = "This model's maximum context length is 8192 tokens. " + message
	}
	return "application/json", mustJSON(object{"error": object{"message": message, "type": f.Code}})
}

// Check rejects what the API rejects: a call must be answered at once, and content parts are texts
// and image URLs.
func (w *openaiWire) Check(r *agenttest.WireRequest) error {
	var req struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
			Calls   []struct{ ID string } `json:"tool_calls"`
			CallID  string                `json:"tool_call_id"`
		}
	}
	if err := json.Unmarshal(r.Body, &req); err != nil {
		return err
	}
	open := ""
	for i, m := range req.Messages {
		if (open != "") != (m.Role == "tool") || m.CallID != open {
			return fmt.Errorf("message %d: role %s, open call %q, result of %q", i, m.Role, open, m.CallID)
		}
		open = ""
		for _, c := range m.Calls {
			open = c.ID
		}
		if strings.Contains(string(m.Content), `"binary"`) {
			return fmt.Errorf("message %d: invalid content type binary", i)
		}
	}
	return nil
}

// anthropicWire answers as the Messages API.
type anthropicWire struct {
	collector
	open string // kind of the open block
	next int
}

func (w *anthropicWire) sse(kind string, fields object) string {
	fields["type"] = kind
	return "event: " + kind + "\ndata: " + mustJSON(fields) + "\n\n"
}

func (w *anthropicWire) usageObject() object {
	return object{"input_tokens": w.usage.Input - w.usage.CachedInput - w.usage.CacheWrite, "output_tokens": w.usage.Output,
		"cache_read_input_tokens": w.usage.CachedInput, "cache_creation_input_tokens": w.usage.CacheWrite}
}

var stopReasons = map[agent.FinishReason]string{agent.FinishStop: "end_turn", agent.FinishTools: "tool_use", agent.FinishLength: "max_tokens", agent.FinishFilter: "refusal"}

func (w *anthropicWire) Event(ev agenttest.WireEvent) string {
	done := w.add(ev)
	switch ev := ev.(type) {
	case agenttest.WireGarbage:
		return "event: content_block_delta\ndata: {oops\n\n"
	case agenttest.WireFailure:
		_, body := w.Error(0, ev.Failure)
		return "event: error\ndata: " + body + "\n\n"
	}
	if !w.stream {
		if done {
			return w.whole()
		}
		return ""
	}
	switch ev := ev.(type) {
	case agenttest.WireStart:
		return w.sse("message_start", object{"message": object{"id": "msg_1", "role": "assistant", "usage": w.usageObject()}})
	case agenttest.WireText:
		return w.ensure("text", object{"type": "text", "text": ""}) + w.sse("content_block_delta", object{"index": w.next - 1, "delta": object{"type": "text_delta", "text": ev.Text}})
	case agenttest.WireThinking:
		return w.ensure("thinking", object{"type": "thinking", "thinking": ""}) + w.sse("content_block_delta", object{"index": w.next - 1, "delta": object{"type": "thinking_delta", "thinking": ev.Text}})
	case agenttest.WireEmpty:
		return ": keep-alive\n\n" + w.sse("ping", object{})
	case agenttest.WireFinish:
		return w.close() + w.sse("message_delta", object{"delta": object{"stop_reason": stopReasons[ev.Reason]}, "usage": object{"output_tokens": w.usage.Output}}) + w.sse("message_stop", object{})
	}
	return ""
}

func (w *anthropicWire) ensure(kind string, block object) string {
	if w.open == kind {
		return ""
	}
	out := w.close()
	w.open, w.next = kind, w.next+1
	return out + w.sse("content_block_start", object{"index": w.next - 1, "content_block": block})
}

func (w *anthropicWire) close() string {
	if w.open == "" {
		return ""
	}
	w.open = ""
	return w.sse("content_block_stop", object{"index": w.next - 1})
}

func (w *anthropicWire) whole() string {
	content := []object{}
	for _, t := range w.thinking {
		content = append(content, object{"type": "thinking", "thinking": t.Text, "signature": t.Signature})
	}
	if w.text != "" {
		content = append(content, object{"type": "text", "text": w.text})
	}
	for _, c := range w.calls {
		args := json.RawMessage(w.args[c.Index])
		if len(args) == 0 {
			args = json.RawMessage("{}")
		}
		if !json.Valid(args) {
			args = json.RawMessage(mustJSON(object{"unparsed": string(args)}))
		}
		content = append(content, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": args})
	}
	return mustJSON(object{"id": "msg_1", "type": "message", "role": "assistant", "content": content, "stop_reason": stopReasons[w.finish], "usage": w.usageObject()})
}

func (w *anthropicWire) Error(_ int, f agenttest.Failure) (string, string) {
	message := f.Message
	if f.Code == agenttest.FailContextLength {
		message = "prompt is too long: 210000 tokens > 200000 maximum " + message
	}
	return "application/json", mustJSON(object{"type": "error", "error": object{"type": f.Code, "message": message}})
}
