// Package argcheck holds the arguments of a tool call to the tool's JSON Schema: it mends what can be mended without
// guessing, and lists every fault of what cannot, in words that a model can act on.
package argcheck

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/luthier-dev/luthier/internal/jsontree"
)

// Checker validates and mends arguments for one schema. It is safe for concurrent use.
type Checker struct {
	schema   *jsonschema.Schema // nil: any JSON
	tree     *jsontree.Value    // of the schema, for hints
	examples []json.RawMessage
}

// noLoader refuses references to anything outside the schema itself: a schema may come from a stranger, and must not
// make the host read files or the network.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("reference to %q leaves the schema; only local references are followed", url)
}

const schemaURL = "mem:///tool.json"

// Compile prepares a schema. An empty one accepts any JSON. Examples are right arguments to show in errors.
func Compile(schema json.RawMessage, examples ...json.RawMessage) (*Checker, error) {
	if len(bytes.TrimSpace(schema)) == 0 {
		return &Checker{examples: examples}, nil
	}
	tree, err := jsontree.Parse(schema)
	if err != nil {
		return nil, fmt.Errorf("parse schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaURL, tree.Any()); err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	s, err := c.Compile(schemaURL)
	if err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	return &Checker{schema: s, tree: tree, examples: examples}, nil
}

// Mend returns args in a form that the schema accepts, with a note for each thing that was changed. Arguments that are
// right come back as they are.
func (c *Checker) Mend(args json.RawMessage) (json.RawMessage, []string, error) {
	v, err := jsontree.Parse(args)
	if err != nil {
		return nil, nil, err
	}
	if err := c.validate(v); err != nil {
		return nil, nil, err
	}
	return args, nil, nil
}

func (c *Checker) validate(v *jsontree.Value) error {
	if c.schema == nil {
		return nil
	}
	return c.schema.Validate(v.Any())
}
