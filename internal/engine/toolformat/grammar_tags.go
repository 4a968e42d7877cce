package toolformat

import (
	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// demanding lists keywords that require more of an object than its members.
var demanding = []string{
	"patternProperties", "minProperties", "maxProperties", "dependencies", "dependentRequired", "dependentSchemas",
	"propertyNames", "unevaluatedProperties", "not", "allOf", "anyOf", "oneOf", "if", "enum", "const",
}

// tagged matches an object or a list as tags inside an argument, if the format nests them. It
// returns nil for any other value, and if tags cannot express all requirements of the schema. The
// parameter depth is the number of unions around the schema.
func (b *grammarBuilder) tagged(root, schema *jsontree.Value, where place, depth int) *Rule {
	const maxDepth = 6
	if b.f.Param.Nested == "" || depth > maxDepth || !b.follows() {
		return nil
	}
	s := simple(root, schema)
	if branches := branchesOf(s); branches != nil && alone(s, "anyOf") {
		all := alt()
		for _, branch := range branches {
			if r := b.tagged(root, branch, where, depth+1); r != nil {
				all.Parts = append(all.Parts, r)
			}
		}
		if len(all.Parts) > 0 {
			return all
		}
		return nil
	}
	k := schemaKinds(root, s)
	switch {
	case k&isArray != 0 && k&isObject == 0:
		items := s.Get("items")
		if items == nil {
			items = jsontree.NewObject()
		}
		if items.Kind != jsontree.Object || hasAny(s, "uniqueItems", "contains", "minContains", "maxContains", "prefixItems", "additionalItems", "unevaluatedItems", "not", "allOf", "if", "enum", "const") {
			return nil
		}
		item := b.tag(root, items, "item", where)
		lo, hi := max(length(s, "minItems"), 1), length(s, "maxItems") // an empty list is written as JSON
		if lo > 1000 || hi >= 0 && hi < lo || hi > 1000 {
			return nil
		}
		return &Rule{Kind: Repeat, Parts: []*Rule{item}, Min: lo, Max: hi}
	case k&isObject != 0 && k&isArray == 0:
		return b.taggedObject(root, s, where)
	}
	return nil
}

// taggedObject matches an object as tags. There is at least one tag, because without any the text
// would be an empty string.
func (b *grammarBuilder) taggedObject(root, s *jsontree.Value, where place) *Rule {
	props := s.Get("properties")
	if hasAny(s, demanding...) || len(undeclared(s)) > 0 || props != nil && !b.room(len(props.Members)) {
		return nil
	}
	if props == nil || len(props.Members) == 0 {
		return b.taggedDict(root, s, where)
	}
	var args []argument
	for _, m := range props.Members {
		if !isName(m.Key) {
			return nil
		}
		args = append(args, argument{b.tag(root, m.Value, m.Key, where), isRequired(s, m.Key)})
	}
	return b.ordered(args, nil, 1)
}

// taggedDict matches an object with any keys as tags. The grammar cannot require that a closing tag
// has the name of its opening tag; the parser does without.
func (b *grammarBuilder) taggedDict(root, s *jsontree.Value, where place) *Rule {
	values := s.Get("additionalProperties")
	switch {
	case values == nil || open(values):
		values = jsontree.NewObject()
	case values.Kind != jsontree.Object:
		return nil
	}
	inside := b.tagText(root, values, where)
	mark, name := b.f.Param.Nested, regex(`[A-Za-z_][A-Za-z0-9_.-]{0,63}`)
	one := seq(lit(mark), name, lit(">"), inside, lit(mark+"/"), name, lit(">"))
	return seq(one, many(one))
}

// anyTags matches any value inside a tag.
func (b *grammarBuilder) anyTags() *Rule {
	if b.tags == nil {
		b.tags = b.named(nil)
		mark, name := b.f.Param.Nested, regex(`[A-Za-z_][A-Za-z0-9_.-]{0,63}`)
		one := seq(lit(mark), name, lit(">"), b.tags, lit(mark+"/"), name, lit(">"))
		b.g.Rules[b.tags.Text] = alt(free(mark), seq(one, many(one)))
	}
	return b.tags
}

// tag matches one element.
func (b *grammarBuilder) tag(root, schema *jsontree.Value, key string, where place) *Rule {
	inside := b.tagText(root, schema, where)
	return seq(lit(b.f.Param.Nested+key+">"), inside, lit(b.f.Param.closing(key)))
}

// tagText matches the text of an element. The rule has a name, so that schemas may refer to
// themselves. It matches nothing if the text cannot express what the schema requires.
func (b *grammarBuilder) tagText(root, schema *jsontree.Value, where place) *Rule {
	s := simple(root, schema)
	if open(s) {
		return b.anyTags()
	}
	if r := b.tagTexts[s]; r != nil {
		return r
	}
	if b.tagTexts == nil {
		b.tagTexts = map[*jsontree.Value]*Rule{}
	}
	r := b.named(nil)
	b.tagTexts[s] = r
	where.closer = b.f.Param.Nested
	strs, others := split(root, s, 0)
	all := alt()
	for _, s := range strs {
		if text, err := b.text(where, s, others); err == nil {
			all.Parts = append(all.Parts, text)
		}
	}
	for _, s := range others {
		all.Parts = append(all.Parts, b.value(root, s))
		if tags := b.tagged(root, s, where, 0); tags != nil {
			all.Parts = append(all.Parts, tags)
		}
	}
	b.g.Rules[r.Text] = all
	return r
}
