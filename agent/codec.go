package agent

import (
	"encoding/json"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// The JSON form of a message is {"role":…,"parts":[{"type":"text","text":…},…]}: each part has a
// type tag and its fields. A part of an unknown type is an error, since dropping it would change
// what a model is shown.

type messageJSON struct {
	Role  Role              `json:"role"`
	Parts []json.RawMessage `json:"parts"`
}

// MarshalJSON writes the message with a type tag on every part.
func (m Message) MarshalJSON() ([]byte, error) {
	parts, err := marshalParts(m.Parts)
	if err != nil {
		return nil, err
	}
	return json.Marshal(messageJSON{Role: m.Role, Parts: parts})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (m *Message) UnmarshalJSON(data []byte) error {
	var raw messageJSON
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	parts, err := unmarshalParts(raw.Parts, 0)
	if err != nil {
		return err
	}
	*m = Message{Role: raw.Role, Parts: parts}
	return nil
}

type toolResultJSON struct {
	CallID  string            `json:"call_id"`
	Parts   []json.RawMessage `json:"parts,omitempty"`
	IsError bool              `json:"is_error,omitempty"`
}

// MarshalJSON writes the result with a type tag on every part.
func (r ToolResult) MarshalJSON() ([]byte, error) {
	parts, err := marshalParts(r.Parts)
	if err != nil {
		return nil, err
	}
	return json.Marshal(toolResultJSON{CallID: r.CallID, Parts: parts, IsError: r.IsError})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *ToolResult) UnmarshalJSON(data []byte) error {
	out, err := unmarshalResult(data, 0)
	if err != nil {
		return err
	}
	*r = out
	return nil
}

// maxPartDepth limits how deep results of tools may hold results of tools. Each level is read
// several times.
const maxPartDepth = 16

// unmarshalResult decodes a result that is inside depth others.
func unmarshalResult(data []byte, depth int) (ToolResult, error) {
	if depth > maxPartDepth {
		return ToolResult{}, fmt.Errorf("results of tools hold each other more than %d levels deep; the message was not written by this library", maxPartDepth)
	}
	var raw toolResultJSON
	if err := json.Unmarshal(data, &raw); err != nil {
		return ToolResult{}, err
	}
	parts, err := unmarshalParts(raw.Parts, depth+1)
	if err != nil {
		return ToolResult{}, err
	}
	return ToolResult{CallID: raw.CallID, Parts: parts, IsError: raw.IsError}, nil
}

type toolCallJSON struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
	Raw  string          `json:"raw_args,omitempty"`
	Data []byte          `json:"data_args,omitempty"`
}

// MarshalJSON writes the call. Arguments that encoding/json would not write unchanged (invalid, or
// not compact) are kept as a string under "raw_args", or in base64 under "data_args", so that every
// call survives a round trip byte for byte.
func (c ToolCall) MarshalJSON() ([]byte, error) {
	out := toolCallJSON{ID: c.ID, Name: c.Name}
	out.Args, out.Raw, out.Data = splitRaw(c.Args)
	return json.Marshal(out)
}

// splitRaw returns raw in one of three forms that survive encoding/json byte for byte: as JSON, as
// a string, or as bytes.
func splitRaw(raw json.RawMessage) (value json.RawMessage, text string, data []byte) {
	switch {
	case json.Valid(raw) && compactJSON(raw) && string(raw) != "null":
		return raw, "", nil
	case utf8.Valid(raw):
		return nil, string(raw), nil
	}
	return nil, "", raw
}

// joinRaw is the inverse of splitRaw.
func joinRaw(value json.RawMessage, text string, data []byte) json.RawMessage {
	switch {
	case text != "":
		return json.RawMessage(text)
	case data != nil:
		return data
	}
	return value
}

type opaqueJSON struct {
	Provider string          `json:"provider"`
	Value    json.RawMessage `json:"data,omitempty"`
	Raw      string          `json:"raw_data,omitempty"`
	Bytes    []byte          `json:"bytes_data,omitempty"`
}

// MarshalJSON writes the part so that its data survives a round trip byte for byte, as
// [ToolCall.MarshalJSON] does.
func (o Opaque) MarshalJSON() ([]byte, error) {
	out := opaqueJSON{Provider: o.Provider}
	out.Value, out.Raw, out.Bytes = splitRaw(o.Data)
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (o *Opaque) UnmarshalJSON(data []byte) error {
	var raw opaqueJSON
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*o = Opaque{Provider: raw.Provider, Data: joinRaw(raw.Value, raw.Raw, raw.Bytes)}
	return nil
}

// compactJSON reports whether encoding/json would write raw unchanged, so that a resumed session
// sends the same bytes.
func compactJSON(raw []byte) bool {
	inString := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '<' || c == '>' || c == '&' || c >= 0x80:
			return false
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case !inString && (c == ' ' || c == '\n' || c == '\t' || c == '\r'):
			return false
		}
	}
	return true
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *ToolCall) UnmarshalJSON(data []byte) error {
	var raw toolCallJSON
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*c = ToolCall{ID: raw.ID, Name: raw.Name, Args: joinRaw(raw.Args, raw.Raw, raw.Data)}
	return nil
}

func marshalParts(ps []Part) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, len(ps))
	for i, p := range ps {
		data, err := marshalPart(p)
		if err != nil {
			return nil, fmt.Errorf("agent: encode message: part %d: %w", i, err)
		}
		out[i] = data
	}
	return out, nil
}

// partTags lists the types of parts with their tags.
var partTags = []struct {
	tag string
	typ reflect.Type
}{
	{"text", reflect.TypeFor[Text]()},
	{"image", reflect.TypeFor[Image]()},
	{"thinking", reflect.TypeFor[Thinking]()},
	{"tool_call", reflect.TypeFor[ToolCall]()},
	{"tool_result", reflect.TypeFor[ToolResult]()},
	{"opaque", reflect.TypeFor[Opaque]()},
}

func partTag(p Part) string {
	t := reflect.TypeOf(p)
	for i := range partTags {
		if partTags[i].typ == t {
			return partTags[i].tag
		}
	}
	return ""
}

func partType(tag string) reflect.Type {
	for i := range partTags {
		if partTags[i].tag == tag {
			return partTags[i].typ
		}
	}
	return nil
}

func marshalPart(p Part) (json.RawMessage, error) {
	kind := partTag(p)
	if kind == "" {
		return nil, fmt.Errorf("%T is not a part; parts are values, not pointers", p)
	}
	body, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	head := `{"type":"` + kind + `"`
	if len(body) > 2 {
		head += ","
	}
	return append([]byte(head), body[1:]...), nil
}

func unmarshalParts(raws []json.RawMessage, depth int) ([]Part, error) {
	if len(raws) == 0 {
		return nil, nil
	}
	out := make([]Part, len(raws))
	for i, raw := range raws {
		p, err := unmarshalPart(raw, depth)
		if err != nil {
			return nil, fmt.Errorf("agent: decode message: part %d: %w", i, err)
		}
		out[i] = p
	}
	return out, nil
}

func unmarshalPart(raw json.RawMessage, depth int) (Part, error) {
	var tag struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &tag); err != nil {
		return nil, err
	}
	typ := partType(tag.Type)
	switch typ {
	case nil:
		return nil, fmt.Errorf("unknown part type %q; it was written by a newer version", tag.Type)
	case reflect.TypeFor[ToolResult]():
		return unmarshalResult(raw, depth)
	}
	p := reflect.New(typ)
	if err := json.Unmarshal(raw, p.Interface()); err != nil {
		return nil, err
	}
	return p.Elem().Interface().(Part), nil
}
