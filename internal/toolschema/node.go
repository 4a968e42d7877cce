package toolschema

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// emitter rewrites one schema.
type emitter struct {
	root   *jsontree.Value
	rules  rules
	strict bool
	nodes  int
	props  int
}

// rootNode rewrites the schema of all arguments. The result must be an object.
func (e *emitter) rootNode(root *jsontree.Value) (*jsontree.Value, error) {
	f := e.flatten(root, []string{"#"})
	if forms := f.Get("anyOf"); forms != nil && f.Get("properties") == nil {
		// No provider accepts a union as the schema of all arguments, so offer every property of
		// every alternative.
		e.strict = false
		e.unite(f, forms)
		f.hints = append(f.hints, "give the arguments of one form only")
	}
	e.strict = e.strict && !f.stuck
	out, err := e.object(f, 0, append([]string{"#"}, f.refs...))
	if err != nil {
		return nil, err
	}
	describeNode(out, f)
	if e.nodes > maxNodes {
		return nil, errTooLarge
	}
	if r := e.rules; r.maxProps > 0 && e.props > r.maxProps {
		e.strict = false
	}
	return out, nil
}

// unite merges the properties of the alternatives of a union into f. A property is required only if
// all alternatives require it.
func (e *emitter) unite(f *flat, forms *jsontree.Value) {
	props, count := jsontree.NewObject(), map[string]int{}
	for _, form := range forms.Items {
		one := e.flatten(form, append([]string{"#"}, f.refs...))
		f.refs = append(f.refs, one.refs...)
		if p := one.Get("properties"); p != nil {
			for _, m := range p.Members {
				if props.Get(m.Key) == nil {
					props.Set(m.Key, m.Value)
				}
			}
		}
		for _, key := range strs(one.Get("required")) {
			count[key]++
		}
	}
	required := jsontree.NewArray()
	for _, m := range props.Members {
		if count[m.Key] == len(forms.Items) {
			required.Items = append(required.Items, jsontree.NewString(m.Key))
		}
	}
	f.Delete("anyOf")
	f.Set("type", jsontree.NewString("object"))
	f.Set("properties", props)
	f.Set("required", required)
}

func strs(v *jsontree.Value) []string {
	var out []string
	if v != nil {
		for _, x := range v.Items {
			out = append(out, x.Text())
		}
	}
	return out
}

// node rewrites one schema below the root. above lists the references being followed.
func (e *emitter) node(v *jsontree.Value, depth int, above []string) (*jsontree.Value, error) {
	if e.nodes++; e.nodes > maxNodes {
		return nil, errTooLarge
	}
	if b, ok := v.Bool(); ok {
		v = jsontree.NewObject()
		if !b {
			v.Set("description", jsontree.NewString("Leave this out."))
		}
	}
	if e.rules.maxDepth > 0 && depth > e.rules.maxDepth {
		e.strict = false
	}
	f := e.flatten(v, above)
	above = append(above[:len(above):len(above)], f.refs...)
	e.strict = e.strict && !f.stuck
	types, null := typesOf(f.Value)
	var out *jsontree.Value
	var err error
	switch forms := f.Get("anyOf"); {
	case forms != nil && forms.Kind == jsontree.Array && len(forms.Items) > 0:
		out, null, err = e.union(f, forms.Items, null, depth, above)
	case len(types) > 1:
		out, err = e.typeUnion(f, types, depth, above)
	case len(types) == 0 && f.Get("enum") == nil:
		out, null = e.anything(), false
		e.keywords(out, f)
	default:
		out, err = e.single(f, types, depth, above)
	}
	if err != nil {
		return nil, err
	}
	if null {
		e.setNull(out)
	}
	describeNode(out, f)
	return out, nil
}

// typesOf returns the types of a schema other than null, inferring them if they are not written,
// and whether null is one of them.
func typesOf(v *jsontree.Value) (types []string, null bool) {
	t := v.Get("type")
	switch {
	case t != nil && t.Kind == jsontree.String:
		types = []string{t.Text()}
	case t != nil && t.Kind == jsontree.Array:
		types = strs(t)
	case v.Get("properties") != nil:
		types = []string{"object"}
	case v.Get("items") != nil || v.Get("prefixItems") != nil:
		types = []string{"array"}
	case v.Get("enum") != nil:
		types = enumTypes(v.Get("enum"))
	}
	if i := slices.Index(types, "null"); i >= 0 && len(types) > 1 {
		return slices.Delete(slices.Clone(types), i, i+1), true
	}
	return types, false
}

func enumTypes(enum *jsontree.Value) []string {
	var types []string
	for _, x := range enum.Items {
		t := x.Kind.String()
		if x.Kind == jsontree.Number && !strings.ContainsAny(x.Raw(), ".eE") {
			t = "integer"
		}
		if !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	return types
}

// single rewrites a schema of one type.
func (e *emitter) single(f *flat, types []string, depth int, above []string) (*jsontree.Value, error) {
	t := "string"
	if len(types) == 1 {
		t = types[0]
	}
	switch t {
	case "object":
		return e.object(f, depth, above)
	case "array":
		return e.array(f, depth, above)
	}
	out := jsontree.NewObject()
	out.Set("type", jsontree.NewString(t))
	if enum := f.Get("enum"); enum != nil {
		e.setEnum(out, enum)
	}
	e.keywords(out, f)
	return out, nil
}

// setEnum writes the allowed values, as text if the dialect allows only strings. The repair of
// arguments converts them back.
func (e *emitter) setEnum(out, enum *jsontree.Value) {
	values := jsontree.NewArray()
	for _, x := range enum.Items {
		switch {
		case x.Kind == jsontree.Null:
			continue
		case e.rules.textEnums && x.Kind != jsontree.String:
			values.Items = append(values.Items, jsontree.NewString(string(x.JSON())))
			out.Set("type", jsontree.NewString("string"))
		default:
			values.Items = append(values.Items, x)
		}
	}
	out.Set("enum", values)
}

// anything rewrites a schema that accepts any value.
func (e *emitter) anything() *jsontree.Value {
	e.strict = false
	out := jsontree.NewObject()
	if e.rules.textMaps {
		forms := jsontree.NewArray()
		for _, t := range []string{"string", "number", "boolean"} {
			f := jsontree.NewObject()
			f.Set("type", jsontree.NewString(t))
			forms.Items = append(forms.Items, f)
		}
		out.Set("anyOf", forms)
	}
	return out
}

// object rewrites an object's properties.
func (e *emitter) object(f *flat, depth int, above []string) (*jsontree.Value, error) {
	made := f.Get("properties")
	extra := f.Get("additionalProperties")
	isOpen, closed := opens(extra)
	if depth > 0 && (made == nil || len(made.Members) == 0) && !closed {
		return e.openObject(f, extra, depth, above)
	}
	out, props := jsontree.NewObject(), jsontree.NewObject()
	out.Set("type", jsontree.NewString("object"))
	out.Set("properties", props)
	required, must := jsontree.NewArray(), strs(f.Get("required"))
	order := jsontree.NewArray()
	if made != nil {
		for _, m := range made.Members {
			e.props++
			p, err := e.node(m.Value, depth+1, above)
			if err != nil {
				return nil, err
			}
			needed := slices.Contains(must, m.Key)
			if !needed && e.rules.allRequired {
				e.setNull(p)
				needed = true
			}
			if needed {
				required.Items = append(required.Items, jsontree.NewString(m.Key))
			}
			order.Items = append(order.Items, jsontree.NewString(m.Key))
			props.Set(m.Key, p)
		}
	}
	if len(required.Items) > 0 {
		out.Set("required", required)
	}
	if e.rules.ordering && len(order.Items) > 1 {
		out.Set("propertyOrdering", order)
	}
	if isOpen {
		e.strict = false
	}
	if e.rules.closed {
		out.Set("additionalProperties", jsontree.NewBool(isOpen))
	}
	e.keywords(out, f)
	return out, nil
}

// opens reports whether additionalProperties explicitly allows members beyond the declared ones, or
// forbids them.
func opens(extra *jsontree.Value) (open, closed bool) {
	if extra == nil {
		return false, false
	}
	if b, ok := extra.Bool(); ok {
		return b, !b
	}
	return true, false
}

// openObject rewrites a map, or an object of any shape. If the dialect cannot express such an
// object, the model is asked for JSON text instead, which the repair of arguments parses.
func (e *emitter) openObject(f *flat, extra *jsontree.Value, depth int, above []string) (*jsontree.Value, error) {
	e.strict = false
	out := jsontree.NewObject()
	if e.rules.textMaps {
		out.Set("type", jsontree.NewString("string"))
		f.hints = append(f.hints, "an object, written as JSON text")
		if extra != nil && extra.Kind == jsontree.Object {
			f.hints = append(f.hints, "every value: "+clipJSON(extra))
		}
		return out, nil
	}
	out.Set("type", jsontree.NewString("object"))
	if extra != nil && extra.Kind == jsontree.Object {
		p, err := e.node(extra, depth+1, above)
		if err != nil {
			return nil, err
		}
		out.Set("additionalProperties", p)
	} else {
		out.Set("additionalProperties", jsontree.NewBool(true))
	}
	e.keywords(out, f)
	return out, nil
}

// array rewrites a list. A tuple with fixed positions becomes a list whose elements may have the
// type of any position.
func (e *emitter) array(f *flat, depth int, above []string) (*jsontree.Value, error) {
	out := jsontree.NewObject()
	out.Set("type", jsontree.NewString("array"))
	items := f.Get("items")
	tuple := f.Get("prefixItems")
	if items != nil && items.Kind == jsontree.Array {
		tuple, items = items, nil
	}
	if tuple != nil && tuple.Kind == jsontree.Array && len(tuple.Items) > 0 {
		f.hints = append(f.hints, "by position: "+clipJSON(tuple))
		items = jsontree.NewObject()
		items.Set("anyOf", distinct(tuple))
	}
	if items == nil {
		items = jsontree.NewObject()
	}
	p, err := e.node(items, depth+1, above)
	if err != nil {
		return nil, err
	}
	out.Set("items", p)
	e.keywords(out, f)
	return out, nil
}

func distinct(tuple *jsontree.Value) *jsontree.Value {
	out := jsontree.NewArray()
	for _, x := range tuple.Items {
		if !slices.ContainsFunc(out.Items, x.Equal) {
			out.Items = append(out.Items, x)
		}
	}
	return out
}

// union rewrites anyOf. null is removed from the union and expressed in the dialect's own way.
func (e *emitter) union(f *flat, forms []*jsontree.Value, null bool, depth int, above []string) (*jsontree.Value, bool, error) {
	list := jsontree.NewArray()
	for _, form := range forms {
		if e.isNull(form) {
			null = true
			continue
		}
		p, err := e.node(form, depth, above)
		if err != nil {
			return nil, null, err
		}
		if !slices.ContainsFunc(list.Items, p.Equal) {
			list.Items = append(list.Items, p)
		}
	}
	if len(list.Items) == 1 {
		return list.Items[0], null, nil
	}
	out := jsontree.NewObject()
	if len(list.Items) == 0 {
		out.Set("type", jsontree.NewString("null"))
		return out, false, nil
	}
	out.Set("anyOf", list)
	return out, null, nil
}

// typeUnion rewrites a schema with several types as a union of schemas with one type each.
func (e *emitter) typeUnion(f *flat, types []string, depth int, above []string) (*jsontree.Value, error) {
	list := jsontree.NewArray()
	for _, t := range types {
		one := &flat{Value: f.Clone()}
		one.Set("type", jsontree.NewString(t))
		if enum := one.Get("enum"); enum != nil {
			same := jsontree.NewArray()
			for _, x := range enum.Items {
				if k := x.Kind.String(); k == t || k == "number" && t == "integer" && !strings.ContainsAny(x.Raw(), ".eE") {
					same.Items = append(same.Items, x)
				}
			}
			if len(same.Items) == 0 {
				continue
			}
			one.Set("enum", same)
		}
		p, err := e.single(one, []string{t}, depth, above)
		if err != nil {
			return nil, err
		}
		for _, h := range one.hints {
			if !contains(f.hints, h) {
				f.hints = append(f.hints, h)
			}
		}
		list.Items = append(list.Items, p)
	}
	if len(list.Items) == 1 {
		return list.Items[0], nil
	}
	out := jsontree.NewObject()
	out.Set("anyOf", list)
	return out, nil
}

// setNull makes out accept null, in the dialect's way.
func (e *emitter) setNull(out *jsontree.Value) {
	if e.rules.nullable {
		out.Set("nullable", jsontree.NewBool(true))
		return
	}
	if forms := out.Get("anyOf"); forms != nil {
		for _, f := range forms.Items {
			if f.Get("type").IsString("null") {
				return
			}
		}
		null := jsontree.NewObject()
		null.Set("type", jsontree.NewString("null"))
		forms.Items = append(forms.Items, null)
		return
	}
	if t := out.Get("type"); t != nil && t.IsString("null") {
		return
	}
	if enum := out.Get("enum"); enum != nil && slices.ContainsFunc(enum.Items, func(x *jsontree.Value) bool { return x.Kind == jsontree.Null }) {
		return
	}
	makeNullable(out)
}

func clipJSON(v *jsontree.Value) string {
	text := string(json.RawMessage(v.JSON()))
	if len(text) > 300 {
		return text[:boundary(text, 300)] + "…"
	}
	return text
}

// isNull reports whether an alternative of a union is only null.
func (e *emitter) isNull(form *jsontree.Value) bool {
	if all := form.Get("allOf"); all != nil && len(all.Items) == 2 {
		form = all.Items[0]
	}
	return form.Get("type").IsString("null")
}
