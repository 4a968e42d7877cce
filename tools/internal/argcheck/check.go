package argcheck

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/luthier-dev/luthier/internal/json/jsonrepair"
	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// Repair returns args in a form that the schema accepts, with a note in words for each change.
// Valid arguments are returned unchanged, as the same slice. If a fault cannot be repaired, the
// error is an *[Error].
func (c *Checker) Repair(args json.RawMessage) (json.RawMessage, []string, error) {
	if len(args) > c.cfg.MaxBytes {
		return nil, nil, &Error{Answer: c.cfg.Answer, Faults: []string{fmt.Sprintf("%s %d bytes long, and at most %d are taken; send less at a time", c.are(), len(args), c.cfg.MaxBytes)}}
	}
	if c.quick != nil && c.quick.accepts(args) {
		return args, nil, nil
	}
	syntax, err := c.syntax(args)
	if err != nil {
		return nil, nil, err
	}
	text, notes := json.RawMessage(syntax.JSON), syntax.Notes
	root, err := jsontree.Parse(text)
	if err != nil {
		return nil, nil, c.fault(nil, nil, err.Error())
	}
	markSpellings(root, syntax.Spellings)
	left := checksFor(len(text))
	m := &mender{c: c, budget: maxValidations, left: &left, moved: syntax.Moved}
	if c.schema != nil {
		if f := hugeNumber(text); f != "" {
			return nil, nil, c.fault(nil, nil, f)
		}
		if f := repeated(root); f != "" {
			return nil, nil, c.fault(nil, nil, f)
		}
		if err := m.repair(c.schema, root); err != nil {
			return nil, nil, c.fault(root, err, "")
		}
		if f := spelledText(root); f != "" {
			return nil, nil, c.fault(nil, nil, f)
		}
		if c.cfg.FillDefaults && c.defaults && c.fill(c.schema, root, 0) {
			m.changed = true
			if err := c.validate(c.schema, root, &left); err != nil {
				return nil, nil, c.fault(root, err, "")
			}
		}
	}
	notes = append(notes, m.notes...)
	if !m.changed {
		return text, notes, nil
	}
	return root.JSON(), notes, nil
}

// syntax returns args as valid JSON. No arguments at all mean an empty object.
func (c *Checker) syntax(args json.RawMessage) (jsonrepair.Result, error) {
	if len(bytes.TrimSpace(args)) == 0 {
		return jsonrepair.Result{JSON: json.RawMessage("{}")}, nil
	}
	res, err := jsonrepair.Repair(args)
	if err != nil {
		fault := c.fault(nil, nil, c.are()+" not valid JSON: "+err.Error())
		if re, ok := errors.AsType[*jsonrepair.Error](err); ok {
			fault.Truncated = re.Kind == jsonrepair.Truncated
			fault.Excerpt = excerpt(args, re.Offset)
		}
		return res, fault
	}
	if res.Risk > c.cfg.MaxRisk {
		return res, c.fault(nil, nil, c.are()+" not valid JSON; reading would have "+strings.Join(res.Notes, ", "))
	}
	return res, nil
}

// excerpt returns the text around position at, for a model to find the place.
func excerpt(args []byte, at int) string {
	lo, hi := max(0, min(at, len(args))-30), min(len(args), at+20)
	if lo >= hi {
		return ""
	}
	return strings.ToValidUTF8(string(args[lo:hi]), "")
}

// Validate reports the faults of args without repairing anything.
func (c *Checker) Validate(args json.RawMessage) error {
	root, err := jsontree.Parse(args)
	if err != nil {
		return err
	}
	if c.schema == nil {
		return nil
	}
	if f := hugeNumber(args); f != "" {
		return c.fault(nil, nil, f)
	}
	left := checksFor(len(args))
	if err := c.validate(c.schema, root, &left); err != nil {
		return c.fault(root, err, "")
	}
	return nil
}

// hugeNumber finds a number whose exponent has more than three digits. Comparing such a number
// exactly, as validation does, would take unlimited memory, and no Go number can hold it.
func hugeNumber(text []byte) string {
	inString := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			inString = !inString
		case inString && c == '\\':
			i++
		case !inString && (c == 'e' || c == 'E') && i > 0 && (isDigit(text[i-1])):
			n := 0
			for j := i + 1; j < len(text) && (isDigit(text[j]) || text[j] == '+' || text[j] == '-'); j++ {
				if isDigit(text[j]) && (n > 0 || text[j] != '0') {
					n++
				}
			}
			if n > 3 {
				return "a number's exponent is too large"
			}
		}
	}
	return ""
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// fill sets absent members of v, at all levels, to their defaults and reports whether it changed
// anything.
func (c *Checker) fill(s *jsonschema.Schema, v *jsontree.Value, depth int) bool {
	if s == nil || depth > 64 {
		return false
	}
	changed := s.Ref != nil && c.fill(s.Ref, v, depth+1)
	switch v.Kind {
	case jsontree.Object:
		for _, key := range c.keys(s) {
			p, x := s.Properties[key], v.Get(key)
			if x == nil && p.Default != nil {
				v.Set(key, fromAny(*p.Default))
				changed = true
			} else if x != nil {
				changed = c.fill(p, x, depth+1) || changed
			}
		}
	case jsontree.Array:
		for _, x := range v.Items {
			changed = c.fill(itemSchema(s), x, depth+1) || changed
		}
	}
	return changed
}

// keys returns the properties of s in the order of the schema's text.
func (c *Checker) keys(s *jsonschema.Schema) []string {
	if keys := c.order[s.Location]; len(keys) == len(s.Properties) {
		return keys
	}
	return sortedKeys(s.Properties)
}

// fromAny converts a decoded JSON value to a tree.
func fromAny(x any) *jsontree.Value {
	text, err := json.Marshal(x)
	if err != nil {
		return jsontree.NewNull()
	}
	v, err := jsontree.Parse(text)
	if err != nil {
		return jsontree.NewNull()
	}
	return v
}

func pointerEscape(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}
