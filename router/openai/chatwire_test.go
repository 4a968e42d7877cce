package openai

import (
	"encoding/json"
	"fmt"

	sdk "github.com/openai/openai-go/v3"

	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

func quote(s string) string { return string(jsontree.AppendQuoted(nil, s)) }

// chatWire writes the suite's events as a chat completions stream.
type chatWire struct {
	usage string
	calls map[int]agenttest.WireCallStart
}

const chatHead = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m"`

func (w *chatWire) delta(delta string) string {
	return "data: " + chatHead + `,"choices":[{"index":0,"delta":` + delta + `,"logprobs":null,"finish_reason":null}],"usage":null}` + "\n\n"
}

func (w *chatWire) Event(ev agenttest.WireEvent) string {
	switch ev := ev.(type) {
	case agenttest.WireStart:
		w.calls = map[int]agenttest.WireCallStart{}
		return w.delta(`{"role":"assistant","content":"","refusal":null}`)
	case agenttest.WireText:
		return w.delta(`{"content":` + quote(ev.Text) + `}`)
	case agenttest.WireThinking:
		return w.delta(`{"content":null,"reasoning_content":` + quote(ev.Text) + `}`)
	case agenttest.WireCallStart:
		w.calls[ev.Index] = ev
		return w.call(ev.Index, "", true)
	case agenttest.WireCallArgs:
		return w.call(ev.Index, ev.Args, ev.Repeat)
	case agenttest.WireOpaque:
		return w.delta(`{"reasoning_details":[{"type":"reasoning.encrypted","index":0,"data":` + quote(ev.Marker) + `}]}`)
	case agenttest.WireUsage:
		u := ev.Usage
		w.usage = fmt.Sprintf(`data: %s,"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},"completion_tokens_details":{"reasoning_tokens":%d}}}`,
			chatHead, u.Input, u.Output, u.Input+u.Output, u.CachedInput, u.CacheWrite, u.Reasoning) + "\n\n"
	case agenttest.WireFinish:
		return fmt.Sprintf("data: %s,\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\n", chatHead, ev.Reason) + w.usage + "data: [DONE]\n\n"
	case agenttest.WireEmpty:
		return ": keep-alive\n\nevent: ping\n\ndata: " + chatHead + ",\"choices\":[]}\n\n" + w.delta("{}") + "data:\n\n" + w.delta(`{"content":null,"tool_calls":[]}`) +
			"data: " + chatHead + ",\"choices\":[],\"error\":null}\n\n"
	case agenttest.WireGarbage:
		return "data: {\"choices\":[{\"delta\":{\"content\":\"lost\n\n"
	case agenttest.WireFailure:
		_, body := w.Error(0, ev.Failure)
		return "data: " + body + "\n\n"
	}
	return ""
}

// call writes a tool call delta, with the call's id and name if named is set.
func (w *chatWire) call(index int, args string, named bool) string {
	c := w.calls[index]
	head := ""
	if named {
		head = fmt.Sprintf(`"id":%q,"type":"function",`, c.ID)
	}
	name := ""
	if named {
		name = fmt.Sprintf(`"name":%q,`, c.Name)
	}
	return w.delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,%s"function":{%s"arguments":%s}}]}`, index, head, name, quote(args)))
}

// failures are the provider's error messages for the suite's failures.
var failures = map[string]struct{ typ, code, message string }{
	agenttest.FailContextLength: {"invalid_request_error", "context_length_exceeded", "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."},
	agenttest.FailAuth:          {"invalid_request_error", "invalid_api_key", ""},
	agenttest.FailRateLimit:     {"requests", "rate_limit_exceeded", ""},
	agenttest.FailOverloaded:    {"overloaded_error", "", ""},
	agenttest.FailServer:        {"server_error", "", ""},
	agenttest.FailInvalid:       {"invalid_request_error", "", ""},
	agenttest.FailNotFound:      {"invalid_request_error", "model_not_found", ""},
}

func (w *chatWire) Error(_ int, f agenttest.Failure) (string, string) {
	known := failures[f.Code]
	if f.Message == "" {
		f.Message = known.message
	}
	code := "null"
	if known.code != "" {
		code = quote(known.code)
	}
	return "application/json", fmt.Sprintf(`{"error":{"message":%s,"type":%q,"param":null,"code":%s}}`, quote(f.Message), known.typ, code)
}

// Check parses a request with the SDK's own types: the API does not accept fields that they do not
// have.
func (w *chatWire) Check(r *agenttest.WireRequest) error {
	if r.HTTP.URL.Path != "/v1/chat/completions" || r.HTTP.Header.Get("Authorization") != "Bearer test-key" {
		return fmt.Errorf("%s %v", r.HTTP.URL.Path, r.HTTP.Header)
	}
	var params sdk.ChatCompletionNewParams
	if err := json.Unmarshal(r.Body, &params); err != nil {
		return fmt.Errorf("the SDK's types do not read it: %w", err)
	}
	var req struct {
		Choice   json.RawMessage `json:"tool_choice"`
		Messages []struct {
			Role  string
			Calls []struct {
				ID       string
				Function struct{ Arguments string }
			} `json:"tool_calls"`
			CallID string `json:"tool_call_id"`
		}
	}
	if err := json.Unmarshal(r.Body, &req); err != nil {
		return err
	}
	var open []string
	for _, m := range req.Messages {
		for _, c := range m.Calls {
			open = append(open, c.ID)
			if args := map[string]any(nil); json.Unmarshal([]byte(c.Function.Arguments), &args) != nil {
				return fmt.Errorf("arguments %q are not an object", c.Function.Arguments)
			}
		}
		if m.Role == "tool" {
			if len(open) == 0 || open[0] != m.CallID {
				return fmt.Errorf("result of %q, want one of %q in order", m.CallID, open)
			}
			open = open[1:]
		} else if len(open) > 0 && len(m.Calls) == 0 {
			return fmt.Errorf("a %s message before the results of %q", m.Role, open)
		}
	}
	return checkChoice(r.Scenario.Name, string(req.Choice), `{"type":"function","function":{"name":"now"}}`)
}

func checkChoice(scenario, got, named string) error {
	want, ok := map[string]string{"choice-auto": "", "choice-none": `"none"`, "choice-required": `"required"`, "choice-named": named}[scenario]
	if ok && got != want {
		return fmt.Errorf("tool_choice is %s, want %s", got, want)
	}
	return nil
}

var _ agenttest.WireChecker = (*chatWire)(nil)
