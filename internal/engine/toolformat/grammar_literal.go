package toolformat

import (
	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// notation is how a format writes values that are not JSON: as Python literals, or with the quotes
// and bare keys of the Loose syntax. Its fields match parts of a value.
type notation struct {
	b            *grammarBuilder
	word         map[string][]string // the spellings of true, false and null
	anyString    *Rule
	anyKey       *Rule
	comma, colon *Rule
	space        *Rule                       // after an opening bracket and before a closing one
	text, key    func(string) *Rule          // a given string or key
	limited      func(*jsontree.Value) *Rule // a string with requirements; nil if it cannot be written
	rules        map[*jsontree.Value]*Rule   // of schemas
	anything     *Rule
}

// notation returns the notation of the format's values.
func (b *grammarBuilder) notation() *notation {
	if b.values == nil {
		if b.f.Syntax == Loose {
			b.values = b.looseNotation()
		} else {
			b.values = b.pythonNotation()
		}
		b.values.b, b.values.rules = b, map[*jsontree.Value]*Rule{}
	}
	return b.values
}

// value matches a value as JSON and in the format's notation: many templates print values of past
// calls in the Python style, and models copy it.
func (b *grammarBuilder) value(root, schema *jsontree.Value) *Rule {
	asJSON := schemaRule(embedded(root, schema))
	k := schemaKinds(root, schema)
	if k != 0 && k&^isNumber == 0 || b.c.Exact && b.f.Syntax != Loose {
		return asJSON
	}
	r := b.notation().of(root, schema, 0)
	switch {
	case r == nil:
		return asJSON
	case k != 0 && k&(isObject|isArray) == 0:
		return r
	}
	return alt(r, asJSON)
}

// of matches the values of a schema. It returns nil if the notation cannot express what the schema
// requires. The parameter depth is the number of unions around the schema.
func (n *notation) of(root, schema *jsontree.Value, depth int) *Rule {
	const maxDepth = 8
	s := simple(root, schema)
	switch {
	case open(s):
		return n.any()
	case s.Kind != jsontree.Object || depth > maxDepth || !n.b.follows():
		return nil
	case s.Get("enum") != nil && alone(untyped(s), "enum"):
		return n.listed(ofTypes(s, s.Get("enum").Items))
	case s.Get("const") != nil && alone(untyped(s), "const"):
		return n.listed(ofTypes(s, []*jsontree.Value{s.Get("const")}))
	case branchesOf(s) != nil:
		if !alone(s, "anyOf") && !alone(s, "oneOf") || s.Get("oneOf") != nil && overlap(root, branchesOf(s)) {
			return nil
		}
		all := alt()
		for _, branch := range branchesOf(s) {
			all.Parts = append(all.Parts, n.orJSON(root, branch, n.of(root, branch, depth+1)))
		}
		return all
	case hasAny(s, "enum", "const", "not", "if", "allOf", "$ref", "$dynamicRef"):
		return nil
	}
	return n.typed(root, s)
}

// ofTypes returns those of the values that the type of a schema allows.
func ofTypes(s *jsontree.Value, values []*jsontree.Value) []*jsontree.Value {
	k := typeKinds(s.Get("type"))
	if k == 0 {
		return values
	}
	var out []*jsontree.Value
	for _, v := range values {
		if valueKind(string(v.JSON()))&k != 0 {
			out = append(out, v)
		}
	}
	return out
}

// untyped returns a schema without its type, which a list of values makes redundant.
func untyped(s *jsontree.Value) *jsontree.Value {
	if s.Get("type") == nil {
		return s
	}
	c := s.Clone()
	c.Delete("type")
	return c
}

// orJSON returns the rule r, or JSON for the schema if r is nil.
func (n *notation) orJSON(root, schema *jsontree.Value, r *Rule) *Rule {
	if r == nil {
		return schemaRule(embedded(root, schema))
	}
	return r
}

// typed matches the values of each type that a schema allows.
func (n *notation) typed(root, s *jsontree.Value) *Rule {
	k := schemaKinds(root, s)
	switch {
	case k != 0:
	case hasAny(s, "properties", "required", "additionalProperties"):
		k = isObject
	case s.Get("items") != nil:
		k = isArray
	default:
		return nil
	}
	all := alt()
	for _, one := range []kinds{isString, isNumber, isBool, isNull, isArray, isObject} {
		if k&one == 0 {
			continue
		}
		var r *Rule
		switch one {
		case isString:
			if r = n.anyString; constrained(s) != "" {
				r = n.limited(narrow(root, s, isString))
			}
		case isBool:
			r = n.words("true", "false")
		case isNull:
			r = n.words("null")
		case isArray:
			r = n.array(root, s)
		case isObject:
			r = n.object(root, s)
		}
		all.Parts = append(all.Parts, n.orJSON(root, narrow(root, s, k&one), r))
	}
	if len(all.Parts) == 1 {
		return all.Parts[0]
	}
	return all
}

// rule is like of, for a value inside another one. It gives the rule a name, so that schemas may
// refer to themselves.
func (n *notation) rule(root, schema *jsontree.Value) *Rule {
	s := simple(root, schema)
	if open(s) {
		return n.any()
	}
	if r := n.rules[s]; r != nil {
		return r
	}
	r := n.b.named(nil)
	n.rules[s] = r
	n.b.g.Rules[r.Text] = n.orJSON(root, s, n.of(root, s, 0))
	return r
}

// any matches any value.
func (n *notation) any() *Rule {
	if n.anything != nil {
		return n.anything
	}
	n.anything = n.b.named(nil)
	number := schemaRule([]byte(`{"type":"number"}`))
	n.b.g.Rules[n.anything.Text] = alt(n.anyString, number, n.words("true", "false", "null"),
		n.list(n.anything, 0, -1), n.dict(n.anything))
	return n.anything
}

// words matches constants.
func (n *notation) words(names ...string) *Rule {
	all := alt()
	for _, name := range names {
		for _, w := range n.word[name] {
			all.Parts = append(all.Parts, lit(w))
		}
	}
	return all
}

// listed matches one of several values.
func (n *notation) listed(values []*jsontree.Value) *Rule {
	all := alt()
	for _, v := range values {
		switch text := string(v.JSON()); {
		case v.Kind == jsontree.String:
			all.Parts = append(all.Parts, n.text(v.Text()))
		case n.word[text] != nil:
			all.Parts = append(all.Parts, n.words(text))
		default:
			all.Parts = append(all.Parts, lit(text))
		}
	}
	return all
}
