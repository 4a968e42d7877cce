package anthropic

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/internal/wire"
)

// event is the union of the fields of all stream events that this package reads.
type event struct {
	Type         string          `json:"type"`
	Index        wire.Int        `json:"index"`
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
	Input      wire.Int `json:"input_tokens"`
	CacheRead  wire.Int `json:"cache_read_input_tokens"`
	CacheWrite wire.Int `json:"cache_creation_input_tokens"`
	Output     wire.Int `json:"output_tokens"`
	Details    struct {
		Thinking wire.Int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// decoder turns events into chunks. Bad input returns an error and never panics.
type decoder struct {
	outputTool string // calls of this tool are the answer's text
	thinker    string // signs the reasoning
	out        []agent.Chunk
	done       bool
	open       map[int64]*openBlock
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
	if err := wire.Unmarshal(raw.Data, &ev); err != nil {
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
	case "message":
		return d.whole(raw)
	case "message_start":
		d.count(ev.Message.Usage)
	case "content_block_start":
		return d.start(raw, &ev)
	case "content_block_delta":
		return d.delta(raw, &ev)
	case "content_block_stop":
		d.stop(ev.Index.N)
	case "message_delta":
		return d.messageDelta(raw, &ev)
	case "message_stop":
		return d.finish()
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
		from wire.Int
	}{{&d.input, u.Input}, {&d.cacheRead, u.CacheRead}, {&d.cacheWrite, u.CacheWrite}, {&d.output, u.Output}, {&d.thinking, u.Details.Thinking}} {
		if c.from.Set {
			*c.to = c.from.N
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
	d.stop(ev.Index.N) // in case the server forgot to end the block with that index
	if d.open == nil {
		d.open = make(map[int64]*openBlock)
	}
	d.open[ev.Index.N] = b
	switch b.kind {
	case "text":
		d.text(b, string(b.start.Text))
	case "thinking":
		d.thought(b, string(b.start.Thinking))
		b.signature = string(b.start.Signature)
	case "redacted_thinking":
		d.emit(agent.ThinkingDelta{Redacted: []byte(b.start.Data), Provider: d.thinker})
	case "tool_use":
		if d.outputTool != "" && string(b.start.Name) == d.outputTool {
			b.answer, d.answered = true, true
			return nil
		}
		b.index = d.calls
		d.calls++
		d.emit(agent.ToolCallStart{Index: b.index, ID: string(b.start.ID), Name: string(b.start.Name)})
		if b.fields != nil && b.start.ID != "" {
			d.emit(wire.CallFields(d.thinker, string(b.start.ID), b.fields))
		}
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
	b := d.open[ev.Index.N]
	if b == nil {
		return nil // of a block that never started: there is nothing to add it to
	}
	if b.opaque() {
		b.deltas = append(b.deltas, ev.Delta)
		return nil
	}
	var x delta
	if err := wire.Unmarshal(ev.Delta, &x); err != nil {
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
		d.piece(b, x.PartialJSON)
	}
	return nil
}

// piece takes a piece of a call's arguments. Arguments that say nothing are held back: some servers
// announce a call with them and stream the real ones afterwards.
func (d *decoder) piece(b *openBlock, s string) {
	switch blank := strings.TrimSpace(s) == ""; {
	case b.hasArgs, !blank && !wire.SaysNothing(s):
		d.arguments(b, s)
	case !blank:
		b.held = s
	}
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
func (d *decoder) stop(index int64) {
	b := d.open[index]
	if b == nil {
		return
	}
	delete(d.open, index)
	switch {
	case b.kind == "thinking" && b.signature != "":
		d.emit(agent.ThinkingDelta{Signature: b.signature, Provider: d.thinker})
	case b.kind == "tool_use" && !b.hasArgs && len(b.start.Input) > 0 && !wire.SaysNothing(string(b.start.Input)):
		d.arguments(b, wire.Text(b.start.Input)) // some servers send the arguments whole, at the start
	case b.kind == "tool_use" && !b.hasArgs && b.held != "":
		d.arguments(b, "{}")
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
	if err := wire.Unmarshal(ev.Delta, &x); err != nil {
		return badEvent(raw, err)
	}
	if x.StopReason != "" {
		d.stopReason = x.StopReason
	}
	return nil
}

// whole reads the answer of a server that does not stream.
func (d *decoder) whole(raw wire.Event) *agent.ModelError {
	var m struct {
		Content    wire.List[json.RawMessage] `json:"content"`
		StopReason wire.String                `json:"stop_reason"`
		Usage      *usage                     `json:"usage"`
	}
	if err := wire.Unmarshal(raw.Data, &m); err != nil {
		return badEvent(raw, err)
	}
	if len(m.Content) == 0 && m.StopReason == "" {
		return refuse(agent.ErrServer, "read response: it is no answer of the Messages API; check BaseURL: %s", shorten(string(raw.Data)))
	}
	for _, block := range m.Content {
		if err := d.start(raw, &event{ContentBlock: block}); err != nil {
			return err
		}
		if b := d.open[0]; b.kind == "text" {
			b.citations = b.start.Citations
		}
		d.stop(0)
	}
	d.count(m.Usage)
	d.stopReason = string(m.StopReason)
	return d.finish()
}

// finish ends the answer. A stop reason that means a failure is an error.
func (d *decoder) finish() *agent.ModelError {
	reason, failed := agent.FinishStop, agent.ErrorKind("")
	if d.stopReason != "" {
		reason, failed = wire.Finish(d.stopReason)
	}
	switch {
	case failed != "":
		return refuse(failed, "read stream: it ended with stop_reason %s; send the request again", shorten(d.stopReason))
	case reason == agent.FinishStop && d.calls > 0: // its results are wanted all the same
		reason = agent.FinishTools
	case reason == agent.FinishTools && d.calls == 0 && d.answered:
		reason = agent.FinishStop
	}
	d.done = true
	d.emit(agent.Finish{Reason: reason})
	return nil
}

var errNoBlock = errors.New("content_block is missing")
