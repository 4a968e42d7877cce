package argcheck

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// Limits of the work that one call may cause. Without them, repairing text inside text, or trying
// the forms of nested unions, could multiply the work.
const (
	maxRounds      = 6   // rounds per value: text containing JSON reveals new faults
	maxValidations = 64  // in total
	maxFixes       = 512 // in total
	maxNotes       = 8
	maxLeaves      = 10_000 // faults that are looked at
)

// mender repairs one set of arguments.
type mender struct {
	c       *Checker
	schema  *jsonschema.Schema // schema of the value being repaired
	budget  int
	left    *int // what all validations may still cost; see [Checker.validate]
	fixes   int
	changed bool
	moved   bool // brackets were repaired: a member may be in the wrong object
	notes   []string
	prefix  []string // path of the value being repaired within the arguments
}

// repair changes v until s accepts it. It returns the last error if nothing can be changed any
// more.
func (m *mender) repair(s *jsonschema.Schema, v *jsontree.Value) error {
	m.schema = s
	last := errCostly
	for range maxRounds {
		if m.budget--; m.budget < 0 {
			return last
		}
		err := m.c.validate(s, v, m.left)
		if err == nil {
			return nil
		}
		ve, ok := err.(*jsonschema.ValidationError)
		if !ok {
			return last
		}
		if last = ve; !m.round(ve, v) {
			return last
		}
	}
	return last
}

// round acts on every leaf of the error tree and reports whether anything changed.
func (m *mender) round(err *jsonschema.ValidationError, root *jsontree.Value) bool {
	changed := false
	for _, leaf := range sortedLeaves(err) {
		if m.fixes >= maxFixes {
			break
		}
		at, parent, ok := find(root, leaf.InstanceLocation)
		if !ok {
			continue // an earlier fix in this round moved it
		}
		if m.fix(leaf, at, parent, root) {
			m.fixes++
			changed = true
		}
	}
	m.changed = m.changed || changed
	return changed
}

// leaves flattens an error tree to the errors that name a fault. Unions stay whole: which of their
// errors counts depends on the intended form.
func leaves(err *jsonschema.ValidationError, out []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	switch err.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.Not, *kind.Contains, *kind.PropertyNames:
		return append(out, err)
	}
	if len(err.Causes) == 0 {
		return append(out, err)
	}
	for _, c := range err.Causes {
		out = leaves(c, out)
	}
	return out
}

// sortedLeaves returns the leaves of an error tree in a deterministic order, since the validator
// iterates over maps.
func sortedLeaves(err *jsonschema.ValidationError) []*jsonschema.ValidationError {
	all := leaves(err, nil)
	all = all[:min(len(all), maxLeaves)]
	for _, e := range all {
		if k, ok := e.ErrorKind.(*kind.AdditionalProperties); ok {
			slices.Sort(k.Properties)
		}
	}
	slices.SortStableFunc(all, func(a, b *jsonschema.ValidationError) int {
		if c := slices.Compare(a.InstanceLocation, b.InstanceLocation); c != 0 {
			return c
		}
		return strings.Compare(fmt.Sprintf("%T", a.ErrorKind), fmt.Sprintf("%T", b.ErrorKind))
	})
	return all
}

// slot is the position of a value in an object or in an array.
type slot struct {
	in    *jsontree.Value // nil at the root
	key   string
	index int
}

// find returns the value at path and its slot.
func find(root *jsontree.Value, path []string) (*jsontree.Value, slot, bool) {
	v, at := root, slot{}
	for _, seg := range path {
		at = slot{in: v, key: seg}
		switch v.Kind {
		case jsontree.Object:
			v = v.Get(seg)
		case jsontree.Array:
			i, err := strconv.Atoi(seg)
			if err != nil || i < 0 || i >= len(v.Items) {
				return nil, at, false
			}
			at.index = i
			v = v.Items[i]
		default:
			return nil, at, false
		}
		if v == nil {
			return nil, at, false
		}
	}
	return v, at, true
}

// note records a change to the value at path.
func (m *mender) note(path []string, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if full := slices.Concat(m.prefix, path); len(full) > 0 {
		text = pathName(full) + ": " + text
	}
	if len(m.notes) == maxNotes {
		m.notes = append(m.notes, "and more of the same kind")
	}
	if len(m.notes) < maxNotes && !slices.Contains(m.notes, text) {
		m.notes = append(m.notes, text)
	}
}

// pathName formats a path as a person would: edits[2].old.
func pathName(path []string) string {
	if len(path) == 0 {
		return "arguments"
	}
	var b strings.Builder
	for i, seg := range path {
		if _, err := strconv.Atoi(seg); err == nil {
			b.WriteString("[" + seg + "]")
			continue
		}
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(seg)
	}
	return b.String()
}

// fix repairs one fault.
func (m *mender) fix(e *jsonschema.ValidationError, v *jsontree.Value, at slot, root *jsontree.Value) bool {
	path := e.InstanceLocation
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		return m.fixType(path, k.Want, v, at, m.c.byLoc[e.SchemaURL])
	case *kind.Enum:
		return m.fixEnum(path, k.Want, v)
	case *kind.Const:
		return m.fixEnum(path, []any{k.Want}, v)
	case *kind.Required:
		return m.fixRequired(path, k.Missing, v, m.c.byLoc[e.SchemaURL])
	case *kind.AdditionalProperties:
		return m.fixExtra(path, k.Properties, v, m.c.byLoc[e.SchemaURL])
	case *kind.AnyOf:
		if s := m.c.byLoc[e.SchemaURL]; s != nil {
			return m.fixUnion(path, s.AnyOf, v)
		}
	case *kind.OneOf:
		if s := m.c.byLoc[e.SchemaURL]; s != nil && k.Subschemas == nil {
			return m.fixUnion(path, s.OneOf, v)
		}
	}
	return false
}

// fixUnion tries to repair v for each form of a union. It keeps the result if all successful
// repairs agree.
func (m *mender) fixUnion(path []string, forms []*jsonschema.Schema, v *jsontree.Value) bool {
	var found *jsontree.Value
	var notes []string
	for _, form := range forms {
		trial := &mender{c: m.c, budget: m.budget, left: m.left, moved: m.moved, prefix: slices.Concat(m.prefix, path)}
		try := v.Clone()
		err := trial.repair(form, try)
		m.budget = trial.budget
		if err != nil || m.budget <= 0 {
			continue
		}
		if found != nil && !found.Equal(try) {
			return false // two forms lead to two different results
		}
		if found == nil {
			found, notes = try, trial.notes
		}
	}
	if found == nil {
		return false
	}
	*v = *found
	m.notes = append(m.notes, notes...)
	return true
}
