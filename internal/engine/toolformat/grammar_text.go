package toolformat

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/internal/jsontree"
)

// place is where text without quotes is written: an argument of the Params syntax, or a part of it.
type place struct {
	tool, key string
	closer    string // ends the text
	cdata     bool   // text with markup is in <![CDATA[ and ]]>
}

// inside matches the text of an argument: strings as they are, other values as JSON or in the
// Python style, and objects and lists also as tags if the format nests them.
func (b *grammarBuilder) inside(where place, root, schema *jsontree.Value) (*Rule, error) {
	strs, others := split(root, schema, 0)
	all := alt()
	for _, s := range strs {
		text, err := b.text(where, s, others)
		if err != nil {
			return nil, err
		}
		all.Parts = append(all.Parts, text)
	}
	for _, s := range others {
		if tags := b.tagged(root, s, where, 0); tags != nil {
			all.Parts = append(all.Parts, tags)
		}
		value := b.value(root, s)
		all.Parts = append(all.Parts, value)
		if where.cdata && schemaKinds(root, s, 0)&(isObject|isArray) != 0 {
			all.Parts = append(all.Parts, seq(lit(cdataOpen), value, lit(cdataClose)))
		}
	}
	if len(all.Parts) == 1 {
		return all.Parts[0], nil
	}
	return all, nil
}

// text matches a string without quotes. The values described by others may be written in its place,
// so that it must not look like an invalid one of them.
func (b *grammarBuilder) text(where place, s *jsontree.Value, others []*jsontree.Value) (*Rule, error) {
	keyword := constrained(s)
	switch keyword {
	case "":
		return b.looksLikeText(where, asserted(others)), nil
	case "enum":
		return b.listed(s.Get("enum").Items), nil
	case "const":
		return b.listed([]*jsontree.Value{s.Get("const")}), nil
	case "minLength", "maxLength":
		return b.limited(where, s), nil
	case "pattern":
		if p := s.Get("pattern").Text(); s.Get("minLength") == nil && s.Get("maxLength") == nil && !strings.Contains(p, where.closer[:1]) &&
			strings.HasPrefix(p, "^") && strings.HasSuffix(p, "$") {
			return regex(p), nil
		}
	}
	return nil, &UnsupportedError{where.tool, where.key, keyword}
}

// limited matches a string of limited length.
func (b *grammarBuilder) limited(where place, s *jsontree.Value) *Rule {
	const most = 64 // above it, the automaton that also looks for the marker is too large
	lo, hi := length(s, "minLength"), length(s, "maxLength")
	free := `(?![\s\S]*` + regexp.QuoteMeta(where.closer) + `)[\s\S]`
	if where.cdata {
		free = "[^<]"
	}
	// Where the automaton would be too large, the first character of the closing marker is excluded,
	// so that the counted text cannot include a part of the marker.
	not := "[^" + regexp.QuoteMeta(where.closer[:1]) + "]"
	switch {
	case hi >= 0 && hi <= most:
		return regex(free + fmt.Sprintf("{%d,%d}", max(lo, 0), hi))
	case hi >= 0:
		return regex(not + fmt.Sprintf("{%d,%d}", max(lo, 0), hi))
	case lo <= most:
		return regex(free + fmt.Sprintf("{%d,}", lo))
	}
	return seq(regex(not+fmt.Sprintf("{%d}", lo)), b.looksLikeText(where, 0))
}

// length returns the value of a keyword that limits a length, or -1.
func length(s *jsontree.Value, keyword string) int {
	v := s.Get(keyword)
	if v == nil {
		return -1
	}
	f, err := strconv.ParseFloat(v.Raw(), 64)
	if err != nil || f < 0 || f > 1<<30 {
		return -1
	}
	return int(f)
}

// looksLikeText matches text that does not end its place, and that is not read as one of the
// excluded kinds.
func (b *grammarBuilder) looksLikeText(where place, exclude kinds) *Rule {
	rest := free(where.closer)
	if where.cdata {
		rest = free("<")
	}
	closer := regexp.QuoteMeta(where.closer[:1])
	words, brackets := "", ""
	if exclude&isNumber != 0 {
		words += `0-9+\-.`
	}
	if exclude&(isBool|isNull) != 0 {
		words += `tfnTFN`
	}
	if exclude&(isObject|isArray) != 0 {
		brackets = `{\[`
		if b.f.Param.Nested != "" {
			brackets += regexp.QuoteMeta(b.f.Param.Nested[:1])
		}
	}
	if words+brackets == "" {
		if where.cdata {
			return alt(rest, seq(lit(cdataOpen), free(cdataClose), lit(cdataClose)))
		}
		return rest
	}
	all := alt(opt(seq(regex(`[^\s`+words+brackets+closer+"]"), rest)))
	if words != "" { // a number or a constant has no space inside
		all.Parts = append(all.Parts, seq(regex("["+words+`][^\s`+closer+`]*\s+[^\s`+closer+"]"), rest))
	}
	return all
}

// asserted returns the kinds of values on which schemas make further requirements.
func asserted(schemas []*jsontree.Value) kinds {
	var k kinds
	for _, s := range schemas {
		if hasAny(s, assertions...) {
			k |= typeKinds(s.Get("type"))
			if typeKinds(s.Get("type")) == 0 {
				k |= notString
			}
		}
	}
	return k
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
