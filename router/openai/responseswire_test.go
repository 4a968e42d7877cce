package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3/responses"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
)

// responsesWire writes the suite's events as a Responses stream.
type responsesWire struct {
	next  int    // index of the next item
	open  string // type of the open item that is not a call
	text  string // the part of its text that was sent
	usage string
	calls map[int]*wireCall
	seq   int
}

type wireCall struct {
	start agenttest.WireCallStart
	index int
	args  string
}

func (w *responsesWire) ev(kind, format string, args ...any) string {
	w.seq++
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q,\"sequence_number\":%d%s}\n\n", kind, kind, w.seq, fmt.Sprintf(format, args...))
}

func (w *responsesWire) Event(ev agenttest.WireEvent) string {
	switch ev := ev.(type) {
	case agenttest.WireStart:
		w.calls = map[int]*wireCall{}
		return w.ev("response.created", `,"response":{"id":"resp_1","object":"response","status":"in_progress","error":null,"output":[],"usage":null}`)
	case agenttest.WireText:
		out := w.begin("message", `{"type":"message","id":"msg_1","status":"in_progress","role":"assistant","content":[]}`)
		w.text += ev.Text
		return out + w.ev("response.output_text.delta", `,"item_id":"msg_1","output_index":%d,"content_index":0,"delta":%s,"logprobs":[]`, w.next-1, quote(ev.Text))
	case agenttest.WireThinking:
		out := w.begin("reasoning", `{"type":"reasoning","id":"rs_1","summary":[]}`)
		w.text += ev.Text
		if ev.Text != "" {
			out += w.ev("response.reasoning_summary_text.delta", `,"item_id":"rs_1","output_index":%d,"summary_index":0,"delta":%s`, w.next-1, quote(ev.Text))
		}
		if ev.Signature != "" {
			out += w.end(ev.Signature)
		}
		return out
	case agenttest.WireCallStart:
		out := w.end("")
		w.calls[ev.Index] = &wireCall{start: ev, index: w.next}
		w.next++
		return out + w.ev("response.output_item.added", `,"output_index":%d,"item":{"type":"function_call","id":"fc_%d","call_id":%q,"name":%q,"arguments":"","status":"in_progress"}`, w.next-1, ev.Index, ev.ID, ev.Name)
	case agenttest.WireCallArgs:
		c := w.calls[ev.Index]
		c.args += ev.Args
		return w.ev("response.function_call_arguments.delta", `,"item_id":"fc_%d","output_index":%d,"delta":%s`, ev.Index, c.index, quote(ev.Args))
	case agenttest.WireOpaque:
		out := w.end("")
		w.next++
		return out + w.ev("response.output_item.done", `,"output_index":%d,"item":{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":%s}}`, w.next-1, quote(ev.Marker))
	case agenttest.WireUsage:
		u := ev.Usage
		w.usage = fmt.Sprintf(`{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}`,
			u.Input, u.CachedInput, u.CacheWrite, u.Output, u.Reasoning, u.Input+u.Output)
	case agenttest.WireFinish:
		return w.finish(ev.Reason)
	case agenttest.WireEmpty:
		return ": ping\n\n" + w.ev("response.in_progress", `,"response":{"id":"resp_1","status":"in_progress","error":null}`) + w.ev("response.something_new", `,"output_index":99,"delta":{"a":1}`) + "data:\n\n"
	case agenttest.WireGarbage:
		return "event: response.output_text.delta\ndata: {\"type\":\"resp\n\n"
	case agenttest.WireFailure:
		known := failures[ev.Failure.Code]
		code, message := known.code, ev.Failure.Message
		if code == "" {
			code = known.typ
		}
		if message == "" {
			message = known.message
		}
		return w.ev("error", `,"code":%q,"message":%s,"param":null`, code, quote(message))
	}
	return ""
}

func (w *responsesWire) begin(kind, item string) string {
	if w.open == kind {
		return ""
	}
	out := w.end("")
	w.open = kind
	w.next++
	return out + w.ev("response.output_item.added", `,"output_index":%d,"item":%s`, w.next-1, item)
}

// end closes the open item.
func (w *responsesWire) end(signature string) string {
	var item string
	switch w.open {
	case "message":
		item = fmt.Sprintf(`{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":%s,"annotations":[]}]}`, quote(w.text))
	case "reasoning":
		encrypted := "null"
		if signature != "" {
			encrypted = quote(signature)
		}
		item = fmt.Sprintf(`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":%s}],"encrypted_content":%s}`, quote(w.text), encrypted)
	default:
		return ""
	}
	w.open, w.text = "", ""
	return w.ev("response.output_item.done", `,"output_index":%d,"item":%s`, w.next-1, item)
}

func (w *responsesWire) finish(reason agent.FinishReason) string {
	out := w.end("")
	for i := range len(w.calls) {
		c := w.calls[i]
		out += w.ev("response.function_call_arguments.done", `,"output_index":%d,"arguments":%s`, c.index, quote(c.args))
		out += w.ev("response.output_item.done", `,"output_index":%d,"item":{"type":"function_call","id":"fc_%d","call_id":%q,"name":%q,"arguments":%s,"status":"completed"}`,
			c.index, i, c.start.ID, c.start.Name, quote(c.args))
	}
	kind, status, details := "response.completed", "completed", "null"
	switch reason {
	case agent.FinishLength:
		kind, status, details = "response.incomplete", "incomplete", `{"reason":"max_output_tokens"}`
	case agent.FinishFilter:
		kind, status, details = "response.incomplete", "incomplete", `{"reason":"content_filter"}`
	}
	return out + w.ev(kind, `,"response":{"id":"resp_1","object":"response","status":%q,"error":null,"incomplete_details":%s,"output":[],"usage":%s}`, status, details, w.usage)
}

func (w *responsesWire) Error(status int, f agenttest.Failure) (string, string) {
	return (*chatWire)(nil).Error(status, f)
}

func (w *responsesWire) Check(r *agenttest.WireRequest) error {
	if r.HTTP.URL.Path != "/v1/responses" || r.HTTP.Header.Get("Authorization") != "Bearer test-key" {
		return fmt.Errorf("%s %v", r.HTTP.URL.Path, r.HTTP.Header)
	}
	var params responses.ResponseNewParams
	if err := json.Unmarshal(r.Body, &params); err != nil {
		return fmt.Errorf("the SDK's types do not read it: %w", err)
	}
	var req struct {
		Choice  json.RawMessage `json:"tool_choice"`
		Store   bool
		Include []string
		Input   []map[string]any
	}
	if err := json.Unmarshal(r.Body, &req); err != nil {
		return err
	}
	if req.Store || strings.Join(req.Include, "") != "reasoning.encrypted_content" {
		return fmt.Errorf("store is %v, include is %q", req.Store, req.Include)
	}
	return checkChoice(r.Scenario.Name, string(req.Choice), `{"type":"function","name":"now"}`)
}
