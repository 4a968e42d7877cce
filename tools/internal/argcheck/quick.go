package argcheck

import (
	"bytes"
	"encoding/json"
	"math/big"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// matcher accepts valid arguments, the common case, without allocating: it compares the text
// directly with the schema. It supports the keywords that are common in schemas of tools; a schema
// with any other has no matcher. Its answer is only ever yes or "not sure": anything it does not
// accept is checked by the validator.
type matcher struct {
	any      bool // no type is specified
	types    map[string]bool
	props    map[string]property
	need     uint64   // required properties, one bit each
	extra    *matcher // for other members; nil does not accept them
	items    *matcher // nil accepts any
	forms    []*matcher
	enum     map[string]bool // allowed JSON texts; nil accepts any
	minLen   int
	maxLen   int // -1 means no limit
	minItems int
	maxItems int // -1 means no limit
	min, max *int64
}

type property struct {
	bit uint64
	m   *matcher
}

// anything accepts any value.
var anything = func() *matcher {
	m := &matcher{any: true, maxLen: -1, maxItems: -1}
	m.extra = m
	return m
}()

// unsure accepts no value: it stands for a part of the schema that a matcher does not support, so
// that only calls that use that part need the validator.
var unsure = &matcher{types: map[string]bool{}, enum: map[string]bool{}}

// part returns the matcher of a subschema.
func part(s *jsonschema.Schema, fill bool, depth int) *matcher {
	if m := newMatcher(s, fill, depth+1); m != nil {
		return m
	}
	return unsure
}

// newMatcher returns the matcher of s, or nil if s is not supported. With fill, members with a
// default are required.
func newMatcher(s *jsonschema.Schema, fill bool, depth int) *matcher {
	switch {
	case s == nil || depth > 32:
		return nil
	case s.Bool != nil && *s.Bool:
		return anything
	case s.Bool != nil || beyondMatcher(s):
		return nil
	}
	m := &matcher{any: s.Types == nil, maxLen: -1, maxItems: -1}
	if s.Types != nil {
		m.types = map[string]bool{}
		for _, t := range s.Types.ToStrings() {
			m.types[t] = true
		}
	}
	if m.setLimits(s) && m.setEnum(s) && m.setObject(s, fill, depth) && m.setItems(s, fill, depth) && m.setForms(s, fill, depth) {
		return m
	}
	return nil
}

// beyondMatcher reports whether s has a keyword that a matcher does not know.
func beyondMatcher(s *jsonschema.Schema) bool {
	return s.Ref != nil || s.RecursiveRef != nil || s.DynamicRef != nil || s.Const != nil || s.Not != nil ||
		len(s.AllOf) > 0 || len(s.OneOf) > 0 || s.If != nil || s.Then != nil || s.Else != nil || s.Format != nil ||
		s.MaxProperties != nil || s.MinProperties != nil || s.PropertyNames != nil || len(s.PatternProperties) > 0 ||
		len(s.Dependencies) > 0 || len(s.DependentRequired) > 0 || len(s.DependentSchemas) > 0 ||
		s.UnevaluatedProperties != nil || s.UniqueItems || s.Contains != nil || s.AdditionalItems != nil ||
		len(s.PrefixItems) > 0 || s.UnevaluatedItems != nil || s.Pattern != nil || s.ExclusiveMaximum != nil ||
		s.ExclusiveMinimum != nil || s.MultipleOf != nil || len(s.Extensions) > 0
}

func (m *matcher) setLimits(s *jsonschema.Schema) bool {
	set := func(dst *int, src *int) {
		if src != nil {
			*dst = *src
		}
	}
	set(&m.minLen, s.MinLength)
	set(&m.maxLen, s.MaxLength)
	set(&m.minItems, s.MinItems)
	set(&m.maxItems, s.MaxItems)
	return setBound(&m.min, s.Minimum) && setBound(&m.max, s.Maximum)
}

func setBound(dst **int64, r *big.Rat) bool {
	if r == nil {
		return true
	}
	if !r.IsInt() || !r.Num().IsInt64() {
		return false
	}
	n := r.Num().Int64()
	*dst = &n
	return true
}

func (m *matcher) setEnum(s *jsonschema.Schema) bool {
	if s.Enum == nil {
		return true
	}
	m.enum = map[string]bool{}
	for _, x := range s.Enum.Values {
		text := fromAny(x).JSON()
		if bytes.ContainsAny(text, `\{[`) {
			return false
		}
		m.enum[string(text)] = true
	}
	return true
}

func (m *matcher) setObject(s *jsonschema.Schema, fill bool, depth int) bool {
	if len(s.Properties) > 64 {
		return false
	}
	m.props = make(map[string]property, len(s.Properties))
	for i, key := range sortedKeys(s.Properties) {
		bit := uint64(1) << i
		if fill && s.Properties[key].Default != nil {
			m.need |= bit
		}
		m.props[key] = property{bit, part(s.Properties[key], fill, depth)}
	}
	for _, key := range s.Required {
		p, ok := m.props[key]
		if !ok {
			return false
		}
		m.need |= p.bit
	}
	switch extra := s.AdditionalProperties.(type) {
	case nil:
		m.extra = anything
	case bool:
		if extra {
			m.extra = anything
		}
	case *jsonschema.Schema:
		if extra.Bool == nil || *extra.Bool {
			m.extra = part(extra, fill, depth)
		}
	}
	return true
}

func (m *matcher) setItems(s *jsonschema.Schema, fill bool, depth int) bool {
	if _, tuple := s.Items.([]*jsonschema.Schema); tuple {
		return false
	}
	if item := itemSchema(s); item != nil {
		m.items = part(item, fill, depth)
	}
	return true
}

func (m *matcher) setForms(s *jsonschema.Schema, fill bool, depth int) bool {
	for _, form := range s.AnyOf {
		m.forms = append(m.forms, part(form, fill, depth))
	}
	return true
}

// accepts reports whether args are certainly valid.
func (m *matcher) accepts(args []byte) bool {
	if !json.Valid(args) {
		return false
	}
	c := cursor{s: args}
	return m.match(&c)
}

// cursor iterates over valid JSON.
type cursor struct {
	s []byte
	i int
}

func (c *cursor) space() byte {
	for c.i < len(c.s) {
		switch c.s[c.i] {
		case ' ', '\t', '\n', '\r':
			c.i++
		default:
			return c.s[c.i]
		}
	}
	return 0
}

// scalar moves past the string, number or literal at the cursor and returns its text.
func (c *cursor) scalar() (text []byte, escaped bool) {
	start := c.i
	if c.s[c.i] != '"' {
		for c.i < len(c.s) && bytes.IndexByte([]byte(",]} \t\r\n:"), c.s[c.i]) < 0 {
			c.i++
		}
		return c.s[start:c.i], false
	}
	for c.i++; c.s[c.i] != '"'; c.i++ {
		if c.s[c.i] == '\\' {
			escaped = true
			c.i++
		}
	}
	c.i++
	return c.s[start:c.i], escaped
}

func (m *matcher) match(c *cursor) bool {
	start := c.i
	if len(m.forms) > 0 {
		ok := false
		for _, f := range m.forms {
			c.i = start
			if ok = f.match(c); ok {
				break
			}
		}
		if !ok {
			return false
		}
		c.i = start
	}
	switch c.space() {
	case '{':
		return m.takes("object") && m.enum == nil && m.matchObject(c)
	case '[':
		return m.takes("array") && m.enum == nil && m.matchArray(c)
	}
	text, escaped := c.scalar()
	if m.enum != nil && (escaped || !m.enum[string(text)]) {
		return false
	}
	switch text[0] {
	case '"':
		return m.takes("string") && m.matchLength(text[1:len(text)-1], escaped)
	case 't', 'f':
		return m.takes("boolean")
	case 'n':
		return m.takes("null")
	}
	return m.matchNumber(text)
}

func (m *matcher) takes(t string) bool { return m.any || m.types[t] }

func (m *matcher) matchLength(body []byte, escaped bool) bool {
	if m.minLen == 0 && m.maxLen < 0 {
		return true
	}
	if escaped {
		return m.minLen <= 1 && m.maxLen < 0
	}
	n := utf8.RuneCount(body)
	return n >= m.minLen && (m.maxLen < 0 || n <= m.maxLen)
}

// matchNumber accepts integers of up to 18 digits. If there are no bounds to compare with, it also
// accepts other plain numbers.
func (m *matcher) matchNumber(text []byte) bool {
	if bytes.ContainsAny(text, "eE") || len(text) > 18 {
		return false
	}
	if bytes.IndexByte(text, '.') >= 0 {
		return m.takes("number") && m.min == nil && m.max == nil
	}
	var n int64
	for _, d := range text {
		if d != '-' {
			n = n*10 + int64(d-'0')
		}
	}
	if text[0] == '-' {
		n = -n
	}
	return (m.takes("integer") || m.takes("number")) && (m.min == nil || n >= *m.min) && (m.max == nil || n <= *m.max)
}

func (m *matcher) matchObject(c *cursor) bool {
	c.i++
	var seen uint64
	for c.space() != '}' {
		if c.s[c.i] == ',' {
			c.i++
			c.space()
		}
		key, escaped := c.scalar()
		if escaped {
			return false
		}
		c.space()
		c.i++ // the colon
		p, known := m.props[string(key[1:len(key)-1])]
		if !known {
			if p.m = m.extra; p.m == nil {
				return false
			}
		}
		if seen&p.bit != 0 {
			return false // occurs twice
		}
		seen |= p.bit
		if !p.m.match(c) {
			return false
		}
	}
	c.i++
	return seen&m.need == m.need
}

func (m *matcher) matchArray(c *cursor) bool {
	c.i++
	n := 0
	items := m.items
	if items == nil {
		items = anything
	}
	for c.space() != ']' {
		if c.s[c.i] == ',' {
			c.i++
		}
		if !items.match(c) {
			return false
		}
		n++
	}
	c.i++
	return n >= m.minItems && (m.maxItems < 0 || n <= m.maxItems)
}
