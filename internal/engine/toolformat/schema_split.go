package toolformat

import (
	"slices"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// assertions lists the keywords that require something of a value, except for type.
var assertions = []string{
	"enum", "const", "not", "allOf", "anyOf", "oneOf", "if", "$ref", "$dynamicRef",
	"pattern", "minLength", "maxLength",
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
	"items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems",
	"properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties",
	"dependencies", "dependentRequired", "dependentSchemas", "unevaluatedProperties",
}

// open reports whether a schema allows every value.
func open(s *jsontree.Value) bool {
	if s.Kind == jsontree.Bool {
		yes, _ := s.Bool()
		return yes
	}
	return s.Kind == jsontree.Object && s.Get("type") == nil && !hasAny(s, assertions...)
}

// hasAny reports whether a schema has any of the keywords.
func hasAny(s *jsontree.Value, keywords ...string) bool {
	return slices.ContainsFunc(keywords, func(k string) bool { return s.Get(k) != nil })
}

// simple follows references and unions of one, which generators write to add a description.
func simple(root, s *jsontree.Value) *jsontree.Value {
	const maxDepth = 16
	for range maxDepth {
		s = deref(root, s)
		one := s
		for _, key := range []string{"allOf", "anyOf", "oneOf"} {
			if list := s.Get(key); list != nil && len(list.Items) == 1 && alone(s, key) {
				one = list.Items[0]
			}
		}
		if one == s {
			return s
		}
		s = one
	}
	return s
}

// alone reports whether a keyword is the only one by which a schema requires something.
func alone(s *jsontree.Value, keyword string) bool {
	return s.Get("type") == nil && !slices.ContainsFunc(assertions, func(k string) bool { return k != keyword && s.Get(k) != nil })
}

// branchesOf returns the alternatives of a schema.
func branchesOf(s *jsontree.Value) []*jsontree.Value {
	for _, key := range []string{"anyOf", "oneOf"} {
		if list := s.Get(key); list != nil {
			return list.Items
		}
	}
	return nil
}

// split divides a schema into schemas for strings and for other values.
func split(root, s *jsontree.Value, depth int) (strs, others []*jsontree.Value) {
	const maxDepth = 8
	s = simple(root, s)
	k := schemaKinds(root, s)
	switch {
	case k == isString:
		return []*jsontree.Value{s}, nil
	case k != 0 && k&isString == 0:
		return nil, []*jsontree.Value{s}
	case open(s):
		return []*jsontree.Value{s}, nil
	case s.Kind != jsontree.Object:
		return nil, []*jsontree.Value{s}
	case s.Get("enum") != nil:
		return splitEnum(s)
	case branchesOf(s) != nil && depth < maxDepth && (alone(s, "anyOf") || alone(s, "oneOf")):
		for _, branch := range branchesOf(s) {
			ss, os := split(root, branch, depth+1)
			strs, others = append(strs, ss...), append(others, os...)
		}
		if s.Get("oneOf") != nil && overlap(root, others) {
			one := jsontree.NewObject()
			one.Set("oneOf", jsontree.NewArray(others...))
			others = []*jsontree.Value{one}
		}
		return strs, others
	case s.Get("type") != nil:
		text := narrow(root, s, isString)
		if k &^= isString; typeKinds(s.Get("type"))&^isString == 0 { // only nullable
			return []*jsontree.Value{text}, nil
		}
		return []*jsontree.Value{text}, []*jsontree.Value{narrow(root, s, k)}
	}
	return []*jsontree.Value{jsontree.NewObject()}, []*jsontree.Value{narrow(root, s, notString)}
}

// splitEnum is like split, for a list of values.
func splitEnum(s *jsontree.Value) (strs, others []*jsontree.Value) {
	text, rest := jsontree.NewArray(), jsontree.NewArray()
	for _, v := range s.Get("enum").Items {
		if v.Kind == jsontree.String {
			text.Items = append(text.Items, v)
		} else {
			rest.Items = append(rest.Items, v)
		}
	}
	for _, part := range []struct {
		list *jsontree.Value
		to   *[]*jsontree.Value
	}{{text, &strs}, {rest, &others}} {
		if len(part.list.Items) > 0 {
			c := s.Clone()
			c.Set("enum", part.list)
			*part.to = append(*part.to, c)
		}
	}
	return strs, others
}

// overlap reports whether two of the schemas may allow the same value.
func overlap(root *jsontree.Value, schemas []*jsontree.Value) bool {
	var seen kinds
	for _, s := range schemas {
		k := schemaKinds(root, s)
		if k == 0 || k&seen != 0 {
			return true
		}
		seen |= k
	}
	return false
}

// narrow returns a schema for those values of s that are of the kinds k.
func narrow(root, s *jsontree.Value, k kinds) *jsontree.Value {
	list := jsontree.NewArray()
	for _, name := range []string{"string", "object", "array", "number", "integer", "boolean", "null"} {
		if k&kindOf[name] == kindOf[name] && !(name == "integer" && k&isFraction != 0) {
			list.Items = append(list.Items, jsontree.NewString(name))
		}
	}
	if s.Kind != jsontree.Object || s.Get("type") == nil && branchesOf(s) != nil || s.Get("$ref") != nil {
		if all := schemaKinds(root, s); all != 0 && all&^k == 0 {
			return s
		}
		both, typed := jsontree.NewObject(), jsontree.NewObject()
		typed.Set("type", list)
		both.Set("allOf", jsontree.NewArray(s, typed))
		return both
	}
	c := s.Clone()
	c.Delete("nullable")
	c.Set("type", list)
	if len(list.Items) == 1 {
		c.Set("type", list.Items[0])
	}
	return c
}
