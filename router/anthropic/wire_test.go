package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// fakeWire writes the events of the conformance suite as the Messages API streams them.
type fakeWire struct {
	next  int         // index of the next block
	open  string      // kind of the open text or thinking block
	calls map[int]int // call index to block index
	usage agent.Usage
}

func newWire(r *agenttest.WireRequest) agenttest.Wire {
	w := &fakeWire{calls: map[int]int{}}
	for _, ev := range r.Reply.Events {
		if u, ok := ev.(agenttest.WireUsage); ok {
			w.usage = u.Usage
		}
	}
	return w
}

func (w *fakeWire) Check(r *agenttest.WireRequest) error {
	if r.HTTP.URL.Path != "/v1/messages" || r.HTTP.Header.Get("X-Api-Key") != "test-key" || r.HTTP.Header.Get("Anthropic-Version") == "" {
		return fmt.Errorf("%s %v", r.HTTP.URL.Path, r.HTTP.Header)
	}
	return checkRequest(r.Body)
}

func quote(s string) string { return string(jsontree.AppendQuoted(nil, s)) }

func sseEvent(kind, format string, args ...any) string {
	return fmt.Sprintf("event: %s\ndata: {\"type\":\"%s\"%s}\n\n", kind, kind, fmt.Sprintf(format, args...))
}

func (w *fakeWire) Event(ev agenttest.WireEvent) string {
	switch ev := ev.(type) {
	case agenttest.WireStart:
		return sseEvent("message_start", `,"message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude-test","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":1}}`,
			w.usage.Input-w.usage.CachedInput-w.usage.CacheWrite, w.usage.CacheWrite, w.usage.CachedInput)
	case agenttest.WireText:
		return w.ensure("text", `{"type":"text","text":""}`) + w.delta(w.next-1, `{"type":"text_delta","text":%s}`, quote(ev.Text))
	case agenttest.WireThinking:
		return w.thinking(ev)
	case agenttest.WireCallStart:
		out := w.close()
		w.calls[ev.Index] = w.next
		return out + w.begin(`{"type":"tool_use","id":%s,"name":%s,"input":{}}`, quote(ev.ID), quote(ev.Name))
	case agenttest.WireCallArgs:
		return w.delta(w.calls[ev.Index], `{"type":"input_json_delta","partial_json":%s}`, quote(ev.Args))
	case agenttest.WireOpaque:
		return w.close() + w.begin(`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query": %s}}`, quote(ev.Marker)) + w.end(w.next-1)
	case agenttest.WireFinish:
		return w.finish(ev.Reason)
	case agenttest.WireEmpty:
		return ": keep-alive\n\n" + sseEvent("ping", "") + sseEvent("vendor_event", `,"delta":7`) + "data: \n\n"
	case agenttest.WireGarbage:
		return "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"del\n\n"
	case agenttest.WireFailure:
		return "event: error\ndata: " + w.failure(ev.Failure) + "\n\n"
	}
	return ""
}

func (w *fakeWire) thinking(ev agenttest.WireThinking) string {
	if ev.Redacted != nil {
		return w.close() + w.begin(`{"type":"redacted_thinking","data":%s}`, quote(string(ev.Redacted))) + w.end(w.next-1)
	}
	out := w.ensure("thinking", `{"type":"thinking","thinking":"","signature":""}`)
	if ev.Text != "" {
		out += w.delta(w.next-1, `{"type":"thinking_delta","thinking":%s}`, quote(ev.Text))
	}
	if ev.Signature != "" {
		out += w.delta(w.next-1, `{"type":"signature_delta","signature":%s}`, quote(ev.Signature)) + w.close()
	}
	return out
}

// ensure opens a block of that kind unless one is open.
func (w *fakeWire) ensure(kind, block string) string {
	if w.open == kind {
		return ""
	}
	out := w.close() + w.begin("%s", block)
	w.open = kind
	return out
}

func (w *fakeWire) begin(format string, args ...any) string {
	w.next++
	return sseEvent("content_block_start", `,"index":%d,"content_block":%s`, w.next-1, fmt.Sprintf(format, args...))
}

func (w *fakeWire) delta(index int, format string, args ...any) string {
	return sseEvent("content_block_delta", `,"index":%d,"delta":%s`, index, fmt.Sprintf(format, args...))
}

func (w *fakeWire) end(index int) string { return sseEvent("content_block_stop", `,"index":%d`, index) }

// close ends the open text or thinking block.
func (w *fakeWire) close() string {
	if w.open == "" {
		return ""
	}
	w.open = ""
	return w.end(w.next - 1)
}

func (w *fakeWire) finish(reason agent.FinishReason) string {
	out := w.close()
	for _, index := range w.calls {
		out += w.end(index)
	}
	stop := map[agent.FinishReason]string{agent.FinishStop: "end_turn", agent.FinishTools: "tool_use", agent.FinishLength: "max_tokens", agent.FinishFilter: "refusal"}[reason]
	details := ""
	if w.usage.Reasoning > 0 {
		details = fmt.Sprintf(`,"output_tokens_details":{"thinking_tokens":%d}`, w.usage.Reasoning)
	}
	return out + sseEvent("message_delta", `,"delta":{"stop_reason":"%s","stop_sequence":null},"usage":{"output_tokens":%d%s}`, stop, w.usage.Output, details) + sseEvent("message_stop", "")
}

func (w *fakeWire) Error(_ int, f agenttest.Failure) (string, string) {
	return "application/json", w.failure(f)
}

func (w *fakeWire) failure(f agenttest.Failure) string {
	kind := map[string]string{
		agenttest.FailContextLength: "invalid_request_error", agenttest.FailAuth: "authentication_error",
		agenttest.FailRateLimit: "rate_limit_error", agenttest.FailOverloaded: "overloaded_error", agenttest.FailServer: "api_error",
		agenttest.FailInvalid: "invalid_request_error", agenttest.FailNotFound: "not_found_error",
	}[f.Code]
	message := f.Message
	if f.Code == agenttest.FailContextLength {
		message = strings.TrimSpace("prompt is too long: 216000 tokens > 200000 maximum " + message)
	}
	b, _ := json.Marshal(map[string]any{"type": "error", "error": map[string]string{"type": kind, "message": message}, "request_id": "req_1"})
	return string(b)
}
