package toolschema

import (
	"strings"
	"unicode/utf8"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// flat is a schema with references, allOf, oneOf and const resolved.
type flat struct {
	*jsontree.Value
	hints []string // descriptions of keywords that could not be merged
	refs  []string // every reference that was followed
	stuck bool     // a reference could not be followed: it is recursive, or leaves the schema
}

// flatten returns v as a flat schema. The parameter above has the references that led to v.
func (e *emitter) flatten(v *jsontree.Value, above []string) *flat {
	f := &flat{Value: jsontree.NewObject()}
	if v.Kind != jsontree.Object {
		return f
	}
	f.Members = append(f.Members, v.Members...)
	if ref := f.Get("$ref"); ref != nil {
		f.Delete("$ref")
		e.follow(f, ref.Text(), above)
	}
	if all := f.Get("allOf"); all != nil && all.Kind == jsontree.Array {
		f.Delete("allOf")
		for _, part := range all.Items {
			f.take(e.flatten(part, append(above[:len(above):len(above)], f.refs...)), part)
		}
	}
	if one := f.Get("oneOf"); one != nil {
		f.Delete("oneOf")
		if f.Get("anyOf") == nil {
			f.Set("anyOf", one)
		} else {
			f.hints = append(f.hints, "also one of: "+clipJSON(one))
		}
	}
	if c := f.Get("const"); c != nil {
		f.Delete("const")
		f.Set("enum", jsontree.NewArray(c))
	}
	f.distribute()
	return f
}

// shaping keywords describe the shape of a value; an alternative of a union without any of them
// only adds a rule.
var shaping = words("type", "properties", "items", "prefixItems", "enum", "const", "$ref", "allOf", "anyOf", "oneOf")

// distribute moves the keywords next to anyOf into each of its alternatives, because providers
// accept a union only without other keywords. Alternatives that only add rules, such as which
// members must occur together, are described in words.
func (f *flat) distribute() {
	forms := f.Get("anyOf")
	if forms == nil || forms.Kind != jsontree.Array {
		return
	}
	merged := jsontree.NewObject()
	for _, m := range f.Members {
		switch m.Key {
		case "anyOf", "description", "title", "default", "examples", "$schema", "$id", "$defs", "definitions", "$comment":
		default:
			merged.Set(m.Key, m.Value)
		}
	}
	if len(merged.Members) == 0 {
		return
	}
	shaped := false
	for _, form := range forms.Items {
		for _, m := range form.Members {
			shaped = shaped || shaping[m.Key]
		}
	}
	if !shaped {
		f.Delete("anyOf")
		f.hints = append(f.hints, "also any of: "+clipJSON(forms))
		return
	}
	out := jsontree.NewArray()
	for _, form := range forms.Items {
		both := jsontree.NewObject()
		both.Set("allOf", jsontree.NewArray(form, merged))
		out.Items = append(out.Items, both)
	}
	for _, m := range merged.Members {
		f.Delete(m.Key)
	}
	f.Set("anyOf", out)
}

// take merges the schema part, which was flattened from source, into f.
func (f *flat) take(part *flat, source *jsontree.Value) {
	f.hints = append(f.hints, part.hints...)
	f.refs = append(f.refs, part.refs...)
	f.stuck = f.stuck || part.stuck
	if !merge(f.Value, part.Value) {
		f.hints = append(f.hints, "also: "+clipJSON(source))
	}
}

// follow merges the target of a reference.
func (e *emitter) follow(f *flat, ref string, above []string) {
	target := lookup(e.root, ref)
	if e.nodes++; target == nil || contains(above, ref) || len(above) > 64 || e.nodes > maxNodes {
		f.stuck = true
		name := ref[strings.LastIndexByte(ref, '/')+1:]
		if name == "" || name == "#" {
			name = "the whole arguments"
		}
		f.hints = append(f.hints, "of the same shape as "+name)
		if target != nil && (target.Get("properties") != nil || target.Get("type").IsString("object")) && f.Get("type") == nil {
			f.Set("type", jsontree.NewString("object"))
		}
		return
	}
	f.refs = append(f.refs, ref)
	f.take(e.flatten(target, append(above[:len(above):len(above)], ref)), target)
}

// merge adds the keywords of b to a, which keeps its own description, title and default. If both
// constrain the same thing in ways that cannot be combined, it changes nothing and reports false.
func merge(a, b *jsontree.Value) bool {
	for _, m := range b.Members {
		have := a.Get(m.Key)
		switch m.Key {
		case "properties", "required", "description", "title", "default", "examples", "$comment":
		default:
			if have != nil && !have.Equal(m.Value) {
				return false
			}
		}
	}
	for _, m := range b.Members {
		switch have := a.Get(m.Key); {
		case have == nil:
			a.Set(m.Key, m.Value.Clone())
		case m.Key == "properties":
			props := have.Clone()
			for _, p := range m.Value.Members {
				if props.Get(p.Key) == nil {
					props.Set(p.Key, p.Value)
				}
			}
			a.Set("properties", props)
		case m.Key == "required":
			all := have.Clone()
			for _, key := range m.Value.Items {
				if !contains(strs(all), key.Text()) {
					all.Items = append(all.Items, key)
				}
			}
			a.Set("required", all)
		}
	}
	return true
}

// boundary returns the last position at or before i that does not split a character.
func boundary(s string, i int) int {
	for i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}
