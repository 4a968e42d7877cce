package argcheck

import (
	"errors"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// Limits of one validation. A schema whose parts refer to each other can make the validator visit a
// value once for each path through the references, which doubles with each level, and a long chain
// of references at each level of a deep value would overflow the stack, which ends the program.
const (
	maxSchemaBytes = 4 << 20   // of a schema's text
	maxExpanded    = 10_000    // schemas, with each reference replaced by its target; at most this many need no check
	maxChecks      = 1_000_000 // pairs of a schema and a value; a long path counts for more
	maxCheckDepth  = 10_000    // pairs on the way to one
)

var errCostly = errors.New("checking them against the schema would take too long, because its parts refer to each other and the arguments are deep; send flatter or fewer arguments")

// bounded reports whether the schemas below s are few even if each reference is replaced by its
// target. That is not so for a recursive schema.
func bounded(s *jsonschema.Schema) bool {
	left := maxExpanded
	open := map[*jsonschema.Schema]bool{}
	var visit func(s *jsonschema.Schema) bool
	visit = func(s *jsonschema.Schema) bool {
		if s == nil {
			return true
		}
		if left--; left < 0 || open[s] {
			return false
		}
		open[s] = true
		defer delete(open, s)
		return !slices.ContainsFunc(subschemas(s), func(sub *jsonschema.Schema) bool { return !visit(sub) })
	}
	return visit(s)
}

// validate checks v against s, if that takes bounded time and memory. It subtracts from left what
// the check costs.
func (c *Checker) validate(s *jsonschema.Schema, v *jsontree.Value, left *int) error {
	if !c.bounded {
		k := &coster{left: *left}
		k.visit(s, v, nil, 0, 0)
		if *left = k.left; k.left < 0 {
			return errCostly
		}
	}
	return s.Validate(v.Any())
}

// checksFor returns the cost that checking arguments of n bytes may have.
func checksFor(n int) int { return maxChecks + 4*n }

// coster walks as the validator does and counts its steps.
type coster struct {
	left int // negative if there are too many
}

// visit counts the steps of checking v, which is level values deep, against s. The schemas above
// led to s for the same value.
func (k *coster) visit(s *jsonschema.Schema, v *jsontree.Value, above []*jsonschema.Schema, level, depth int) {
	if s == nil || k.left < 0 {
		return
	}
	k.left -= 1 + level/8 + len(above)/8 // an error holds the path, and the validator looks for cycles
	switch {
	case depth > maxCheckDepth:
		k.left = -1
		return
	case s.Bool != nil || slices.Contains(above, s) || s.Types != nil && !slices.ContainsFunc(s.Types.ToStrings(), func(t string) bool { return v.Kind.String() == t || t == "integer" && v.Kind == jsontree.Number }):
		return
	}
	above = append(above, s)
	for _, sub := range inPlace(s) {
		k.visit(sub, v, above, level, depth+1)
	}
	switch v.Kind {
	case jsontree.Object:
		for _, m := range v.Members {
			k.member(s, m, level+1, depth+1)
		}
	case jsontree.Array:
		for i, x := range v.Items {
			k.item(s, i, x, level+1, depth+1)
		}
	}
}

func (k *coster) member(s *jsonschema.Schema, m jsontree.Member, level, depth int) {
	k.visit(s.Properties[m.Key], m.Value, nil, level, depth)
	for re, p := range s.PatternProperties {
		if re.MatchString(m.Key) {
			k.visit(p, m.Value, nil, level, depth)
		}
	}
	if s.Properties[m.Key] == nil {
		p, _ := s.AdditionalProperties.(*jsonschema.Schema)
		k.visit(p, m.Value, nil, level, depth)
	}
	k.visit(s.UnevaluatedProperties, m.Value, nil, level, depth)
	if s.PropertyNames != nil {
		k.visit(s.PropertyNames, jsontree.NewString(m.Key), nil, level, depth)
	}
}

func (k *coster) item(s *jsonschema.Schema, i int, x *jsontree.Value, level, depth int) {
	list := s.PrefixItems
	if tuple, ok := s.Items.([]*jsonschema.Schema); ok {
		list = tuple
	}
	if i < len(list) {
		k.visit(list[i], x, nil, level, depth)
	} else {
		k.visit(itemSchema(s), x, nil, level, depth)
		p, _ := s.AdditionalItems.(*jsonschema.Schema)
		k.visit(p, x, nil, level, depth)
	}
	k.visit(s.Contains, x, nil, level, depth)
	k.visit(s.UnevaluatedItems, x, nil, level, depth)
}

// inPlace returns the schemas inside s that apply to the same value.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	out := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else}
	if s.DynamicRef != nil {
		out = append(out, s.DynamicRef.Ref)
	}
	out = slices.Concat(out, s.AllOf, s.AnyOf, s.OneOf)
	for _, p := range s.DependentSchemas {
		out = append(out, p)
	}
	for _, x := range s.Dependencies {
		if p, ok := x.(*jsonschema.Schema); ok {
			out = append(out, p)
		}
	}
	return out
}
