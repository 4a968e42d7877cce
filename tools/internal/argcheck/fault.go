package argcheck

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
	"github.com/luthier-dev/luthier/internal/toolschema"
)

// Error explains why arguments were refused, for the model that wrote them.
type Error struct {
	Faults    []string        // each names its argument; at most about a dozen
	Excerpt   string          // the text around a syntax fault
	Shape     string          // form of the arguments, such as {path: string, limit?: integer}
	Example   json.RawMessage // valid arguments
	Truncated bool            // the text was cut off
	Answer    bool            // it is a final answer, not the arguments of a call

	more int // number of faults not listed in Faults
}

// maxFaults is the maximum number of faults that are listed.
const maxFaults = 10

// Error lists the faults and the correct shape.
func (e *Error) Error() string {
	var b strings.Builder
	for i, f := range e.Faults {
		if i == maxFaults {
			fmt.Fprintf(&b, "; and %d more", len(e.Faults)-i+e.more)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(f)
	}
	if e.Excerpt != "" {
		fmt.Fprintf(&b, " (near %q)", e.Excerpt)
	}
	if e.Truncated && !e.Answer {
		b.WriteString(". Nothing was run; send the whole call again, in smaller pieces if it is long")
	}
	if e.Shape != "" {
		what := ". Arguments: "
		if e.Answer {
			what = ". Form: "
		}
		b.WriteString(what + e.Shape)
	}
	if len(e.Example) > 0 {
		b.WriteString(". Example: " + string(e.Example))
	}
	return b.String()
}

// fault builds the error for the faults found by a validation, or for one message.
func (c *Checker) fault(root *jsontree.Value, err error, msg string) *Error {
	e := &Error{Shape: c.shape(), Example: c.example(), Answer: c.cfg.Answer}
	if msg != "" {
		e.Faults = []string{msg}
		return e
	}
	ve, ok := err.(*jsonschema.ValidationError)
	if !ok {
		e.Faults = []string{err.Error()}
		return e
	}
	for _, leaf := range sortedLeaves(ve) {
		if len(e.Faults) > maxFaults {
			e.more++
			continue
		}
		for _, f := range c.describe(root, leaf) {
			if !slices.Contains(e.Faults, f) {
				e.Faults = append(e.Faults, f)
			}
		}
	}
	return e
}

// member returns the word for a member of an object.
func (c *Checker) member() string {
	if c.cfg.Answer {
		return "member"
	}
	return "argument"
}

// describe puts one error into words.
func (c *Checker) describe(root *jsontree.Value, e *jsonschema.ValidationError) []string {
	at := c.pathName(e.InstanceLocation)
	v, _, _ := find(root, e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return c.describeMissing(e, k.Missing)
	case *kind.AdditionalProperties:
		return c.describeExtra(e, k.Properties, v)
	case *kind.Type:
		return []string{fmt.Sprintf("%s: want %s, got %s", at, strings.Join(k.Want, " or "), show(v))}
	case *kind.Enum:
		return []string{fmt.Sprintf("%s: want one of %s; got %s", at, list(k.Want), show(v))}
	case *kind.Const:
		return []string{fmt.Sprintf("%s: want %s, got %s", at, anyJSON(k.Want), show(v))}
	case *kind.Pattern:
		if k.Want == toolschema.DurationPattern {
			return []string{fmt.Sprintf(`%s: want a duration such as "30s" or "1m30s", got %s`, at, show(v))}
		}
		return []string{fmt.Sprintf("%s: %s does not match the pattern %s", at, show(v), k.Want)}
	case *kind.Format:
		return []string{fmt.Sprintf("%s: %s is not a valid %s", at, show(v), k.Want)}
	case *kind.AnyOf:
		return c.describeUnion(root, e, at, v)
	case *kind.OneOf:
		if k.Subschemas == nil {
			return c.describeUnion(root, e, at, v)
		}
		return []string{at + ": it fits several of the allowed forms; give what only one of them has"}
	case *kind.Minimum:
		return []string{fmt.Sprintf("%s: want at least %s, got %s", at, k.Want.RatString(), show(v))}
	case *kind.Maximum:
		return []string{fmt.Sprintf("%s: want at most %s, got %s", at, k.Want.RatString(), show(v))}
	case *kind.MinLength:
		return []string{fmt.Sprintf("%s: want at least %s, got %d", at, plural(k.Want, "character"), k.Got)}
	case *kind.MaxLength:
		return []string{fmt.Sprintf("%s: want at most %s, got %d", at, plural(k.Want, "character"), k.Got)}
	case *kind.MinItems:
		return []string{fmt.Sprintf("%s: want at least %s, got %d", at, plural(k.Want, "element"), k.Got)}
	case *kind.MaxItems:
		return []string{fmt.Sprintf("%s: want at most %s, got %d", at, plural(k.Want, "element"), k.Got)}
	case *kind.FalseSchema:
		return []string{at + ": not allowed"}
	case *kind.Not:
		return []string{at + ": this value is not allowed"}
	}
	return []string{at + ": " + e.ErrorKind.LocalizedString(message.NewPrinter(language.English))}
}

func (c *Checker) describeMissing(e *jsonschema.ValidationError, missing []string) []string {
	var out []string
	s := c.byLoc[e.SchemaURL]
	for _, key := range missing {
		text := c.pathName(append(slices.Clone(e.InstanceLocation), key)) + ": missing"
		if s != nil && s.Properties[key] != nil {
			text += " (" + c.typeName(s.Properties[key], 1) + ")"
		}
		out = append(out, text)
	}
	return out
}

func (c *Checker) describeExtra(e *jsonschema.ValidationError, extra []string, v *jsontree.Value) []string {
	var out []string
	s := c.byLoc[e.SchemaURL]
	for _, key := range extra {
		text := c.pathName(append(slices.Clone(e.InstanceLocation), clip(key, 60))) + ": unknown " + c.member()
		if s != nil && v != nil {
			if near := nearProperty(key, v, s); near != "" {
				text += fmt.Sprintf("; did you mean %q?", near)
			}
		}
		out = append(out, text)
	}
	return out
}

// describeUnion describes the form that was most likely meant: the one whose faults are deepest, so
// that its outer shape fits. If no form fits at all, the types are listed.
func (c *Checker) describeUnion(root *jsontree.Value, e *jsonschema.ValidationError, at string, v *jsontree.Value) []string {
	var best *jsonschema.ValidationError
	for _, cause := range e.Causes {
		own := false
		for _, leaf := range leaves(cause, nil) {
			_, wrongType := leaf.ErrorKind.(*kind.Type)
			_, wrongConst := leaf.ErrorKind.(*kind.Const)
			own = own || (wrongType || wrongConst) && len(leaf.InstanceLocation) <= len(e.InstanceLocation)+1
		}
		if !own {
			if best != nil {
				best = nil
				break
			}
			best = cause
		}
	}
	if best == nil {
		if s := c.byLoc[e.SchemaURL]; s != nil {
			return []string{fmt.Sprintf("%s: want %s, got %s", at, c.typeName(s, 1), show(v))}
		}
		return []string{fmt.Sprintf("%s: %s fits none of the allowed forms", at, show(v))}
	}
	var out []string
	for _, leaf := range sortedLeaves(best) {
		out = append(out, c.describe(root, leaf)...)
	}
	return out
}

// show formats a value for an error message: its type, and its text if that is short.
func show(v *jsontree.Value) string {
	if v == nil {
		return "nothing"
	}
	switch v.Kind {
	case jsontree.Number:
		if v.Written != "" {
			return clip(v.Written, 60) + " without quotes, which is no JSON number"
		}
	case jsontree.Null:
		return "null"
	case jsontree.Array, jsontree.Object:
		return article(v.Kind) + " " + v.Kind.String()
	case jsontree.String:
		return "the text " + string(jsontree.NewString(clip(v.Text(), 60)).JSON())
	}
	return "the " + v.Kind.String() + " " + clip(v.Raw(), 60)
}

// clip shortens s to about n bytes, at a character boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

func plural(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return fmt.Sprintf("%d %s", n, word)
}

func anyJSON(x any) string { return clip(string(fromAny(x).JSON()), 120) }

func list(xs []any) string {
	var parts []string
	for i, x := range xs {
		if i == 20 {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, anyJSON(x))
	}
	return strings.Join(parts, ", ")
}
