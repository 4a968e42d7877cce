package toolformat

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/internal/jsontree"
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

// anyOrder is the largest number of arguments that a grammar accepts in any order.
const anyOrder = 6

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
	sep := ""
	switch b.f.Syntax {
	case Python:
		sep = ", "
	case Loose:
		sep = ","
	}
	body := b.ordered(tool, args, sep)
	if b.f.Syntax == Loose {
		return seq(lit("{"), body, lit("}")), nil
	}
	return body, nil
}

// isRequired reports whether an object of a schema must have a key.
func isRequired(schema *jsontree.Value, key string) bool {
	list := schema.Get("required")
	return list != nil && slices.ContainsFunc(list.Items, func(v *jsontree.Value) bool { return v.IsString(key) })
}

// fixedOrder reports whether args are accepted only in the order of the schema.
func (b *grammarBuilder) fixedOrder(args []argument) bool {
	return b.c.Exact || len(args) > anyOrder
}

// ordered matches arguments in any order if there are few of them, otherwise in the order of the
// schema.
func (b *grammarBuilder) ordered(tool string, args []argument, sep string) *Rule {
	if len(args) == 0 {
		return nil
	}
	if b.fixedOrder(args) {
		return b.from(tool, args, sep, func(done uint64, i int) bool { return done>>i == 0 }, 0)
	}
	return b.from(tool, args, sep, func(done uint64, i int) bool { return done>>i&1 == 0 }, 0)
}

// from returns the rule for the arguments that may follow after those in done. The function may
// reports whether argument i is still possible. Rules are shared by name.
func (b *grammarBuilder) from(tool string, args []argument, sep string, may func(uint64, int) bool, done uint64) *Rule {
	name := fmt.Sprintf("%s-%s-%x", tool, sep, done)
	if b.g.Rules[name] != nil {
		return ref(name)
	}
	all := alt()
	b.g.Rules[name] = all
	complete, skipped := true, false
	for i, a := range args {
		if a.required && done>>i&1 == 0 {
			complete = false
		}
	}
	for i, a := range args {
		if !may(done, i) || skipped {
			continue
		}
		r := a.rule
		if done != 0 && sep != "" {
			r = seq(lit(sep), r)
		}
		all.Parts = append(all.Parts, seq(r, b.from(tool, args, sep, may, done|1<<i)))
		// In a fixed order, a required argument cannot be skipped.
		skipped = a.required && b.fixedOrder(args)
	}
	if complete {
		all.Parts = append(all.Parts, lit(""))
	}
	return ref(name)
}

// member matches one argument.
func (b *grammarBuilder) member(tool string, root *jsontree.Value, key string, schema *jsontree.Value) (*Rule, error) {
	switch b.f.Syntax {
	case Python:
		value := withWords(root, schema)
		if schemaKinds(root, schema) == isString && constrained(deref(root, schema)) == "" {
			value = alt(value, regex(`'(?:[^'\\]|\\['\\nrt])*'`))
		}
		return seq(lit(key+"="), value), nil
	case Loose:
		return seq(lit(key+":"), b.loose(root, schema, tool+"."+key, 0)), nil
	}
	k := schemaKinds(root, schema)
	switch {
	case k == isString:
		text, err := b.unquoted(tool, key, deref(root, schema))
		if err != nil {
			return nil, err
		}
		return b.f.paramRule(key, "string", text), nil
	case k&isString == 0 && k != 0:
		value := withWords(root, schema)
		if tags := b.tagged(root, schema, tool+"."+key, 0); tags != nil {
			value = alt(tags, value)
		}
		return b.f.paramRule(key, kindName(k), value), nil
	}
	return b.mixed(tool, key, root, schema, k)
}

// withWords matches a value as JSON, and constants also in the Python style: many templates print
// them in that style, and models copy it.
func withWords(root, schema *jsontree.Value) *Rule {
	value := schemaRule(embedded(root, schema))
	s := deref(root, schema)
	k := schemaKinds(root, s)
	if constrained(s) != "" || k&(isBool|isNull) == 0 {
		return value
	}
	all := alt(value)
	if k&isBool != 0 {
		all.Parts = append(all.Parts, lit("True"), lit("False"))
	}
	if k&isNull != 0 {
		all.Parts = append(all.Parts, lit("None"))
	}
	return all
}

// kindName returns the JSON type that an attribute names for a set of kinds.
func kindName(k kinds) string {
	for _, name := range []string{"object", "array", "number", "boolean"} {
		if k&kindOf[name] != 0 {
			return name
		}
	}
	return "null"
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

// mixed matches an argument that may be a string or another type.
func (b *grammarBuilder) mixed(tool, key string, root, schema *jsontree.Value, k kinds) (*Rule, error) {
	if b.f.Param.Attr != "" { // the attribute distinguishes the two
		text := b.f.paramRule(key, "string", b.freeText(key))
		return alt(text, b.f.paramRule(key, "object", schemaRule(embedded(root, withoutStrings(deref(root, schema)))))), nil
	}
	s := deref(root, schema)
	if e := s.Get("enum"); e != nil {
		return b.f.paramRule(key, "string", b.listed(e.Items)), nil
	}
	branches := branchesOf(s)
	if branches == nil {
		// A string is free text; but if the text looks like another type, it must be valid.
		return b.f.paramRule(key, "string", b.looksLikeText(key, k)), nil
	}
	all := alt()
	for _, branch := range branches {
		switch bk := schemaKinds(root, branch); {
		case bk == isString && constrained(deref(root, branch)) == "":
			all.Parts = append(all.Parts, b.f.paramRule(key, "string", b.looksLikeText(key, k)))
		case bk == isString:
			text, err := b.unquoted(tool, key, deref(root, branch))
			if err != nil {
				return nil, err
			}
			all.Parts = append(all.Parts, b.f.paramRule(key, "string", text))
		default:
			all.Parts = append(all.Parts, b.f.paramRule(key, kindName(bk), schemaRule(embedded(root, branch))))
		}
	}
	return all, nil
}

// withoutStrings returns a schema that allows the same values except strings.
func withoutStrings(s *jsontree.Value) *jsontree.Value {
	s = s.Clone()
	if t := s.Get("type"); t != nil && t.Kind == jsontree.Array {
		t.Items = slices.DeleteFunc(t.Items, func(v *jsontree.Value) bool { return v.IsString("string") })
		return s
	}
	for _, key := range []string{"anyOf", "oneOf", "enum"} {
		if list := s.Get(key); list != nil {
			list.Items = slices.DeleteFunc(list.Items, func(v *jsontree.Value) bool {
				return v.Kind == jsontree.String || v.Get("type").IsString("string")
			})
			return s
		}
	}
	s.Set("type", jsontree.NewStrings("object", "array", "number", "boolean", "null"))
	return s
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

// looksLikeText matches text that no parser reads as an object or a list, nor as a number if
// numbers may be invalid.
func (b *grammarBuilder) looksLikeText(key string, k kinds) *Rule {
	first := `{\[`
	if b.f.Param.Nested != "" {
		first += regexp.QuoteMeta(b.f.Param.Nested[:1])
	}
	closer := b.f.Param.closing(key)
	first += `\s"0-9+\-.tfnTFN` + regexp.QuoteMeta(closer[:1])
	if k == isString|isNull {
		return b.freeText(key)
	}
	rest := b.freeText(key)
	if b.f.Param.CDATA {
		rest = rest.Parts[0]
	}
	return opt(seq(regex("[^"+first+"]"), rest))
}

// freeText matches any text that does not close the argument.
func (b *grammarBuilder) freeText(key string) *Rule {
	if b.f.Param.CDATA {
		return alt(free("<"), seq(lit(cdataOpen), free(cdataClose), lit(cdataClose)))
	}
	return free(b.f.Param.closing(key))
}

// listed matches one of several values, written without quotes.
func (b *grammarBuilder) listed(values []*jsontree.Value) *Rule {
	all := alt()
	for _, v := range values {
		text := string(v.JSON())
		if v.Kind == jsontree.String {
			text = v.Text()
		}
		all.Parts = append(all.Parts, lit(text))
	}
	return all
}

// constrained returns a keyword of the schema that limits strings, if there is one.
func constrained(s *jsontree.Value) string {
	for _, key := range []string{"enum", "const", "pattern", "minLength", "maxLength", "not", "allOf", "anyOf", "oneOf", "if"} {
		if s.Get(key) != nil {
			return key
		}
	}
	return ""
}

// unquoted matches a string written without quotes.
func (b *grammarBuilder) unquoted(tool, key string, s *jsontree.Value) (*Rule, error) {
	closer := b.f.Param.closing(key)
	keyword := constrained(s)
	switch keyword {
	case "":
		return b.freeText(key), nil
	case "enum":
		return b.listed(s.Get("enum").Items), nil
	case "const":
		return b.listed([]*jsontree.Value{s.Get("const")}), nil
	case "minLength", "maxLength":
		// With length limits, the first character of the closing marker is excluded, so that the
		// counted text cannot include a part of the marker.
		not := "[^" + regexp.QuoteMeta(closer[:1]) + "]"
		least, most := "0", ""
		if v := s.Get("minLength"); v != nil {
			least = v.Raw()
		}
		if v := s.Get("maxLength"); v != nil {
			most = v.Raw()
			return regex(not + "{" + least + "," + most + "}"), nil
		}
		rest := b.freeText(key)
		if b.f.Param.CDATA {
			rest = rest.Parts[0]
		}
		return seq(regex(not+"{"+least+"}"), rest), nil
	case "pattern":
		if p := s.Get("pattern").Text(); s.Get("minLength") == nil && s.Get("maxLength") == nil && !strings.Contains(p, closer[:1]) &&
			strings.HasPrefix(p, "^") && strings.HasSuffix(p, "$") {
			return regex(p), nil
		}
	}
	return nil, &UnsupportedError{tool, key, keyword}
}
