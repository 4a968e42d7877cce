package toolschema

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// Dialect is the subset of JSON Schema that a provider accepts.
type Dialect string

// The dialects.
const (
	// Plain is JSON Schema with local references inlined and nothing else changed.
	Plain Dialect = "plain"
	// OpenAI is strict mode of OpenAI's structured outputs: closed objects, every property
	// required, optional ones nullable.
	// https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
	OpenAI Dialect = "openai"
	// Anthropic is strict tool use of the Messages API: closed objects, optional properties stay
	// optional. https://docs.claude.com/en/docs/build-with-claude/structured-outputs
	Anthropic Dialect = "anthropic"
	// Gemini is the OpenAPI 3 subset of its function declarations: one type with nullable, string
	// enums, typed items, no open objects. https://ai.google.dev/api/caching#Schema
	Gemini Dialect = "gemini"
	// LlamaCPP is the subset that llama.cpp, and this library, convert to a grammar.
	// https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md
	LlamaCPP Dialect = "llamacpp"
)

// maxNodes limits the size of a rewritten schema, which references to references could otherwise
// grow without end.
const maxNodes = 20000

var errTooLarge = errors.New("the schema is too large once its references are inlined")

// Emit rewrites schema for dialect d. The result strict reports whether d's strict mode can enforce
// the schema. If it is false, because the schema has open objects, values of any type or recursion,
// the schema can still be sent without strict mode. A nil schema means an object without
// properties.
//
// Properties keep their order. Keywords that d does not know are described in words in the
// description. A recursive reference becomes an object of any shape.
func Emit(d Dialect, schema json.RawMessage) (out json.RawMessage, strict bool, err error) {
	v, strict, err := emit(d, schema)
	if err != nil {
		return nil, false, fmt.Errorf("toolschema: emit for %s: %w", d, err)
	}
	return v.JSON(), strict, nil
}

func emit(d Dialect, schema json.RawMessage) (*jsontree.Value, bool, error) {
	r, ok := dialects[d]
	if !ok {
		return nil, false, errors.New("there is no such dialect")
	}
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	root, err := jsontree.Parse(schema)
	if err != nil {
		return nil, false, err
	}
	if b, isBool := root.Bool(); isBool && b {
		root = jsontree.NewObject()
	}
	if root.Kind != jsontree.Object {
		return nil, false, fmt.Errorf("a tool's schema is an object, not a %v", root.Kind)
	}
	if d == Plain {
		return plain(root)
	}
	e := &emitter{root: root, rules: r, strict: true}
	v, err := e.rootNode(root)
	if err == nil && !e.strict && r.allRequired {
		// Without strict mode, it is better to leave an optional property optional than to make it
		// required and nullable.
		r.allRequired = false
		e = &emitter{root: root, rules: r}
		v, err = e.rootNode(root)
		e.strict = false
	}
	return v, err == nil && e.strict, err
}

// rules describe what a dialect accepts.
type rules struct {
	keep        map[string]bool // keywords that are copied, in addition to the structural ones
	allRequired bool            // optional properties become required and nullable
	closed      bool            // objects get additionalProperties: false
	nullable    bool            // null is written as nullable: true, not as a type
	textEnums   bool            // enums hold only strings
	ordering    bool            // propertyOrdering is written
	textMaps    bool            // an object of any shape is written as JSON text
	maxDepth    int             // of nesting in strict mode
	maxProps    int             // in total, in strict mode
}

func words(keys ...string) map[string]bool {
	m := map[string]bool{}
	for _, k := range keys {
		m[k] = true
	}
	return m
}

var dialects = map[Dialect]rules{
	Plain:     {},
	OpenAI:    {keep: words(), allRequired: true, closed: true, maxDepth: 10, maxProps: 5000},
	Anthropic: {keep: words(), closed: true},
	Gemini: {
		keep:     words("minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "pattern"),
		nullable: true, textEnums: true, ordering: true, textMaps: true,
	},
	LlamaCPP: {keep: words("minItems", "maxItems", "minLength", "maxLength"), closed: true},
}
