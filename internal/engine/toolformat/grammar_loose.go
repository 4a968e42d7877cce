package toolformat

import (
	"strings"

	"github.com/luthier-dev/luthier/internal/jsontree"
)

// loose matches a value of the Loose syntax. The parameter name is unique to the value's place in
// the arguments of a tool.
func (b *grammarBuilder) loose(root, schema *jsontree.Value, name string, depth int) *Rule {
	s := deref(root, schema)
	asJSON := schemaRule(embedded(root, schema))
	k := schemaKinds(root, s)
	switch {
	case !b.follows(depth):
	case k == isString && s.Get("enum") != nil:
		return b.looseString(b.listed(s.Get("enum").Items))
	case k == isString && constrained(s) == "":
		return b.looseString(free(b.f.Quote))
	case k == 0 && constrained(s) == "" || k&isString != 0 && k != isString && constrained(s) == "":
		return alt(b.looseString(free(b.f.Quote)), schemaRule(embedded(root, withoutStrings(s))))
	case k == isArray && s.Get("items") != nil && !hasAny(s, "minItems", "maxItems", "uniqueItems", "contains", "prefixItems"):
		item := b.loose(root, s.Get("items"), name+"[]", depth+1)
		return alt(seq(lit("["), opt(seq(item, many(seq(lit(","), item)))), lit("]")), asJSON)
	case k == isObject:
		if r := b.looseObject(root, s, name, depth); r != nil {
			return alt(r, asJSON)
		}
	}
	return asJSON
}

// looseString matches a string in the quotes of the format.
func (b *grammarBuilder) looseString(inside *Rule) *Rule {
	return seq(lit(b.f.Quote), inside, lit(b.f.Quote))
}

// demanding lists keywords that require more of an object than its members.
var demanding = []string{
	"patternProperties", "minProperties", "maxProperties", "dependentRequired", "dependentSchemas",
	"propertyNames", "not", "allOf", "anyOf", "oneOf", "if", "enum", "const",
}

// looseObject matches an object with bare keys. It returns nil if the schema requires more of the
// object than its members.
func (b *grammarBuilder) looseObject(root, s *jsontree.Value, name string, depth int) *Rule {
	props := s.Get("properties")
	if props == nil || len(props.Members) == 0 || !b.room(len(props.Members)) || hasAny(s, demanding...) {
		return nil
	}
	var args []argument
	for _, m := range props.Members {
		if m.Key == "" || strings.ContainsAny(m.Key, b.f.Quote+"{}[]:,=()\"' \t\r\n") {
			return nil
		}
		value := b.loose(root, m.Value, name+"."+m.Key, depth+1)
		args = append(args, argument{seq(lit(m.Key+":"), value), isRequired(s, m.Key)})
	}
	return seq(lit("{"), b.ordered(name, args, ","), lit("}"))
}

// hasAny reports whether a schema has any of the keywords.
func hasAny(s *jsontree.Value, keywords ...string) bool {
	for _, k := range keywords {
		if s.Get(k) != nil {
			return true
		}
	}
	return false
}
