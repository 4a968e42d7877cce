package toolschema

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// refine walks the schema v that the reflector made of t and corrects the reflector's mistakes:
// descriptions that were cut at a comma, optional and nullable fields, and fields that are hidden
// by others.
func refine(t reflect.Type, v *jsontree.Value) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if isLeaf(t) {
		return nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return refineStruct(t, v)
	case reflect.Slice, reflect.Array:
		if items := v.Get("items"); items != nil {
			v.Set("items", openTrue(items))
			return refine(t.Elem(), v.Get("items"))
		}
	case reflect.Map:
		if items := v.Get("additionalProperties"); items != nil && items.Kind == jsontree.Object {
			return refine(t.Elem(), items)
		}
		for _, m := range patterns(v) {
			if err := refine(t.Elem(), m.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

func patterns(v *jsontree.Value) []jsontree.Member {
	if p := v.Get("patternProperties"); p != nil {
		return p.Members
	}
	return nil
}

// openTrue converts the schema true into {}, which means the same and can hold a description.
func openTrue(v *jsontree.Value) *jsontree.Value {
	if b, ok := v.Bool(); ok && b {
		return jsontree.NewObject()
	}
	return v
}

func refineStruct(t reflect.Type, v *jsontree.Value) error {
	fields := jsonFields(t)
	seen := map[string]int{}
	var all []field
	collectFields(t, 0, nil, nil, &all)
	for _, f := range all {
		seen[f.key]++
	}
	made := v.Get("properties")
	props, required := jsontree.NewObject(), jsontree.NewArray()
	for _, f := range fields {
		p := made.Get(f.key)
		if p == nil || seen[f.key] > 1 {
			var err error
			if p, err = reflectField(f); err != nil {
				return err
			}
		}
		p = unwrapNullable(openTrue(p))
		if p.Kind != jsontree.Object {
			p = jsontree.NewObject()
		}
		if err := refine(f.Type, p); err != nil {
			return err
		}
		optional, nullable, err := describe(f, p)
		if err != nil {
			return err
		}
		if nullable {
			makeNullable(p)
		}
		if !optional {
			required.Items = append(required.Items, jsontree.NewString(f.key))
		}
		props.Set(f.key, p)
	}
	v.Set("properties", props)
	v.Delete("required")
	if len(required.Items) > 0 {
		v.Set("required", required)
	}
	return nil
}

// reflectField returns the schema of one field alone, outside the struct that hides it.
func reflectField(f field) (*jsontree.Value, error) {
	sf := f.StructField
	sf.Anonymous, sf.Offset, sf.Index = false, 0, nil
	const key = "v" // the reflector would leave out a field with the key "-"
	sf.Tag = reflect.StructTag(fmt.Sprintf("json:%q jsonschema:%q jsonschema_description:%q",
		key, sf.Tag.Get("jsonschema"), sf.Tag.Get("jsonschema_description")))
	v, err := reflectSchema(reflect.StructOf([]reflect.StructField{sf}))
	if err != nil {
		return nil, err
	}
	return v.Get("properties").Get(key), nil
}

// unwrapNullable undoes the reflector's oneOf for the tag "nullable"; null is added again later, in
// the form that every provider accepts.
func unwrapNullable(p *jsontree.Value) *jsontree.Value {
	one := p.Get("oneOf")
	if one != nil && len(p.Members) == 1 && len(one.Items) == 2 && one.Items[1].Get("type").IsString("null") {
		return openTrue(one.Items[0])
	}
	return p
}

// describe sets the description of p from f's tags and reports whether the field may be absent or
// null.
func describe(f field, p *jsontree.Value) (optional, nullable bool, err error) {
	tag := f.Tag.Get("jsonschema")
	text := f.Tag.Get("jsonschema_description")
	if text == "" {
		text = tagDescription(tag)
	}
	if isDuration(f.Type) {
		text = strings.TrimSpace(text + " " + durationHint)
	}
	if text != "" {
		p.Set("description", jsontree.NewString(text))
	}
	uncut(tag, p)
	if err := fixDefault(f, p); err != nil {
		return false, false, err
	}
	hasDefault := p.Get("default") != nil
	pointer := f.Type.Kind() == reflect.Pointer
	optional = (f.omit || pointer || hasDefault) && !tagHas(tag, "required")
	nullable = (pointer || f.omit) && optional && !hasDefault || tagHas(tag, "nullable")
	return optional, nullable, nil
}

// uncut restores text that the reflector cut at a comma.
func uncut(tag string, p *jsontree.Value) {
	for _, word := range []string{"title", "pattern", "default"} {
		at := p
		if word == "pattern" && p.Get("items") != nil {
			at = p.Get("items")
		}
		if text, ok := tagValue(tag, word); ok && at.Get(word) != nil && at.Get(word).Kind == jsontree.String {
			at.Set(word, jsontree.NewString(text))
		}
	}
}

func isDuration(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t == durationType
}

// fixDefault refuses a default that the field could not hold.
func fixDefault(f field, p *jsontree.Value) error {
	text, ok := tagValue(f.Tag.Get("jsonschema"), "default")
	if !ok || p.Get("default") != nil {
		return nil
	}
	return fmt.Errorf("field %s: default %q does not fit a %v", f.Name, text, f.Type)
}

// makeNullable makes p accept null as well.
func makeNullable(p *jsontree.Value) {
	null := jsontree.NewString("null")
	switch t := p.Get("type"); {
	case t == nil && p.Get("anyOf") != nil:
		alt := jsontree.NewObject()
		alt.Set("type", null)
		p.Get("anyOf").Items = append(p.Get("anyOf").Items, alt)
	case t == nil && p.Get("oneOf") != nil:
		alt := jsontree.NewObject()
		alt.Set("type", null)
		p.Get("oneOf").Items = append(p.Get("oneOf").Items, alt)
	case t == nil && p.Get("enum") == nil:
		return // it already accepts any value
	case t != nil && t.Kind == jsontree.Array:
		for _, x := range t.Items {
			if x.IsString("null") {
				return
			}
		}
		t.Items = append(t.Items, null)
	case t != nil:
		p.Set("type", jsontree.NewArray(t, null))
	}
	if enum := p.Get("enum"); enum != nil {
		enum.Items = append(enum.Items, jsontree.NewNull())
	}
}
