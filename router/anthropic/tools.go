package anthropic

import (
	"encoding/json"
	"sync"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/json/jsontree"
	"github.com/luthier-dev/luthier/internal/toolschema"
	"github.com/luthier-dev/luthier/router/internal/wire"
)

// toolset holds the tool declarations of one request.
type toolset struct {
	tools  []declaration
	choice string          // the tool_choice type, "" for the API's default
	name   string          // with choice "tool"
	output string          // the tool whose arguments are the answer, or ""
	format json.RawMessage // the schema for output_config, or nil
}

type declaration struct {
	name, description string
	schema            json.RawMessage
}

// forced reports whether the choice rules out an answer in text.
func (t *toolset) forced() bool { return t.choice == "any" || t.choice == "tool" }

// tools returns the declarations and the tool choice for req.
func (m *Model) tools(req *agent.Request, h *history) (*toolset, *agent.ModelError) {
	t := &toolset{tools: make([]declaration, 0, len(req.Tools)+1)}
	for i := range req.Tools {
		spec := &req.Tools[i]
		schema, err := m.schemas.get(spec.Schema)
		if err != nil {
			return nil, refuse(agent.ErrUnsupported, "the schema of tool %q: %v", spec.Name, err)
		}
		t.tools = append(t.tools, declaration{spec.Name, spec.Description, schema})
	}
	if err := t.choose(req.ToolChoice); err != nil {
		return nil, err
	}
	if err := m.structured(t, req.Output); err != nil {
		return nil, err
	}
	if len(t.tools) == 0 && len(m.cfg.ServerTools) == 0 && len(h.tools) > 0 {
		t.declareUsed(h.tools)
	}
	return t, nil
}

func (t *toolset) choose(c agent.ToolChoice) *agent.ModelError {
	switch c.Mode {
	case agent.ToolModeAuto:
	case agent.ToolModeNone:
		if len(t.tools) > 0 {
			t.choice = "none"
		}
	case agent.ToolModeRequired:
		t.choice = "any"
	case agent.ToolModeNamed:
		t.choice, t.name = "tool", c.Name
		for i := range t.tools {
			if t.tools[i].name == c.Name {
				return nil
			}
		}
		return refuse(agent.ErrInvalid, "the tool choice names %q, which is not among the request's tools", c.Name)
	default:
		return refuse(agent.ErrUnsupported, "tool choice mode %q; use one of the ToolMode constants", c.Mode)
	}
	if t.forced() && len(t.tools) == 0 {
		return refuse(agent.ErrInvalid, "the tool choice asks for a call, but the request has no tools")
	}
	return nil
}

// structured adds the requested output schema, either as a format or as a tool that must be called.
func (m *Model) structured(t *toolset, out *agent.OutputSchema) *agent.ModelError {
	if out == nil {
		return nil
	}
	schema, err := m.schemas.get(out.Schema)
	if err != nil {
		return refuse(agent.ErrUnsupported, "the output schema %q: %v", out.Name, err)
	}
	if !m.cfg.OutputByTool {
		t.format = schema
		return nil
	}
	t.output = wire.Name(out.Name, "answer", "")
	for i := range t.tools {
		if t.tools[i].name == t.output {
			t.output += "_output"
		}
	}
	callable := len(t.tools) > 0 && t.choice != "none"
	t.tools = append(t.tools, declaration{t.output, "Gives the final answer. Call it exactly once, when the answer is ready.", schema})
	switch {
	case t.choice == "tool": // the named call comes first; the answer is requested later
	case callable:
		t.choice = "any"
	default:
		t.choice, t.name = "tool", t.output
	}
	return nil
}

// declareUsed declares the tools that the history calls. The API refuses calls of tools that are
// not declared, even if none may be called, as in a request for a summary.
func (t *toolset) declareUsed(names []string) {
	for _, name := range names {
		t.tools = append(t.tools, declaration{name, "", json.RawMessage(`{"type":"object"}`)})
	}
	t.choice = "none"
}

// tools writes the declarations and the tool choice.
func (b *body) tools(server []json.RawMessage, t *toolset) {
	if len(server)+len(t.tools) > 0 && !b.overridden("tools") {
		b.key("tools")
		for i, raw := range server {
			b.buf = append(append(b.buf, separator(i)...), raw...)
		}
		for i := range t.tools {
			b.buf = append(b.buf, separator(len(server)+i)...)
			b.tool(&t.tools[i], i == len(t.tools)-1)
		}
		b.buf = append(b.buf, ']')
	}
	if t.choice == "" || b.overridden("tool_choice") {
		return
	}
	b.key("tool_choice")
	b.buf = append(b.buf, `{"type":"`+t.choice+`"`...)
	if t.choice == "tool" {
		b.buf = appendField(b.buf, "name", t.name)
	}
	b.buf = append(b.buf, '}')
}

func (b *body) tool(d *declaration, mark bool) {
	b.buf = append(b.buf, `{"name":`...)
	b.buf = jsontree.AppendQuoted(b.buf, d.name)
	if d.description != "" {
		b.buf = appendField(b.buf, "description", d.description)
	}
	b.buf = append(append(b.buf, `,"input_schema":`...), d.schema...)
	if mark {
		b.buf = append(b.buf, b.marker...)
	}
	b.buf = append(b.buf, '}')
}

// schemaCache caches schemas in the API's form: every request of a session has the same tools.
type schemaCache struct {
	mu   sync.Mutex
	seen map[string]json.RawMessage
}

const maxSchemas = 1024 // more than any session has; beyond it the cache is cleared

func (c *schemaCache) get(schema json.RawMessage) (json.RawMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if out, ok := c.seen[string(schema)]; ok {
		return out, nil
	}
	out, _, err := toolschema.Emit(toolschema.Anthropic, schema)
	if err != nil {
		return nil, err
	}
	if c.seen == nil || len(c.seen) >= maxSchemas {
		c.seen = make(map[string]json.RawMessage)
	}
	c.seen[string(schema)] = out
	return out, nil
}
