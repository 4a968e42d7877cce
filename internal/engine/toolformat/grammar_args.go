package toolformat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// objectSchema returns a schema of arguments with the statement that they are an object.
func objectSchema(schema json.RawMessage) json.RawMessage {
	v, err := jsontree.Parse(schema)
	if err != nil || v.Kind != jsontree.Object || v.Get("type") != nil {
		return schema
	}
	v.Set("type", jsontree.NewString("object"))
	return v.JSON()
}

// argument is a rule for one argument.
type argument struct {
	rule     *Rule
	required bool
}

// members matches arguments that are written one by one.
func (b *grammarBuilder) members(tool string, schema json.RawMessage) (*Rule, error) {
	root, err := jsontree.Parse(schema)
	if err != nil {
		return nil, fmt.Errorf("toolformat: make grammar of tool %s: read schema: %w", tool, err)
	}
	var args []argument
	if props := root.Get("properties"); props != nil {
		for _, m := range props.Members {
			r, err := b.member(tool, root, m.Key, m.Value)
			if err != nil {
				return nil, err
			}
			args = append(args, argument{r, isRequired(root, m.Key)})
		}
	}
	for _, key := range undeclared(root) {
		r, err := b.member(tool, root, key, jsontree.NewObject())
		if err != nil {
			return nil, err
		}
		args = append(args, argument{r, true})
	}
	switch b.f.Syntax {
	case Python:
		return b.ordered(args, seq(lit(","), opt(lit(" "))), 0), nil
	case Loose:
		return seq(lit("{"), b.ordered(args, lit(","), 0), lit("}")), nil
	}
	return b.ordered(args, nil, 0), nil
}

// needsArguments reports whether a schema may refuse an empty object.
func needsArguments(schema json.RawMessage) bool {
	root, err := jsontree.Parse(schema)
	return err != nil || root.Kind != jsontree.Object || hasAny(root, "required", "minProperties", "not", "allOf", "anyOf", "oneOf", "if", "$ref", "enum", "const")
}

// isRequired reports whether an object of a schema must have a key.
func isRequired(schema *jsontree.Value, key string) bool {
	list := schema.Get("required")
	return list != nil && slices.ContainsFunc(list.Items, func(v *jsontree.Value) bool { return v.IsString(key) })
}

// undeclared returns the keys that an object must have and that have no schema.
func undeclared(schema *jsontree.Value) []string {
	var keys []string
	if list := schema.Get("required"); list != nil {
		props := schema.Get("properties")
		for _, key := range list.Items {
			if key.Kind == jsontree.String && props.Get(key.Text()) == nil && !slices.Contains(keys, key.Text()) {
				keys = append(keys, key.Text())
			}
		}
	}
	return keys
}

// ordered matches at least least arguments, which is 0 or 1. They may come in any order, but in
// exact grammars only in the order of the schema.
func (b *grammarBuilder) ordered(args []argument, sep *Rule, least int) *Rule {
	switch {
	case len(args) == 0:
		return nil
	case b.c.Exact:
		return b.inOrder(args, sep, least)
	}
	parts, needs := make([]*Rule, len(args)), make([]bool, len(args))
	for i, a := range args {
		parts[i], needs[i] = a.rule, a.required
	}
	return anyOrder(parts, needs, sep, least)
}

// inOrder matches arguments in the order of the schema.
func (b *grammarBuilder) inOrder(args []argument, sep *Rule, least int) *Rule {
	after, first := lit(""), lit("") // the arguments from i on, after others or not
	if least > 0 {
		first = alt()
	}
	for _, a := range slices.Backward(args) {
		next, begin := seq(sep, a.rule, after), seq(a.rule, after)
		if !a.required {
			next, begin = alt(next, after), alt(begin, first)
		}
		after, first = b.named(next), b.named(begin)
	}
	return first
}

// named returns a reference to the rule r under a new name, so that r is compiled once.
func (b *grammarBuilder) named(r *Rule) *Rule {
	name := fmt.Sprintf("\x00%d", len(b.g.Rules)) // no tool has this name
	b.g.Rules[name] = r
	return ref(name)
}

// member matches one argument.
func (b *grammarBuilder) member(tool string, root *jsontree.Value, key string, schema *jsontree.Value) (*Rule, error) {
	switch b.f.Syntax {
	case Python:
		return seq(lit(key+"="), b.value(root, schema)), nil
	case Loose:
		return seq(lit(key+":"), b.value(root, schema)), nil
	}
	where := place{tool: tool, key: key, closer: b.f.Param.closing(key), cdata: b.f.Param.CDATA}
	if b.f.Param.Attr != "" {
		return b.attributed(where, root, schema)
	}
	value, err := b.inside(where, root, schema)
	if err != nil {
		return nil, err
	}
	return b.f.paramRule(key, "string", value), nil
}

// attributed matches an argument whose attribute tells the type of its value.
func (b *grammarBuilder) attributed(where place, root, schema *jsontree.Value) (*Rule, error) {
	all := alt()
	strs, others := split(root, schema, 0)
	for _, s := range strs {
		text, err := b.text(where, s, nil)
		if err != nil {
			return nil, err
		}
		all.Parts = append(all.Parts, b.f.paramRule(where.key, "string", text))
	}
	if open(simple(root, schema)) {
		others = []*jsontree.Value{narrow(root, simple(root, schema), notString)}
	}
	for _, s := range others {
		if !strings.Contains(b.f.Param.Attr, "$") {
			all.Parts = append(all.Parts, b.f.paramRule(where.key, "", b.value(root, s)))
			continue
		}
		k := schemaKinds(root, s)
		if k == 0 {
			k = notString
		}
		for _, name := range []string{"object", "array", "number", "boolean", "null"} {
			one := k & kindOf[name]
			if one == 0 {
				continue
			}
			value := b.value(root, narrow(root, s, one))
			all.Parts = append(all.Parts, b.f.paramRule(where.key, name, value))
			if name == "number" && one&isInteger != 0 { // "integer" is rare
				whole := b.value(root, narrow(root, s, isInteger))
				all.Parts = append(all.Parts, b.f.paramRule(where.key, "integer", whole))
			}
		}
	}
	return all, nil
}

// deref follows references to the schema that they refer to.
func deref(root, s *jsontree.Value) *jsontree.Value {
	const maxDepth = 16
	for range maxDepth {
		r := s.Get("$ref")
		if r == nil {
			return s
		}
		next := pointer(root, r.Text())
		if next == nil {
			return s
		}
		s = next
	}
	return s
}

// embedded returns a part of a schema as a standalone schema, with the definitions that it may
// refer to.
func embedded(root, s *jsontree.Value) json.RawMessage {
	v := s.Clone()
	if v.Kind != jsontree.Object {
		return v.JSON()
	}
	for _, key := range []string{"$defs", "definitions"} {
		if defs := root.Get(key); defs != nil && v.Get(key) == nil {
			v.Set(key, defs)
		}
	}
	return v.JSON()
}
