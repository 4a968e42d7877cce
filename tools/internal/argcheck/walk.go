package argcheck

import (
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemasAt returns the schemas that may describe the value at path inside a value of schema s.
func schemasAt(s *jsonschema.Schema, path []string) []*jsonschema.Schema {
	level := expand(s, nil)
	for _, seg := range path {
		var next []*jsonschema.Schema
		for _, x := range level {
			if child := child(x, seg); child != nil {
				next = expand(child, next)
			}
		}
		level = next
	}
	return level
}

// expand adds s and every schema that applies to the same value.
func expand(s *jsonschema.Schema, out []*jsonschema.Schema) []*jsonschema.Schema {
	if s == nil || len(out) > 64 {
		return out
	}
	for _, have := range out {
		if have == s {
			return out
		}
	}
	out = append(out, s)
	out = expand(s.Ref, out)
	for _, group := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, {s.Then, s.Else}} {
		for _, x := range group {
			out = expand(x, out)
		}
	}
	return out
}

// child returns the schema of one part of a value that s describes, or nil.
func child(s *jsonschema.Schema, seg string) *jsonschema.Schema {
	if p := s.Properties[seg]; p != nil {
		return p
	}
	for re, p := range s.PatternProperties {
		if re.MatchString(seg) {
			return p
		}
	}
	if i, err := strconv.Atoi(seg); err == nil {
		if i < len(s.PrefixItems) {
			return s.PrefixItems[i]
		}
		if item := itemSchema(s); item != nil {
			return item
		}
	}
	p, _ := s.AdditionalProperties.(*jsonschema.Schema)
	return p
}

// itemSchema returns the schema of a list's elements, or nil.
func itemSchema(s *jsonschema.Schema) *jsonschema.Schema {
	if s.Items2020 != nil {
		return s.Items2020
	}
	one, _ := s.Items.(*jsonschema.Schema)
	return one
}
