package toolformat

import (
	"slices"

	"github.com/luthier-dev/luthier/internal/jsontree"
)

// tagged matches an object or a list as tags inside an argument, if the format nests them. It
// returns nil for any other value, and if tags cannot express all requirements of the schema. The
// parameter name is unique to the value's place in the arguments of a tool.
func (b *grammarBuilder) tagged(root, schema *jsontree.Value, name string, depth int) *Rule {
	if b.f.Param.Nested == "" || !b.follows(depth) {
		return nil
	}
	s := deref(root, schema)
	switch schemaKinds(root, s) {
	case isArray:
		items := s.Get("items")
		if items == nil || items.Kind != jsontree.Object || hasAny(s, "minItems", "maxItems", "uniqueItems", "contains", "prefixItems") {
			return nil
		}
		item := b.tag(root, items, "item", name, depth)
		if item == nil {
			return nil
		}
		return seq(item, many(item)) // an empty list is written as JSON
	case isObject:
		return b.taggedObject(root, s, name, depth)
	}
	return nil
}

// taggedObject matches an object as tags. There is at least one tag, because without any the text
// would be an empty string.
func (b *grammarBuilder) taggedObject(root, s *jsontree.Value, name string, depth int) *Rule {
	props, required := s.Get("properties"), false
	if props == nil || len(props.Members) == 0 || !b.room(len(props.Members)) || hasAny(s, demanding...) {
		return nil
	}
	var args []argument
	for _, m := range props.Members {
		r := b.tag(root, m.Value, m.Key, name, depth)
		if r == nil || !isName(m.Key) {
			return nil
		}
		args = append(args, argument{r, isRequired(s, m.Key)})
		required = required || isRequired(s, m.Key)
	}
	r := b.ordered(name, args, "")
	if first := b.g.Rules[r.Text]; !required {
		first.Parts = slices.DeleteFunc(first.Parts, func(r *Rule) bool { return r.Kind == Lit && r.Text == "" })
	}
	return r
}

// tag matches one element.
func (b *grammarBuilder) tag(root, schema *jsontree.Value, key, name string, depth int) *Rule {
	s := deref(root, schema)
	end := b.f.Param.closing(key)
	var inside *Rule
	switch k := schemaKinds(root, s); {
	case k == isString && constrained(s) == "":
		inside = free(b.f.Param.Nested)
	case k == isString && s.Get("enum") != nil:
		inside = b.listed(s.Get("enum").Items)
	case k == 0 || k&isString != 0:
		return nil
	default:
		inside = withWords(root, schema)
		if tags := b.tagged(root, schema, name+"."+key, depth+1); tags != nil {
			inside = alt(tags, inside)
		}
	}
	return seq(lit(b.f.Param.Nested+key+">"), inside, lit(end))
}
