package argcheck

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/luthier-dev/luthier/internal/json/jsonrepair"
	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// fixType converts v to one of the wanted types if there is only one interpretation.
func (m *mender) fixType(path, want []string, v *jsontree.Value, at slot, s *jsonschema.Schema) bool {
	if v.Kind == jsontree.Null {
		return m.dropNull(path, at)
	}
	if v.Kind == jsontree.String {
		if fixed, repairs := fromText(v.Text(), want); fixed != nil {
			m.note(path, "read the text as %s %v", article(fixed.Kind), fixed.Kind)
			for _, text := range repairs {
				m.note(path, "%s", text)
			}
			*v = *fixed
			return true
		}
	}
	if slices.Contains(want, "boolean") && v.Kind == jsontree.Number && (v.Raw() == "0" || v.Raw() == "1") {
		*v = *jsontree.NewBool(v.Raw() == "1")
		m.note(path, "read the number as %s", v.Raw())
		return true
	}
	if slices.Contains(want, "string") && v.Kind == jsontree.Number && v.Written == "" {
		m.note(path, "wrote the number as text")
		*v = *jsontree.NewString(v.Raw())
		return true
	}
	if slices.Contains(want, "array") && len(want) <= 2 && at.in != nil && m.wrap(v, s) {
		m.note(path, "put the single value into a list")
		return true
	}
	return false
}

func article(k jsontree.Kind) string {
	if k == jsontree.Array || k == jsontree.Object {
		return "an"
	}
	return "a"
}

// dropNull removes a null that stands for an omitted argument. Only declared arguments can be
// omitted: in a map a null is data.
func (m *mender) dropNull(path []string, at slot) bool {
	if at.in == nil || at.in.Kind != jsontree.Object || !m.declared(path) {
		return false
	}
	if !m.c.cfg.QuietNull {
		m.note(path, "took null as not given")
	}
	at.in.Delete(at.key)
	return true
}

// declared reports whether the object that holds the value at path lists its key as a property.
func (m *mender) declared(path []string) bool {
	last := len(path) - 1
	for _, s := range schemasAt(m.schema, path[:last]) {
		if s.Properties[path[last]] != nil {
			return true
		}
	}
	return false
}

// fromText parses text as one of the wanted types, or returns nil. Notes describe repairs of its
// syntax.
func fromText(text string, want []string) (v *jsontree.Value, notes []string) {
	t := strings.TrimSpace(text)
	for _, w := range want {
		switch w {
		case "array", "object":
			v, notes = textContainer(t, w)
		case "number", "integer":
			v = textNumber(t, w == "integer")
		case "boolean":
			if l := strings.ToLower(t); l == "true" || l == "false" {
				v = jsontree.NewBool(l == "true")
			}
		case "null":
			if t == "null" || t == "None" {
				v = jsontree.NewNull()
			}
		}
		if v != nil {
			return v, notes
		}
	}
	return nil, nil
}

// textContainer parses JSON that was given as text.
func textContainer(t, want string) (*jsontree.Value, []string) {
	if t == "" || want == "array" && t[0] != '[' && t[0] != '(' || want == "object" && t[0] != '{' {
		return nil, nil
	}
	res, err := jsonrepair.Repair([]byte(t))
	if err != nil || res.Risk > jsonrepair.Medium {
		return nil, nil
	}
	v, err := jsontree.Parse(res.JSON)
	if err != nil || v.Kind.String() != want || repeated(v) != "" {
		return nil, nil
	}
	markSpellings(v, res.Spellings)
	if res.Risk <= jsonrepair.Low {
		return v, nil
	}
	return v, res.Notes // it was not only spelling
}

// textNumber parses a number that was given as text. Text with more than one possible meaning for a
// person, such as 1,000 or 007, is left alone.
func textNumber(t string, whole bool) *jsontree.Value {
	if len(t) == 0 || len(t) > 64 || !json.Valid([]byte(t)) {
		return nil
	}
	v, err := jsontree.Parse([]byte(t))
	if err != nil || v.Kind != jsontree.Number || hugeNumber([]byte(t)) != "" {
		return nil
	}
	if r, ok := new(big.Rat).SetString(t); whole && (!ok || !r.IsInt()) {
		return nil
	}
	return v
}

// wrap puts a single value into a list. Text of several words might be a list written as text, so
// it is not wrapped.
func (m *mender) wrap(v *jsontree.Value, s *jsonschema.Schema) bool {
	if v.Kind == jsontree.Array || v.Kind == jsontree.Null {
		return false
	}
	if v.Kind == jsontree.String {
		t := v.Text()
		if t == "" || strings.ContainsFunc(t, func(c rune) bool {
			return unicode.IsSpace(c) || c == ',' || c == ';' || c == '|' || c == '[' || c == '{'
		}) {
			return false
		}
	}
	inner := *v
	list := jsontree.NewArray(&inner)
	if s == nil || m.budget <= 0 {
		return false
	}
	if trial := (&mender{c: m.c, budget: m.budget, left: m.left, moved: m.moved}); trial.repair(s, list) != nil {
		return false
	} else {
		m.budget = trial.budget
	}
	*v = *list
	return true
}

// fixEnum replaces text that differs from one allowed value only in case, spaces and separators.
func (m *mender) fixEnum(path []string, want []any, v *jsontree.Value) bool {
	if v.Kind == jsontree.Array || v.Kind == jsontree.Object || v.Written != "" {
		return false
	}
	text := v.Raw()
	if v.Kind == jsontree.String {
		text = v.Text()
	}
	var found any
	n := 0
	for _, w := range want {
		if fold(anyText(w)) == fold(text) {
			found = w
			n++
		}
	}
	if n != 1 || found == nil {
		return false
	}
	*v = *fromAny(found)
	m.note(path, "took %q as %s", text, v.Raw())
	return true
}

func anyText(x any) string {
	if s, ok := x.(string); ok {
		return s
	}
	return string(fromAny(x).JSON())
}

// fold removes the differences between spellings of a name: case, spaces, '_' and '-'.
func fold(s string) string {
	return strings.Map(func(c rune) rune {
		switch c {
		case '_', '-', ' ', '\n', '\r', '\t', '\u200b', '\u200c', '\u200d', '\u2060', '\ufeff':
			return -1
		}
		return unicode.ToLower(c)
	}, strings.TrimSpace(s))
}

// fixRequired finds a missing member under another spelling of its key, or sets it to its default.
func (m *mender) fixRequired(path, missing []string, v *jsontree.Value, s *jsonschema.Schema) bool {
	if s == nil || v.Kind != jsontree.Object {
		return false
	}
	if found, changed := m.fixSwallowed(path, v, s); found {
		return changed
	}
	changed := false
	for _, key := range missing {
		if m.rename(path, key, v, s) {
			changed = true
		} else if p := s.Properties[key]; p != nil && p.Default != nil {
			v.Set(key, fromAny(*p.Default))
			m.note(append(slices.Clone(path), key), "filled in the default")
			changed = true
		}
	}
	return changed
}

// rename renames the one undeclared member whose key is another spelling of key.
func (m *mender) rename(path []string, key string, v *jsontree.Value, s *jsonschema.Schema) bool {
	found := -1
	for i, x := range v.Members {
		if s.Properties[x.Key] == nil && fold(x.Key) == fold(key) {
			if found >= 0 && v.Members[found].Key != x.Key {
				return false
			}
			found = i
		}
	}
	if found < 0 || v.Get(key) != nil {
		return false
	}
	m.note(append(slices.Clone(path), key), "was named %q", v.Members[found].Key)
	v.Members[found].Key = key
	return true
}

// fixExtra renames members whose key is another spelling of an absent one, and removes those that
// resemble none. A key that may be a misspelling of an absent argument stays and is reported:
// dropping it would lose what was meant.
func (m *mender) fixExtra(path, extra []string, v *jsontree.Value, s *jsonschema.Schema) bool {
	if s == nil || v.Kind != jsontree.Object {
		return false
	}
	if found, changed := m.fixSwallowed(path, v, s); found {
		return changed
	}
	changed := false
	for _, key := range extra {
		near := nearProperty(key, v, s)
		switch {
		case near == "" && (m.c.cfg.Answer || m.moved): // an answer of other members answers something else
		case near == "":
			m.note(path, "ignored the unknown argument %q", key)
			v.Delete(key)
			changed = true
		case fold(near) != fold(key):
		case v.Get(near) == nil:
			changed = m.rename(path, near, v, s) || changed
		case v.Get(near).Equal(v.Get(key)):
			v.Delete(key)
			changed = true
		}
	}
	return changed
}

// nearProperty returns the declared property that key may stand for, or "": one with the same
// letters, or an absent one that differs by one typing error.
func nearProperty(key string, v *jsontree.Value, s *jsonschema.Schema) string {
	best, bestDist := "", 3
	for _, p := range sortedKeys(s.Properties) {
		if fold(p) == fold(key) {
			return p
		}
		if v.Get(p) == nil {
			if d := distance(fold(key), fold(p)); d < bestDist && d*3 <= len(p) {
				best, bestDist = p, d
			}
		}
	}
	return best
}
