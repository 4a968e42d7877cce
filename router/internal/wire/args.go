package wire

import (
	"bytes"
	"encoding/json"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// IsObject reports whether raw is one valid JSON object.
func IsObject(raw []byte) bool {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(raw)
}

// Object returns args unchanged if they are a JSON object. Otherwise it returns an object that
// holds them: empty for nothing or null, under "value" for other JSON, and as a string under
// "invalid_json" for anything that is not JSON. A history with a malformed call can thus still be
// sent, and the model sees what it wrote.
func Object(args json.RawMessage) json.RawMessage {
	switch trimmed := bytes.TrimSpace(args); {
	case IsObject(args):
		return args
	case len(trimmed) == 0, string(trimmed) == "null":
		return json.RawMessage("{}")
	case json.Valid(args):
		return json.RawMessage(`{"value":` + string(trimmed) + `}`)
	}
	return append(jsontree.AppendQuoted([]byte(`{"invalid_json":`), string(args)), '}')
}
