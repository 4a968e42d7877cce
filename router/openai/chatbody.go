package openai

import (
	"strconv"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/toolschema"
)

// chatBody appends the body of a chat completion request to buf.
func (m *Model) chatBody(buf []byte, req *agent.Request) ([]byte, error) {
	return m.chatBodyIn(m.fit.Load(), buf, req)
}

func (m *Model) chatBodyIn(f *fit, buf []byte, req *agent.Request) ([]byte, error) {
	b := &body{buf: buf, extra: req.Extra}
	b.stringField("model", m.cfg.Model)
	b.rawField("stream", "true")
	b.rawField("stream_options", `{"include_usage":true}`)
	if req.MaxOutput > 0 && b.field(string(m.cfg.TokensField)) {
		b.int(int64(req.MaxOutput))
	}
	m.sampling(b, req)
	if len(req.Stop) > 0 && b.field("stop") {
		b.raw("[")
		for _, s := range req.Stop {
			b.comma()
			b.str(s)
		}
		b.raw("]")
	}
	if req.Seed != nil && b.field("seed") {
		b.int(*req.Seed)
	}
	if req.Effort != "" {
		b.stringField("reasoning_effort", string(req.Effort))
	}
	if err := m.chatOutput(b, req.Output); err != nil {
		return nil, err
	}
	if err := m.chatTools(b, req); err != nil {
		return nil, err
	}
	if err := b.extras(); err != nil {
		return nil, err
	}
	if b.field("messages") {
		if err := m.chatMessages(f, b, req); err != nil {
			return nil, err
		}
	}
	b.raw("}")
	return b.buf, nil
}

// sampling writes the sampling fields that both protocols share.
func (m *Model) sampling(b *body, req *agent.Request) {
	if req.Temperature != nil && b.field("temperature") {
		b.buf = strconv.AppendFloat(b.buf, *req.Temperature, 'g', -1, 64)
	}
	if req.SessionID != "" && *m.cfg.CacheKey {
		b.stringField("prompt_cache_key", req.SessionID)
	}
}

func (m *Model) chatOutput(b *body, out *agent.OutputSchema) error {
	if out == nil || !b.field("response_format") {
		return nil
	}
	b.raw(`{"type":"json_schema","json_schema":{`)
	if err := m.outputSchema(b, out); err != nil {
		return err
	}
	b.raw("}}")
	return nil
}

// outputSchema writes the fields that describe structured output in both protocols.
func (m *Model) outputSchema(b *body, out *agent.OutputSchema) error {
	e, err := m.schemas.emit(toolschema.OpenAI, out.Schema)
	if err != nil {
		return invalid("Request.Output: %w", err)
	}
	name := out.Name
	if name == "" {
		name = "answer"
	}
	b.raw(`"name":`)
	b.str(name)
	b.raw(`,"strict":`)
	b.raw(strconv.FormatBool(e.strict))
	b.raw(`,"schema":`)
	b.raw(e.schema)
	return nil
}

func (m *Model) chatTools(b *body, req *agent.Request) error {
	if len(req.Tools) > 0 && b.field("tools") {
		b.raw("[")
		for i := range req.Tools {
			b.comma()
			b.raw(`{"type":"function","function":{`)
			if err := m.function(b, &req.Tools[i]); err != nil {
				return err
			}
			b.raw("}}")
		}
		b.raw("]")
	}
	mode, err := toolMode(req)
	if err != nil || mode == "" || !b.field("tool_choice") {
		return err
	}
	if mode == agent.ToolModeNamed {
		b.raw(`{"type":"function","function":{"name":`)
		b.str(req.ToolChoice.Name)
		b.raw("}}")
		return nil
	}
	b.str(string(mode))
	return nil
}

// function writes the fields that describe a tool in both protocols.
func (m *Model) function(b *body, t *agent.ToolSpec) error {
	dialect := toolschema.Plain
	if m.cfg.StrictTools {
		dialect = toolschema.OpenAI
	}
	e, err := m.schemas.emit(dialect, t.Schema)
	if err != nil {
		return invalid("tool %q: %w", t.Name, err)
	}
	b.raw(`"name":`)
	b.str(t.Name)
	if t.Description != "" {
		b.raw(`,"description":`)
		b.str(t.Description)
	}
	b.raw(`,"parameters":`)
	b.raw(e.schema)
	if m.cfg.StrictTools && e.strict {
		b.raw(`,"strict":true`)
	} else if m.cfg.API == Responses {
		b.raw(`,"strict":false`) // the Responses API is strict by default
	}
	return nil
}

// toolMode returns the mode to send, or "" for none.
func toolMode(req *agent.Request) (agent.ToolMode, error) {
	switch c := req.ToolChoice; c.Mode {
	case agent.ToolModeAuto:
		return "", nil
	case agent.ToolModeNone:
		if len(req.Tools) == 0 {
			return "", nil // servers refuse a tool choice without tools
		}
		return c.Mode, nil
	case agent.ToolModeRequired:
		if len(req.Tools) == 0 {
			return "", invalid("Request.ToolChoice requires a call but no tool is offered")
		}
		return c.Mode, nil
	case agent.ToolModeNamed:
		for _, t := range req.Tools {
			if t.Name == c.Name {
				return c.Mode, nil
			}
		}
		return "", invalid("Request.ToolChoice names the tool %q, which is not offered", c.Name)
	default:
		return "", unsupported("Request.ToolChoice.Mode is %q", c.Mode)
	}
}
