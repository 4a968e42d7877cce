// Package argcheck checks the arguments of a tool call against the tool's JSON Schema. It repairs
// what can be repaired without guessing, and lists every other fault in words that a model can act
// on.
//
// The order is fixed: parse strictly; if that fails, repair the syntax; validate; coerce what the
// typed errors point at (JSON given as text, a number given as text, null for an optional argument,
// one value for a list, a key in another case, an unknown key); fill in defaults; validate again.
// Whatever is returned has passed the last validation.
package argcheck

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/luthier-dev/luthier/internal/json/jsonrepair"
	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// Config configures a [Checker].
type Config struct {
	Examples     []json.RawMessage // valid arguments, shown in errors
	FillDefaults bool              // set absent members to the schema's defaults, even in arguments that are valid
	MaxRisk      jsonrepair.Risk   // the highest risk that a syntax repair may take; 0 means [jsonrepair.High]
	QuietNull    bool              // do not note a null that stands for an omitted argument: strict modes have no other way to omit one
	Answer       bool              // the text is a final answer, not the arguments of a call: errors say so
	MaxBytes     int               // maximum size of the arguments; 0 means [DefaultMaxBytes]
}

// DefaultMaxBytes is the maximum size of arguments by default: 16 MiB.
const DefaultMaxBytes = 16 << 20

// Checker validates and repairs arguments for one schema. It is safe for concurrent use.
type Checker struct {
	cfg      Config
	schema   *jsonschema.Schema            // nil accepts any JSON
	byLoc    map[string]*jsonschema.Schema // every subschema by its location
	defaults bool                          // at least one subschema has a default
	bounded  bool                          // validating takes time in proportion to the arguments
	quick    *matcher                      // nil if the schema is too complex for it
	order    map[string][]string           // property names in source order, by location
}

// noLoader refuses references to anything outside the schema itself: a schema may be untrusted, and
// must not make the host read files or access the network.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("reference to %q leaves the schema; only local references are followed", url)
}

// are returns the beginning of an error about the whole text.
func (c *Checker) are() string {
	if c.cfg.Answer {
		return "the answer is"
	}
	return "the arguments are"
}

// pathName names the place of a fault.
func (c *Checker) pathName(path []string) string {
	if c.cfg.Answer && len(path) == 0 {
		return "the answer"
	}
	return pathName(path)
}

const schemaURL = "mem:///arguments.json"

// Compile compiles a schema. An empty schema accepts any JSON.
func Compile(schema json.RawMessage, cfg Config) (*Checker, error) {
	if cfg.MaxRisk == 0 {
		cfg.MaxRisk = jsonrepair.High
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = DefaultMaxBytes
	}
	c := &Checker{cfg: cfg}
	if len(schema) > maxSchemaBytes {
		return nil, fmt.Errorf("the schema is %d bytes long, and at most %d are taken; leave out what callers do not need", len(schema), maxSchemaBytes)
	}
	if len(bytes.TrimSpace(schema)) == 0 {
		return c, nil
	}
	tree, err := jsontree.Parse(schema)
	if err != nil {
		return nil, fmt.Errorf("parse schema: %w", err)
	}
	comp := jsonschema.NewCompiler()
	comp.AssertFormat()
	comp.UseLoader(noLoader{})
	comp.UseRegexpEngine(compilePattern)
	comp.RegisterFormat(uriFormat("uri", true))
	comp.RegisterFormat(uriFormat("uri-reference", false))
	if err := comp.AddResource(schemaURL, tree.Any()); err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	if c.schema, err = comp.Compile(schemaURL); err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	c.byLoc = map[string]*jsonschema.Schema{}
	c.index(c.schema)
	c.order = map[string][]string{}
	propertyOrder(tree, schemaURL+"#", c.order)
	c.bounded = bounded(c.schema)
	c.quick = newMatcher(c.schema, cfg.FillDefaults && c.defaults, 0)
	return c, nil
}

// index records s and everything below it by location.
func (c *Checker) index(s *jsonschema.Schema) {
	if s == nil || c.byLoc[s.Location] != nil {
		return
	}
	c.byLoc[s.Location] = s
	c.defaults = c.defaults || s.Default != nil
	for _, sub := range subschemas(s) {
		c.index(sub)
	}
}

// subschemas returns the schemas directly inside s that describe the value or its parts.
func subschemas(s *jsonschema.Schema) []*jsonschema.Schema {
	out := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.If, s.Then, s.Else, s.Not,
		s.Items2020, s.Contains, s.PropertyNames, s.UnevaluatedProperties, s.UnevaluatedItems}
	if s.DynamicRef != nil {
		out = append(out, s.DynamicRef.Ref)
	}
	out = append(out, s.AllOf...)
	out = append(out, s.AnyOf...)
	out = append(out, s.OneOf...)
	out = append(out, s.PrefixItems...)
	for _, p := range s.Properties {
		out = append(out, p)
	}
	for _, p := range s.PatternProperties {
		out = append(out, p)
	}
	for _, p := range s.DependentSchemas {
		out = append(out, p)
	}
	for _, x := range s.Dependencies {
		if p, ok := x.(*jsonschema.Schema); ok {
			out = append(out, p)
		}
	}
	for _, x := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		switch x := x.(type) {
		case *jsonschema.Schema:
			out = append(out, x)
		case []*jsonschema.Schema:
			out = append(out, x...)
		}
	}
	return out
}

// propertyOrder records the order in which each object schema lists its properties, since compiling
// loses it.
func propertyOrder(v *jsontree.Value, at string, order map[string][]string) {
	switch v.Kind {
	case jsontree.Object:
		for _, m := range v.Members {
			if m.Key == "properties" && m.Value.Kind == jsontree.Object {
				for _, p := range m.Value.Members {
					order[at] = append(order[at], p.Key)
				}
			}
			propertyOrder(m.Value, at+"/"+pointerEscape(m.Key), order)
		}
	case jsontree.Array:
		for i, x := range v.Items {
			propertyOrder(x, fmt.Sprintf("%s/%d", at, i), order)
		}
	}
}
