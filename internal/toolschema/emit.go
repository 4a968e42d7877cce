package toolschema

import (
	"encoding/json"
	"fmt"

	"github.com/luthier-dev/luthier/internal/jsontree"
)

// Dialect is the subset of JSON Schema that a provider takes.
type Dialect string

// The dialects.
const (
	Plain     Dialect = "plain"     // JSON Schema, with local references inlined and nothing else changed
	OpenAI    Dialect = "openai"    // strict structured outputs of OpenAI and servers that follow it
	Anthropic Dialect = "anthropic" // tool input schemas of the Messages API
	Gemini    Dialect = "gemini"    // function declarations of the Gemini API (an OpenAPI 3 subset)
	LlamaCPP  Dialect = "llamacpp"  // what llama.cpp and this library's own grammar turn into a grammar
)

// Emit rewrites schema for dialect d. strict reports whether d's strict mode can hold the model to the result; when it
// is false the result is still right to send without strict mode. A nil schema means an object without properties.
func Emit(d Dialect, schema json.RawMessage) (out json.RawMessage, strict bool, err error) {
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	v, err := jsontree.Parse(schema)
	if err != nil {
		return nil, false, fmt.Errorf("toolschema: emit for %s: %w", d, err)
	}
	if v.Kind != jsontree.Object {
		return nil, false, fmt.Errorf("toolschema: emit for %s: a tool's schema is an object, not a %v", d, v.Kind)
	}
	return v.JSON(), false, nil
}
