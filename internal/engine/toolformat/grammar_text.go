package toolformat

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
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
	plain, err := b.contents(where, root, schema)
	if err != nil || !where.cdata || b.c.Exact {
		return plain, err
	}
	where.closer, where.cdata = cdataClose, false
	markup, err := b.contents(where, root, schema)
	return alt(plain, seq(lit(cdataOpen), markup, lit(cdataClose))), err
}

// contents is like inside, without the marks around text with markup.
func (b *grammarBuilder) contents(where place, root, schema *jsontree.Value) (*Rule, error) {
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
		all.Parts = append(all.Parts, b.value(root, s))
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
		return b.listed(ofTypes(s, s.Get("enum").Items)), nil
	case "const":
		return b.listed([]*jsontree.Value{s.Get("const")}), nil
	case "minLength", "maxLength":
		return where.limited(s), nil
	case "pattern":
		if s.Get("minLength") == nil && s.Get("maxLength") == nil {
			return matching(s.Get("pattern").Text(), where.without(), `[\s\S]*`, ""), nil
		}
	}
	return nil, &UnsupportedError{where.tool, where.key, keyword}
}

// without is a pattern before text that does not contain the closing marker.
func (w place) without() string {
	if w.cdata {
		return `(?![\s\S]*<)`
	}
	return `(?![\s\S]*` + regexp.QuoteMeta(w.closer) + `)`
}

// matching matches text in which the pattern p occurs, between the patterns open and end. Other
// text matches the pattern rest. The alternatives of p are separate rules, because each has its own
// anchors.
func matching(p, open, rest, end string) *Rule {
	all := alt()
	for _, one := range alternatives(p) {
		before, after := rest, rest
		if body, ok := strings.CutPrefix(one, "^"); ok {
			one, before = body, ""
		}
		if body, ok := strings.CutSuffix(one, "$"); ok && (len(body)-len(strings.TrimRight(body, `\`)))%2 == 0 {
			one, after = body, ""
		}
		all.Parts = append(all.Parts, regex(open+before+"(?:"+one+")"+after+end))
	}
	return all
}

// alternatives splits a pattern at the bars that are in no group.
func alternatives(p string) []string {
	var out []string
	depth, class, start := 0, false, 0
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '|' && depth == 0:
			out, start = append(out, p[start:i]), i+1
		}
	}
	return append(out, p[start:])
}

// limited matches a string of limited length.
func (w place) limited(s *jsontree.Value) *Rule {
	r, hi := w.free(), length(s, "maxLength")
	if hi == 0 {
		return lit("")
	}
	r.Min, r.Max = max(length(s, "minLength"), 0), max(hi, 0)
	return r
}

// free matches any text that does not end its place.
func (w place) free() *Rule {
	if w.cdata {
		return free("<")
	}
	return free(w.closer)
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
	first, more := "", []string{}
	if exclude&isNumber != 0 {
		first += `0-9+\-.`
	}
	if exclude&(isBool|isNull) != 0 {
		first += `tfnTFN`
	}
	if first != "" { // a number or a constant has no space inside
		more = append(more, "["+first+`]\S*\s+\S[\s\S]*`)
	}
	if exclude&isObject != 0 { // an object begins with a key and ends with a bracket
		first += `{`
		more = append(more, `\{\s*[{\[(:,=)\]][\s\S]*`, `\{(?:[\s\S]*[^\s}])?\s*`)
	}
	if exclude&isArray != 0 {
		first += `\[`
		more = append(more, `\[(?:[\s\S]*[^\s\]])?\s*`)
	}
	if first == "" {
		return where.free()
	}
	if n := b.f.Param.Nested; n != "" && exclude&(isObject|isArray) != 0 {
		where.closer = n
	}
	all := alt(lit(""), regex(where.without()+`[^\s`+first+`][\s\S]*`))
	for _, p := range more {
		all.Parts = append(all.Parts, regex(where.without()+p))
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
