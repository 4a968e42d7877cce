package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
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
	choices      []*choice

	begun bool      // something was sent, possibly only a heartbeat
	first time.Time // of the first byte
}

// usage returns the sum over the choices.
func (a *answer) usage() (sum agent.Usage) {
	for _, c := range a.choices {
		sum = sum.Add(c.usage)
	}
	return sum
}

// whole returns a completion that is not streamed.
func (a *answer) whole(all []*agent.Response) map[string]any {
	choices := make([]any, len(all))
	for i, r := range all {
		choices[i] = map[string]any{"index": i, "message": messageObject(r.Message), "finish_reason": wireReason(r.Finish), "logprobs": a.choices[i].takeTokens()}
	}
	return map[string]any{"id": a.id, "object": "chat.completion", "created": a.created, "model": a.model,
		"choices": choices, "usage": usageObject(a.usage())}
}

func messageObject(m agent.Message) map[string]any {
	msg := map[string]any{"role": "assistant", "content": nil, "refusal": nil}
	var text, thought string
	var calls []map[string]any
	for _, p := range m.Parts {
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
	return msg
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

// chunk writes one chunk of a choice and reports whether it was the choice's last.
func (a *answer) chunk(to *choice, c agent.Chunk) (finished bool, err error) {
	switch c := c.(type) {
	case agent.TextDelta:
		return false, a.delta(to, map[string]any{"content": c.Text}, nil)
	case agent.ThinkingDelta:
		if c.Text == "" {
			return false, nil
		}
		return false, a.delta(to, map[string]any{"reasoning_content": c.Text}, nil)
	case agent.ToolCallStart:
		call := callObject(c.ID, c.Name, "")
		call["index"] = c.Index
		return false, a.delta(to, map[string]any{"tool_calls": []any{call}}, nil)
	case agent.ToolCallDelta:
		call := map[string]any{"index": c.Index, "function": map[string]any{"arguments": c.Args}}
		return false, a.delta(to, map[string]any{"tool_calls": []any{call}}, nil)
	case agent.Usage:
		to.usage = c
	case agent.Finish:
		return true, a.delta(to, map[string]any{}, wireReason(c.Reason))
	}
	return false, nil
}

// end ends a stream whose choices have finished.
func (a *answer) end() error {
	if a.includeUsage {
		if err := a.event(map[string]any{"choices": []any{}, "usage": usageObject(a.usage())}); err != nil {
			return err
		}
	}
	if err := a.raw("data: [DONE]\n\n"); err != nil {
		return err
	}
	a.received()
	return nil
}

func (a *answer) delta(c *choice, d map[string]any, reason any) error {
	if !c.named {
		d["role"], c.named = "assistant", true
	}
	choice := map[string]any{"index": c.index, "delta": d, "finish_reason": reason}
	if lp := c.takeTokens(); lp != nil {
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
		return &unsentError{err}
	}
	if err := http.NewResponseController(a.w).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return &unsentError{err}
	}
	return nil
}

// unsentError says that the client did not receive a piece of its answer.
type unsentError struct{ err error }

func (e *unsentError) Error() string { return "the client does not receive: " + e.err.Error() }
func (e *unsentError) Unwrap() error { return e.err }

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
