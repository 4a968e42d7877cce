package tools

import (
	"encoding/json"

	"github.com/luthier-dev/luthier/internal/toolschema"
)

// Dialect is the subset of JSON Schema that a provider accepts.
type Dialect = toolschema.Dialect

// The dialects of [EmitSchema].
const (
	Plain     = toolschema.Plain     // JSON Schema with local references inlined
	OpenAI    = toolschema.OpenAI    // strict mode of OpenAI and compatible servers
	Anthropic = toolschema.Anthropic // input schemas of the Messages API
	Gemini    = toolschema.Gemini    // function declarations of the Gemini API
	LlamaCPP  = toolschema.LlamaCPP  // the subset that llama.cpp and this library's grammar enforce
)

// EmitSchema rewrites a tool's schema for a provider. What the provider cannot enforce moves to the
// descriptions, so that the model still reads it. strict reports whether the provider's strict mode
// accepts the result.
//
// Arguments that the result accepts may contain nulls for omitted optional ones (OpenAI's strict
// mode has no other way to omit one); [RepairArgs] and every tool of this package treat such a null
// as omitted.
func EmitSchema(d Dialect, schema json.RawMessage) (out json.RawMessage, strict bool, err error) {
	return toolschema.Emit(d, schema)
}
