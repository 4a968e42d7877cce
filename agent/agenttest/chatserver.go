package agenttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/luthier-dev/luthier/agent"
)

// NewChatServer starts a server on loopback that offers m under the OpenAI chat completions API, as a stream. Give its
// URL plus "/v1" to a program that only takes an address; with a [Script] behind it the program can be tested from end
// to end. It is closed when t ends.
func NewChatServer(t testing.TB, m agent.Model) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(ChatHandler(m))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv
}

// ChatHandler is the handler behind [NewChatServer]. It reads text, tools, calls and results; other parts of a request
// are left out.
func ChatHandler(m agent.Model) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<20))
		var in chatRequest
		if err == nil {
			err = json.Unmarshal(body, &in)
		}
		if err != nil {
			chatError(w, &agent.ModelError{Kind: agent.ErrInvalid, Status: http.StatusBadRequest, Err: err})
			return
		}
		out := chatWriter{w: w, model: in.Model}
		for c, err := range m.Stream(r.Context(), in.request()) {
			if err != nil {
				out.fail(agent.AsModelError(err))
				return
			}
			if !out.chunk(c) {
				return
			}
		}
	})
}

type chatRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		CallID  string          `json:"tool_call_id"`
		Calls   []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

// request returns the request in the contract's terms.
func (in *chatRequest) request() *agent.Request {
	req := &agent.Request{}
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, agent.ToolSpec{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters})
	}
	for _, m := range in.Messages {
		text := []agent.Part{agent.Text{Text: chatText(m.Content)}}
		switch m.Role {
		case "system", "developer":
			req.System = chatText(m.Content)
		case "tool":
			result := agent.ToolResult{CallID: m.CallID, Parts: text}
			if n := len(req.Messages); n > 0 && req.Messages[n-1].Role == agent.RoleTool {
				req.Messages[n-1].Parts = append(req.Messages[n-1].Parts, result)
				continue
			}
			req.Messages = append(req.Messages, agent.Message{Role: agent.RoleTool, Parts: []agent.Part{result}})
		case "assistant":
			for _, c := range m.Calls {
				text = append(text, agent.ToolCall{ID: c.ID, Name: c.Function.Name, Args: json.RawMessage(c.Function.Arguments)})
			}
			req.Messages = append(req.Messages, agent.Message{Role: agent.RoleAssistant, Parts: text})
		default:
			req.Messages = append(req.Messages, agent.Message{Role: agent.RoleUser, Parts: text})
		}
	}
	return req
}

// chatText returns the text of a content field, a string or a list of parts.
func chatText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(raw, &parts)
	for _, p := range parts {
		s += p.Text
	}
	return s
}

// chatWriter writes chunks as events.
type chatWriter struct {
	w     http.ResponseWriter
	model string
	begun bool
	usage *agent.Usage
}

func (o *chatWriter) send(v map[string]any) bool {
	if !o.begun {
		o.begun = true
		o.w.Header().Set("Content-Type", "text/event-stream")
	}
	v["id"], v["object"], v["created"], v["model"] = "chatcmpl-test", "chat.completion.chunk", 1, o.model
	data, err := marshalLine(v)
	if err != nil {
		return false
	}
	return o.raw("data: " + string(data) + "\n")
}

func (o *chatWriter) raw(s string) bool {
	_, err := io.WriteString(o.w, s)
	if f, ok := o.w.(http.Flusher); ok {
		f.Flush()
	}
	return err == nil
}

func (o *chatWriter) delta(d map[string]any) bool {
	return o.send(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": d, "finish_reason": nil}}})
}

func (o *chatWriter) chunk(c agent.Chunk) bool {
	switch c := c.(type) {
	case agent.TextDelta:
		return o.delta(map[string]any{"content": c.Text})
	case agent.ThinkingDelta:
		return o.delta(map[string]any{"reasoning_content": c.Text})
	case agent.ToolCallStart:
		return o.delta(map[string]any{"tool_calls": []any{map[string]any{"index": c.Index, "id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": ""}}}})
	case agent.ToolCallDelta:
		return o.delta(map[string]any{"tool_calls": []any{map[string]any{"index": c.Index, "function": map[string]any{"arguments": c.Args}}}})
	case agent.Usage:
		o.usage = &c
	case agent.Finish:
		return o.finish(c.Reason)
	}
	return true
}

func (o *chatWriter) finish(reason agent.FinishReason) bool {
	ok := o.send(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": reason}}})
	if u := o.usage; ok && u != nil {
		ok = o.send(map[string]any{"choices": []any{}, "usage": map[string]any{"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Total(),
			"prompt_tokens_details":     map[string]any{"cached_tokens": u.CachedInput, "cache_write_tokens": u.CacheWrite},
			"completion_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning}}})
	}
	return ok && o.raw("data: [DONE]\n\n")
}

// fail reports an error: as a response of its own while nothing was sent, else in the stream.
func (o *chatWriter) fail(me *agent.ModelError) {
	if !o.begun {
		chatError(o.w, me)
		return
	}
	o.send(map[string]any{"error": map[string]any{"message": me.Error(), "type": string(me.Kind)}})
}

var errNoCause = errors.New("no cause given")

func chatError(w http.ResponseWriter, me *agent.ModelError) {
	status := me.Status
	if status < 400 {
		status = http.StatusInternalServerError
	}
	if me.RetryAfter > 0 {
		w.Header().Set("Retry-After", fmt.Sprintf("%.3f", me.RetryAfter.Seconds()))
	}
	cause := me.Err
	if cause == nil {
		cause = errNoCause
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": cause.Error(), "type": string(me.Kind), "code": nil}})
}
