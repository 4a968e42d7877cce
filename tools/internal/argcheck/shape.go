package argcheck

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
	"github.com/luthier-dev/luthier/internal/toolschema"
)

// The size of the hints in an error: enough for a model to write the call again, but short enough
// for one line.
const (
	maxShape   = 600
	maxExample = 400
	shapeDepth = 3
)

// shape describes the arguments in the notation of TypeScript, which models read well.
func (c *Checker) shape() string {
	if c.schema == nil {
		return ""
	}
	return clip(c.typeName(c.schema, shapeDepth), maxShape)
}

// maxNamed limits the schemas that one hint puts into words.
const maxNamed = 1000

// namer puts a schema into words. A schema may be a list, a map or an alternative of itself.
type namer struct {
	c    *Checker
	left int                         // schemas that may still be named
	open map[*jsonschema.Schema]bool // schemas that are being named
}

// typeName returns the type that s describes, with objects expanded down to depth levels.
func (c *Checker) typeName(s *jsonschema.Schema, depth int) string {
	n := &namer{c: c, left: maxNamed, open: map[*jsonschema.Schema]bool{}}
	return n.typeName(s, depth)
}

// typeName returns the type that s describes, "…" below depth levels if s is recursive.
func (n *namer) typeName(s *jsonschema.Schema, depth int) string {
	if s == nil {
		return "any"
	}
	if n.left--; n.left < 0 || depth <= 0 && n.open[s] {
		if len(s.Properties) > 0 {
			return "{…}"
		}
		return "…"
	}
	if !n.open[s] {
		n.open[s] = true
		defer delete(n.open, s)
	}
	return n.anyName(s, depth)
}

func (n *namer) anyName(s *jsonschema.Schema, depth int) string {
	switch {
	case s.Bool != nil && *s.Bool:
		return "any"
	case s.Bool != nil:
		return "never"
	case s.Ref != nil:
		return n.typeName(s.Ref, depth-1)
	case s.Const != nil:
		return anyJSON(*s.Const)
	case s.Enum != nil:
		var parts []string
		for _, x := range s.Enum.Values[:min(len(s.Enum.Values), 12)] {
			parts = append(parts, anyJSON(x))
		}
		return strings.Join(parts, "|")
	case len(s.AnyOf) > 0 && s.Types == nil:
		return n.unionName(s.AnyOf, depth)
	case len(s.OneOf) > 0 && s.Types == nil:
		return n.unionName(s.OneOf, depth)
	case s.Types == nil && s.Properties == nil:
		return "any"
	}
	var parts []string
	for _, t := range typesOf(s) {
		switch t {
		case "object":
			parts = append(parts, n.objectName(s, depth))
		case "array":
			parts = append(parts, n.listName(s, depth))
		case "string":
			parts = append(parts, stringName(s))
		default:
			parts = append(parts, t)
		}
	}
	return strings.Join(parts, "|")
}

func typesOf(s *jsonschema.Schema) []string {
	if s.Types == nil {
		return []string{"object"}
	}
	types := s.Types.ToStrings()
	if i := slices.Index(types, "null"); i == 0 && len(types) > 1 {
		types = append(types[1:], "null")
	}
	return types
}

func (n *namer) unionName(forms []*jsonschema.Schema, depth int) string {
	var parts []string
	for _, f := range forms {
		if name := n.typeName(f, depth-1); !slices.Contains(parts, name) {
			parts = append(parts, name)
		}
	}
	return strings.Join(parts, "|")
}

func stringName(s *jsonschema.Schema) string {
	switch {
	case s.Format != nil:
		return "string(" + s.Format.Name + ")"
	case s.Pattern != nil && s.Pattern.String() == toolschema.DurationPattern:
		return "string(duration)"
	}
	return "string"
}

func (n *namer) listName(s *jsonschema.Schema, depth int) string {
	item := itemSchema(s)
	if item == nil {
		return "any[]"
	}
	name := n.typeName(item, depth-1)
	if strings.Contains(name, "|") {
		return "(" + name + ")[]"
	}
	return name + "[]"
}

func (n *namer) objectName(s *jsonschema.Schema, depth int) string {
	if len(s.Properties) == 0 {
		if p, ok := s.AdditionalProperties.(*jsonschema.Schema); ok && p.Bool == nil {
			return "{[key]: " + n.typeName(p, depth-1) + "}"
		}
		return "{}"
	}
	if depth <= 0 {
		return "{…}"
	}
	var parts []string
	for _, key := range n.c.keys(s) {
		mark := "?"
		if slices.Contains(s.Required, key) {
			mark = ""
		}
		parts = append(parts, key+mark+": "+n.typeName(s.Properties[key], depth-1))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// example returns valid arguments: the host's, or the smallest that can be generated from the
// schema.
func (c *Checker) example() json.RawMessage {
	for _, ex := range c.cfg.Examples {
		if len(ex) <= maxExample {
			return ex
		}
	}
	if c.schema == nil || !slices.Contains(typesOf(c.schema), "object") || c.schema.Types == nil {
		return nil
	}
	left := maxNamed
	v := c.sample(c.schema, 0, &left)
	checks := maxChecks
	if v == nil || c.validate(c.schema, v, &checks) != nil {
		return nil // because of a pattern or a rule between members: no example is better than a wrong one
	}
	if text := v.JSON(); len(text) <= maxExample && len(v.Members) > 0 {
		return text
	}
	return nil
}

// sample generates the smallest value of s, or nil. It looks at no more than left schemas.
func (c *Checker) sample(s *jsonschema.Schema, depth int, left *int) *jsontree.Value {
	*left--
	switch {
	case s == nil || depth > 8 || *left < 0:
		return nil
	case s.Ref != nil:
		return c.sample(s.Ref, depth+1, left)
	case s.Default != nil:
		return fromAny(*s.Default)
	case len(s.Examples) > 0:
		return fromAny(s.Examples[0])
	case s.Const != nil:
		return fromAny(*s.Const)
	case s.Enum != nil && len(s.Enum.Values) > 0:
		return fromAny(s.Enum.Values[0])
	case s.Types == nil && len(s.AnyOf) > 0:
		return c.sample(s.AnyOf[0], depth+1, left)
	case s.Types == nil && len(s.OneOf) > 0:
		return c.sample(s.OneOf[0], depth+1, left)
	}
	switch typesOf(s)[0] {
	case "object":
		v := jsontree.NewObject()
		for _, key := range c.keys(s) {
			if slices.Contains(s.Required, key) {
				x := c.sample(s.Properties[key], depth+1, left)
				if x == nil {
					return nil
				}
				v.Set(key, x)
			}
		}
		return v
	case "array":
		v := jsontree.NewArray()
		if x := c.sample(itemSchema(s), depth+1, left); x != nil {
			v.Items = append(v.Items, x)
		}
		return v
	case "string":
		return jsontree.NewString(sampleText(s))
	case "integer", "number":
		n := int64(1)
		if s.Minimum != nil && s.Minimum.IsInt() && s.Minimum.Num().IsInt64() {
			n = s.Minimum.Num().Int64()
		}
		return jsontree.NewInt(n)
	case "boolean":
		return jsontree.NewBool(true)
	}
	return jsontree.NewNull()
}

func sampleText(s *jsonschema.Schema) string {
	if s.Pattern != nil && s.Pattern.String() == toolschema.DurationPattern {
		return "30s"
	}
	if s.Format == nil {
		return "…"
	}
	switch s.Format.Name {
	case "date-time":
		return "2026-01-31T12:00:00Z"
	case "date":
		return "2026-01-31"
	case "uri":
		return "https://example.com/"
	case "email":
		return "name@example.com"
	}
	return "…"
}
