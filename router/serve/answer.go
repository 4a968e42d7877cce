package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// answer writes one completion.
type answer struct {
	id, model    string
	created      int64
	w            http.ResponseWriter
	patience     time.Duration // how long to wait for a client that does not read
	includeUsage bool
	logProbs     bool

	begun bool      // something was sent, possibly only a heartbeat
	named bool      // the role was sent
	first time.Time // of the first byte
	usage agent.Usage

	mu     sync.Mutex
	tokens []map[string]any // not yet sent
}

// token stores a token for the next chunk.
func (a *answer) token(t agent.Token) {
	top := make([]map[string]any, 0, len(t.Top))
	for _, o := range t.Top {
		top = append(top, tokenObject(o.Text, o.ID, o.LogProb))
	}
	o := tokenObject(t.Text, t.ID, t.LogProb)
	o["top_logprobs"] = top
	a.mu.Lock()
	a.tokens = append(a.tokens, o)
	a.mu.Unlock()
}

func tokenObject(text string, id int32, p float64) map[string]any {
	b := make([]int, len(text))
	for i := range len(text) {
		b[i] = int(text[i])
	}
	return map[string]any{"token": text, "id": id, "logprob": p, "bytes": b}
}

// takeTokens returns the tokens since the last call as the API's logprobs object, or nil if none
// were requested.
func (a *answer) takeTokens() any {
	if !a.logProbs {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.tokens) == 0 {
		return nil
	}
	list := a.tokens
	a.tokens = nil
	return map[string]any{"content": list}
}

// whole returns a completion that is not streamed.
func (a *answer) whole(r *agent.Response) map[string]any {
	msg := map[string]any{"role": "assistant", "content": nil, "refusal": nil}
	var text, thought string
	var calls []map[string]any
	for _, p := range r.Message.Parts {
		switch p := p.(type) {
		case agent.Text:
			text += p.Text
		case agent.Thinking:
			thought += p.Text
		case agent.ToolCall:
			calls = append(calls, callObject(p.ID, p.Name, string(p.Args)))
		}
	}
	if text != "" || calls == nil {
		msg["content"] = text
	}
	if thought != "" {
		msg["reasoning_content"] = thought
	}
	if calls != nil {
		msg["tool_calls"] = calls
	}
	choice := map[string]any{"index": 0, "message": msg, "finish_reason": wireReason(r.Finish), "logprobs": a.takeTokens()}
	return map[string]any{"id": a.id, "object": "chat.completion", "created": a.created, "model": a.model,
		"choices": []any{choice}, "usage": usageObject(r.Usage)}
}

func callObject(id, name, args string) map[string]any {
	return map[string]any{"id": id, "type": "function", "function": map[string]any{"name": name, "arguments": args}}
}

func usageObject(u agent.Usage) map[string]any {
	return map[string]any{"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Total(),
		"prompt_tokens_details":     map[string]any{"cached_tokens": u.CachedInput, "cache_write_tokens": u.CacheWrite},
		"completion_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning}}
}

// wireReason maps a finish reason to one that the API knows.
func wireReason(r agent.FinishReason) string {
	switch r {
	case agent.FinishTools, agent.FinishLength, agent.FinishFilter:
		return string(r)
	case agent.FinishRefusal:
		return "content_filter"
	case agent.FinishMalformed: // Gemini's word: a client must not take the answer for a whole one
		return "malformed_function_call"
	}
	return "stop"
}

// chunk writes one chunk of a stream and reports whether it was the last.
func (a *answer) chunk(c agent.Chunk) (finished bool, err error) {
	switch c := c.(type) {
	case agent.TextDelta:
		return false, a.delta(map[string]any{"content": c.Text}, nil)
	case agent.ThinkingDelta:
		if c.Text == "" {
			return false, nil
		}
		return false, a.delta(map[string]any{"reasoning_content": c.Text}, nil)
	case agent.ToolCallStart:
		call := callObject(c.ID, c.Name, "")
		call["index"] = c.Index
		return false, a.delta(map[string]any{"tool_calls": []any{call}}, nil)
	case agent.ToolCallDelta:
		call := map[string]any{"index": c.Index, "function": map[string]any{"arguments": c.Args}}
		return false, a.delta(map[string]any{"tool_calls": []any{call}}, nil)
	case agent.Usage:
		a.usage = c
	case agent.Finish:
		return true, a.finish(c.Reason)
	}
	return false, nil
}

func (a *answer) finish(reason agent.FinishReason) error {
	if err := a.delta(map[string]any{}, wireReason(reason)); err != nil {
		return err
	}
	if a.includeUsage {
		if err := a.event(map[string]any{"choices": []any{}, "usage": usageObject(a.usage)}); err != nil {
			return err
		}
	}
	if err := a.raw("data: [DONE]\n\n"); err != nil {
		return err
	}
	a.received()
	return nil
}

func (a *answer) delta(d map[string]any, reason any) error {
	if !a.named {
		d["role"], a.named = "assistant", true
	}
	choice := map[string]any{"index": 0, "delta": d, "finish_reason": reason}
	if lp := a.takeTokens(); lp != nil {
		choice["logprobs"] = lp
	}
	return a.event(map[string]any{"choices": []any{choice}})
}

func (a *answer) event(v map[string]any) error {
	v["id"], v["object"], v["created"], v["model"] = a.id, "chat.completion.chunk", a.created, a.model
	var b bytes.Buffer
	b.WriteString("data: ")
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	b.WriteByte('\n')
	return a.raw(b.String())
}

// raw writes s and flushes. The first call begins the stream.
func (a *answer) raw(s string) error {
	if !a.begun {
		a.begun, a.first = true, time.Now()
		h := a.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no") // nginx would hold the events back
	}
	return a.write(s)
}

// all answers with one object.
func (a *answer) all(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return a.fail(err)
	}
	a.w.Header().Set("Content-Type", "application/json")
	a.w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	if err := a.write(string(body) + "\n"); err != nil {
		return err
	}
	a.received()
	return nil
}

// write sends s at once, and drops a client that does not receive it in time. The host's writer may
// not support deadlines or flushing.
func (a *answer) write(s string) error {
	_ = http.NewResponseController(a.w).SetWriteDeadline(time.Now().Add(a.patience))
	if _, err := io.WriteString(a.w, s); err != nil {
		return err
	}
	if err := http.NewResponseController(a.w).Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// received clears the deadline: the connection's next answer may begin late.
func (a *answer) received() { _ = http.NewResponseController(a.w).SetWriteDeadline(time.Time{}) }

// fail reports an error: as a separate response if nothing was sent yet, or else as an event. It
// returns err.
func (a *answer) fail(err error) error {
	f := failureOf(err)
	if !a.begun {
		writeFailure(a.w, f)
		return err
	}
	if a.event(f.wire()) == nil {
		a.received()
	}
	return err
}
