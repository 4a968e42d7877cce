package anthropic

import (
	"encoding/json"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
	"github.com/luthier-dev/luthier/router/internal/wire"
)

// openBlock is a content block while its deltas arrive.
type openBlock struct {
	kind  string
	raw   json.RawMessage // as it was at the start
	start blockStart

	index     int             // of a call
	fields    json.RawMessage // of a call, those that this package does not know
	held      string          // arguments of a call that say nothing
	answer    bool            // a call of the output tool
	hasArgs   bool
	signature string
	text      []byte
	citations []json.RawMessage
	deltas    []json.RawMessage // of a block whose kind this package does not know
}

// blockStart holds the fields of the blocks this package knows.
type blockStart struct {
	Text      wire.String                `json:"text"`
	Thinking  wire.String                `json:"thinking"`
	Signature wire.String                `json:"signature"`
	Data      wire.String                `json:"data"`
	ID        wire.String                `json:"id"`
	Name      wire.String                `json:"name"`
	Input     json.RawMessage            `json:"input"`
	Citations wire.List[json.RawMessage] `json:"citations"`
}

func newOpenBlock(raw json.RawMessage) (*openBlock, error) {
	var kind struct {
		Type wire.String `json:"type"`
	}
	if len(raw) == 0 {
		return nil, errNoBlock
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return nil, err
	}
	b := &openBlock{kind: string(kind.Type), raw: raw}
	if b.opaque() {
		return b, nil // its fields may have any meaning
	}
	if b.kind == "tool_use" {
		b.fields = callFields(raw)
	}
	return b, json.Unmarshal(raw, &b.start)
}

// callFields returns the fields of a call that this package does not know, to be sent back with it.
// A caller that is the model itself is what the API assumes anyway.
func callFields(raw json.RawMessage) json.RawMessage {
	var call struct {
		Caller struct{ Type wire.String }
	}
	known := []string{"type", "id", "name", "input", "cache_control"}
	if json.Unmarshal(raw, &call) == nil && call.Caller.Type == "direct" {
		known = append(known, "caller")
	}
	return wire.Unknown(raw, known...)
}

// opaque reports whether the block is of a kind this package passes through.
func (b *openBlock) opaque() bool {
	switch b.kind {
	case "text", "thinking", "redacted_thinking", "tool_use":
		return false
	}
	return true
}

// data returns the whole block for replay, unchanged if nothing was added to it.
func (b *openBlock) data() json.RawMessage {
	if len(b.deltas) == 0 && len(b.citations) == 0 {
		return b.raw
	}
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(b.raw, &fields) != nil {
		return b.raw
	}
	if b.kind == "text" {
		fields["text"] = jsontree.AppendQuoted(nil, string(b.text))
		fields["citations"] = joinArray(b.citations)
	}
	m := merge{fields: fields, texts: map[string][]byte{}}
	for _, d := range b.deltas {
		m.add(d)
	}
	data, err := json.Marshal(m.done())
	if err != nil {
		return b.raw
	}
	return data
}

// merge applies unknown deltas to a block the way the known ones work: texts are appended to, other
// values are replaced, and pieces of input are JSON only once complete.
type merge struct {
	fields map[string]json.RawMessage
	texts  map[string][]byte
	input  []byte
}

func (m *merge) add(raw json.RawMessage) {
	var delta map[string]json.RawMessage
	if json.Unmarshal(raw, &delta) != nil {
		return
	}
	for key, value := range delta {
		var more string
		isText := json.Unmarshal(value, &more) == nil && string(value) != "null"
		switch {
		case key == "type":
		case isText && key == "partial_json":
			m.input = append(m.input, more...)
		case isText:
			m.grow(key, more)
		default:
			m.fields[key] = value
			delete(m.texts, key)
		}
	}
}

func (m *merge) grow(key, more string) {
	text, growing := m.texts[key]
	if !growing {
		var have string
		_ = json.Unmarshal(m.fields[key], &have) // anything except a text is replaced
		text = []byte(have)
	}
	m.texts[key] = append(text, more...)
}

func (m *merge) done() map[string]json.RawMessage {
	for key, text := range m.texts {
		m.fields[key] = jsontree.AppendQuoted(nil, string(text))
	}
	if len(m.input) > 0 && json.Valid(m.input) {
		m.fields["input"] = m.input
	}
	return m.fields
}

func joinArray(items []json.RawMessage) json.RawMessage {
	out := []byte{'['}
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		if len(item) == 0 {
			item = json.RawMessage("null")
		}
		out = append(out, item...)
	}
	return append(out, ']')
}
