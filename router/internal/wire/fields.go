package wire

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// fieldsMark ends the Provider of the opaque parts that hold fields of calls, so that they are not
// taken for the provider's other parts.
const fieldsMark = "/call"

// CallFields returns a part that keeps fields of a tool call which this library does not know, such
// as Gemini's signature. fields is a JSON object. The part goes back to owner only.
func CallFields(owner, id string, fields json.RawMessage) agent.Opaque {
	data := append([]byte(`{"id":`), jsontree.AppendQuoted(nil, id)...)
	data = append(append(append(data, `,"fields":`...), fields...), '}')
	return agent.Opaque{Provider: owner + fieldsMark, Data: data}
}

// FieldsOf returns the fields that the parts of a message keep for the call with that id, or nil.
// The last part counts.
func FieldsOf(parts []agent.Part, owner, id string) map[string]json.RawMessage {
	var found map[string]json.RawMessage
	for _, p := range parts {
		o, ok := p.(agent.Opaque)
		if !ok || len(o.Provider) != len(owner)+len(fieldsMark) || o.Provider != owner+fieldsMark {
			continue
		}
		var kept struct {
			ID     string                     `json:"id"`
			Fields map[string]json.RawMessage `json:"fields"`
		}
		if json.Unmarshal(o.Data, &kept) == nil && kept.ID == id {
			found = kept.Fields
		}
	}
	return found
}

// Unknown returns the members of a JSON object whose keys are not in known, as an object. It
// returns nil if there are none or raw is no object. Members that are null are left out.
func Unknown(raw json.RawMessage, known ...string) json.RawMessage {
	var fields map[string]json.RawMessage
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	return Rest(fields, known...)
}

// Rest returns what [Unknown] does, for members that were read already.
func Rest(fields map[string]json.RawMessage, known ...string) json.RawMessage {
	var rest map[string]json.RawMessage
	for k, v := range fields {
		if !slices.Contains(known, k) && string(v) != "null" {
			if rest == nil {
				rest = map[string]json.RawMessage{}
			}
			rest[k] = v
		}
	}
	if rest == nil {
		return nil
	}
	return Members([]byte{'{'}, rest, '}')
}

// Members appends the members of an object between open and closed, sorted by key, so that the
// bytes are the same in every replay.
func Members(open []byte, fields map[string]json.RawMessage, closed ...byte) []byte {
	out := open
	for i, k := range slices.Sorted(maps.Keys(fields)) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(jsontree.AppendQuoted(out, k), ':'), fields[k]...)
	}
	return append(out, closed...)
}

// Join adds a member to an object, which may be nil.
func Join(object json.RawMessage, key string, value json.RawMessage) json.RawMessage {
	fields := map[string]json.RawMessage{}
	_ = json.Unmarshal(object, &fields) // nil is an object without members
	fields[key] = value
	return Members([]byte{'{'}, fields, '}')
}
