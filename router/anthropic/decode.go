package anthropic

import (
	"encoding/json"
	"errors"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/internal/wire"
)

// event is the union of the fields of all stream events that this package reads.
type event struct {
	Type         string          `json:"type"`
	Index        int             `json:"index"`
	ContentBlock json.RawMessage `json:"content_block"`
	Delta        json.RawMessage `json:"delta"`
	Usage        *usage          `json:"usage"`
	Message      struct {
		Usage *usage `json:"usage"`
	} `json:"message"`
}

// delta is the union of the deltas of blocks and of the message.
type delta struct {
	Type        string          `json:"type"`
	Text        string          `json:"text"`
	Thinking    string          `json:"thinking"`
	Signature   string          `json:"signature"`
	PartialJSON string          `json:"partial_json"`
	Citation    json.RawMessage `json:"citation"`
	StopReason  string          `json:"stop_reason"`
}

// usage holds the token counts of an event; counts that it leaves out stay as they were.
type usage struct {
	Input      *int64 `json:"input_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	Output     *int64 `json:"output_tokens"`
	Details    struct {
		Thinking *int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// decoder turns events into chunks. Bad input returns an error and never panics.
type decoder struct {
	outputTool string // calls of this tool are the answer's text
	thinker    string // signs the reasoning
	out        []agent.Chunk
	done       bool
	open       map[int]*openBlock
	calls      int // tool calls started, not counting the output tool
	answered   bool
	stopReason string

	input, cacheRead, cacheWrite, output, thinking int64
}

// event handles one event and leaves its chunks in out until the next call.
func (d *decoder) event(raw wire.Event) *agent.ModelError {
	clear(d.out)
	d.out = d.out[:0]
	if len(raw.Data) == 0 || raw.Name == "ping" || string(raw.Data) == "[DONE]" {
		return nil
	}
	if raw.Name == "error" {
		return streamError(raw.Data)
	}
	var ev event
	if err := json.Unmarshal(raw.Data, &ev); err != nil {
		if !known(raw.Data) {
			return nil // the API may add events at any time
		}
		return badEvent(raw, err)
	}
	if ev.Type == "" {
		ev.Type = raw.Name
	}
	switch ev.Type {
	case "error":
		return streamError(raw.Data)
	case "message_start":
		d.count(ev.Message.Usage)
	case "content_block_start":
		return d.start(raw, &ev)
	case "content_block_delta":
		return d.delta(raw, &ev)
	case "content_block_stop":
		d.stop(ev.Index)
	case "message_delta":
		return d.messageDelta(raw, &ev)
	case "message_stop":
		d.finish()
	}
	return nil
}

// known reports whether an event that does not fit [event] is one that this package should
// understand. Anything that is not JSON counts as known.
func known(data []byte) bool {
	var kind struct{ Type any }
	if json.Unmarshal(data, &kind) != nil {
		return true
	}
	switch kind.Type {
	case "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop", nil:
		return true
	}
	return false
}

func badEvent(raw wire.Event, err error) *agent.ModelError {
	return refuse(agent.ErrServer, "read stream: event %q: %w: %s", raw.Name, err, shorten(string(raw.Data[:min(len(raw.Data), 200)])))
}

func (d *decoder) emit(c agent.Chunk) { d.out = append(d.out, c) }

// count merges token counts, which are running totals. The API does not include cached tokens in
// input_tokens; the agent package's contract does.
func (d *decoder) count(u *usage) {
	if u == nil {
		return
	}
	for _, c := range []struct {
		to   *int64
		from *int64
	}{{&d.input, u.Input}, {&d.cacheRead, u.CacheRead}, {&d.cacheWrite, u.CacheWrite}, {&d.output, u.Output}, {&d.thinking, u.Details.Thinking}} {
		if c.from != nil {
			*c.to = *c.from
		}
	}
	d.emit(agent.Usage{
		Input:       d.input + d.cacheRead + d.cacheWrite,
		CachedInput: d.cacheRead,
		CacheWrite:  d.cacheWrite,
		Output:      d.output,
		Reasoning:   d.thinking,
	})
}

func (d *decoder) start(raw wire.Event, ev *event) *agent.ModelError {
	b, err := newOpenBlock(ev.ContentBlock)
	if err != nil {
		return badEvent(raw, err)
	}
	d.stop(ev.Index) // in case the server forgot to end the block with that index
	if d.open == nil {
		d.open = make(map[int]*openBlock)
	}
	d.open[ev.Index] = b
	switch b.kind {
	case "text":
		d.text(b, b.start.Text)
	case "thinking":
		d.thought(b, b.start.Thinking)
		b.signature = b.start.Signature
	case "redacted_thinking":
		d.emit(agent.ThinkingDelta{Redacted: []byte(b.start.Data), Provider: d.thinker})
	case "tool_use":
		if d.outputTool != "" && b.start.Name == d.outputTool {
			b.answer, d.answered = true, true
			return nil
		}
		b.index = d.calls
		d.calls++
		d.emit(agent.ToolCallStart{Index: b.index, ID: b.start.ID, Name: b.start.Name})
	}
	return nil
}

func (d *decoder) text(b *openBlock, s string) {
	if s != "" {
		b.text = append(b.text, s...)
		d.emit(agent.TextDelta{Text: s})
	}
}

func (d *decoder) thought(b *openBlock, s string) {
	if s != "" {
		d.emit(agent.ThinkingDelta{Text: s, Provider: d.thinker})
	}
}

func (d *decoder) delta(raw wire.Event, ev *event) *agent.ModelError {
	b := d.open[ev.Index]
	if b == nil {
		return nil // of a block that never started: there is nothing to add it to
	}
	if b.opaque() {
		b.deltas = append(b.deltas, ev.Delta)
		return nil
	}
	var x delta
	if err := json.Unmarshal(ev.Delta, &x); err != nil {
		return badEvent(raw, err)
	}
	switch x.Type {
	case "text_delta":
		d.text(b, x.Text)
	case "citations_delta":
		b.citations = append(b.citations, x.Citation)
	case "thinking_delta":
		d.thought(b, x.Thinking)
	case "signature_delta":
		b.signature += x.Signature
	case "input_json_delta":
		d.arguments(b, x.PartialJSON)
	}
	return nil
}

func (d *decoder) arguments(b *openBlock, s string) {
	switch {
	case s == "" || b.kind != "tool_use":
		return
	case b.answer:
		d.emit(agent.TextDelta{Text: s})
	default:
		d.emit(agent.ToolCallDelta{Index: b.index, Args: s})
	}
	b.hasArgs = true
}

// stop ends the block with that index, if one is open.
func (d *decoder) stop(index int) {
	b := d.open[index]
	if b == nil {
		return
	}
	delete(d.open, index)
	switch {
	case b.kind == "thinking" && b.signature != "":
		d.emit(agent.ThinkingDelta{Signature: b.signature, Provider: d.thinker})
	case b.kind == "tool_use" && !b.hasArgs && len(b.start.Input) > 0 && string(b.start.Input) != "{}":
		d.arguments(b, string(b.start.Input)) // some servers send the arguments whole, at the start
	case b.kind == "text" && len(b.citations) > 0, b.opaque():
		d.emit(agent.Opaque{Provider: provider, Data: b.data()})
	}
}

func (d *decoder) messageDelta(raw wire.Event, ev *event) *agent.ModelError {
	d.count(ev.Usage)
	var x delta
	if len(ev.Delta) == 0 {
		return nil
	}
	if err := json.Unmarshal(ev.Delta, &x); err != nil {
		return badEvent(raw, err)
	}
	if x.StopReason != "" {
		d.stopReason = x.StopReason
	}
	return nil
}

func (d *decoder) finish() {
	d.done = true
	reason := finishReason(d.stopReason)
	switch {
	case d.stopReason == "" && d.calls > 0:
		reason = agent.FinishTools
	case d.stopReason == "", reason == agent.FinishTools && d.calls == 0 && d.answered:
		reason = agent.FinishStop
	}
	d.emit(agent.Finish{Reason: reason})
}

func finishReason(s string) agent.FinishReason {
	switch s {
	case "end_turn", "stop_sequence":
		return agent.FinishStop
	case "tool_use":
		return agent.FinishTools
	case "max_tokens", "model_context_window_exceeded":
		return agent.FinishLength
	case "pause_turn":
		return agent.FinishPause
	case "refusal":
		return agent.FinishRefusal
	}
	return agent.FinishOther
}

var errNoBlock = errors.New("content_block is missing")
