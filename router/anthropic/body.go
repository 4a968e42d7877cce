package anthropic

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// body writes one request by hand: raw JSON passes through untouched and a long history is written
// in one pass, where encoding/json re-scans, compacts and escapes every raw value. Messages come
// last, so that a longer history only adds bytes.
type body struct {
	buf    []byte
	extra  map[string]json.RawMessage
	marker string // the cache marker, or "" when caching is off
}

// encode returns the request body for req. If the answer is to be a call of the output tool, it
// also returns that tool's name.
func (m *Model) encode(req *agent.Request) (data []byte, outputTool string, err *agent.ModelError) {
	return m.encodeIn(m.fit.Load(), req)
}

func (m *Model) encodeIn(f *fit, req *agent.Request) (data []byte, outputTool string, err *agent.ModelError) {
	h, err := newHistory(req.Messages, m.thinker, *f)
	if err != nil {
		return nil, "", err
	}
	if len(h.turns) == 0 {
		return nil, "", refuse(agent.ErrInvalid, "it has no message with content; add one")
	}
	tools, err := m.tools(req, h)
	if err != nil {
		return nil, "", err
	}
	maxOutput := cmp.Or(req.MaxOutput, m.cfg.MaxOutput, m.family.maxOutput())
	think := m.reasoningFor(req, h, maxOutput, tools.forced())

	b := &body{buf: make([]byte, 0, sizeHint(req)), extra: m.extras(req), marker: m.marker()}
	b.buf = append(b.buf, `{"stream":true`...)
	b.string("model", m.cfg.Model)
	b.raw("max_tokens", strconv.AppendInt(nil, int64(maxOutput), 10))
	b.tools(m.cfg.ServerTools, tools)
	b.system(req.System)
	b.reasoning(think, tools.format)
	if req.Temperature != nil && !think.on() && !m.family.noSampling() {
		b.raw("temperature", strconv.AppendFloat(nil, *req.Temperature, 'g', -1, 64))
	}
	b.stop(req.Stop)
	for _, key := range slices.Sorted(maps.Keys(b.extra)) {
		b.key(key)
		b.buf = append(b.buf, b.extra[key]...)
	}
	if _, ok := b.extra["messages"]; !ok {
		b.messages(h.turns)
	}
	return append(b.buf, '}'), tools.output, nil
}

// extras joins the extra fields of the configuration and the request.
func (m *Model) extras(req *agent.Request) map[string]json.RawMessage {
	if len(m.cfg.Extra)+len(req.Extra) == 0 {
		return nil
	}
	extra := maps.Clone(m.cfg.Extra)
	if extra == nil {
		extra = make(map[string]json.RawMessage, len(req.Extra))
	}
	for key, value := range req.Extra {
		if json.Valid(value) {
			extra[key] = value
		}
	}
	delete(extra, "stream")
	return extra
}

func (m *Model) marker() string {
	switch {
	case m.cfg.DisableCache:
		return ""
	case m.cfg.CacheTTL == time.Hour:
		return `,"cache_control":{"type":"ephemeral","ttl":"1h"}`
	}
	return `,"cache_control":{"type":"ephemeral"}`
}

// key begins a field.
func (b *body) key(name string) {
	b.buf = append(b.buf, ',')
	b.buf = jsontree.AppendQuoted(b.buf, name)
	b.buf = append(b.buf, ':')
}

// overridden reports whether the field is set by the extra ones.
func (b *body) overridden(name string) bool { _, ok := b.extra[name]; return ok }

func (b *body) raw(name string, value []byte) {
	if !b.overridden(name) {
		b.key(name)
		b.buf = append(b.buf, value...)
	}
}

func (b *body) string(name, value string) {
	if !b.overridden(name) {
		b.buf = appendField(b.buf, name, value)
	}
}

func (b *body) system(text string) {
	blocks := appendText(nil, text)
	if len(blocks) == 0 || b.overridden("system") {
		return
	}
	b.key("system")
	b.buf = append(b.buf, '[')
	b.block(&blocks[0], true)
	b.buf = append(b.buf, ']')
}

func (b *body) stop(texts []string) {
	if len(texts) == 0 || b.overridden("stop_sequences") {
		return
	}
	b.key("stop_sequences")
	for i, s := range texts {
		b.buf = append(b.buf, separator(i)...)
		b.buf = jsontree.AppendQuoted(b.buf, s)
	}
	b.buf = append(b.buf, ']')
}

// reasoning writes the thinking type and the output configuration.
func (b *body) reasoning(r reasoning, format json.RawMessage) {
	if r.kind != "" && !b.overridden("thinking") {
		b.key("thinking")
		b.buf = append(b.buf, `{"type":"`+r.kind+`"`...)
		if r.budget > 0 {
			b.buf = append(b.buf, `,"budget_tokens":`...)
			b.buf = strconv.AppendInt(b.buf, int64(r.budget), 10)
		}
		if r.display != "" {
			b.buf = appendField(b.buf, "display", r.display)
		}
		b.buf = append(b.buf, '}')
	}
	if r.effort == "" && format == nil || b.overridden("output_config") {
		return
	}
	b.key("output_config")
	b.buf = append(b.buf, '{')
	if r.effort != "" {
		b.buf = append(b.buf, `"effort":"`+r.effort+`"`...)
	}
	if format != nil {
		if r.effort != "" {
			b.buf = append(b.buf, ',')
		}
		b.buf = append(b.buf, `"format":{"type":"json_schema","schema":`...)
		b.buf = append(append(b.buf, format...), '}')
	}
	b.buf = append(b.buf, '}')
}

// separator returns the opening of an array for the first element and a comma for the others.
func separator(i int) string {
	if i == 0 {
		return "["
	}
	return ","
}

// sizeHint estimates the length of the body, so that the buffer is allocated once.
func sizeHint(req *agent.Request) int {
	n := 1024 + len(req.System)
	for i := range req.Tools {
		n += 64 + len(req.Tools[i].Description) + len(req.Tools[i].Schema)
	}
	for i := range req.Messages {
		n += partsSize(req.Messages[i].Parts)
	}
	return n + n/4 // escapes
}

func partsSize(parts []agent.Part) int {
	n := 0
	for _, p := range parts {
		n += 96
		switch p := p.(type) {
		case agent.Text:
			n += len(p.Text)
		case agent.Thinking:
			n += len(p.Text) + len(p.Signature) + len(p.Redacted)
		case agent.ToolCall:
			n += len(p.ID) + len(p.Name) + len(p.Args)
		case agent.Image:
			n += len(p.URL) + len(p.Data)/3*4
		case agent.Opaque:
			n += len(p.Data)
		case agent.ToolResult:
			n += partsSize(p.Parts)
		}
	}
	return n
}

// appendField appends ,"key":"value".
func appendField(dst []byte, key, value string) []byte {
	dst = append(append(append(dst, `,"`...), key...), `":`...)
	return jsontree.AppendQuoted(dst, value)
}
