package toolschema

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// lookup returns the schema to which a local reference refers, or nil.
func lookup(root *jsontree.Value, ref string) *jsontree.Value {
	frag, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	if frag == "" {
		return root
	}
	if frag, ok = strings.CutPrefix(frag, "/"); !ok {
		return nil // an anchor
	}
	v := root
	for seg := range strings.SplitSeq(frag, "/") {
		if plain, err := url.PathUnescape(seg); err == nil {
			seg = plain
		}
		seg = strings.ReplaceAll(strings.ReplaceAll(seg, "~1", "/"), "~0", "~")
		switch v.Kind {
		case jsontree.Object:
			v = v.Get(seg)
		case jsontree.Array:
			i, err := strconv.Atoi(seg)
			if err != nil || i < 0 || i >= len(v.Items) {
				return nil
			}
			v = v.Items[i]
		default:
			return nil
		}
		if v == nil {
			return nil
		}
	}
	return v
}

// plain inlines the references of a schema without recursion. A recursive schema is left unchanged:
// without references it has no finite form.
func plain(root *jsontree.Value) (*jsontree.Value, bool, error) {
	in := &inliner{root: root}
	v := in.value(root, nil)
	if in.nodes > maxNodes {
		return nil, false, errTooLarge
	}
	if in.stuck {
		return root, false, nil
	}
	v.Delete("$defs")
	v.Delete("definitions")
	return v, true, nil
}

// inliner replaces references with their targets, wherever a schema is allowed.
type inliner struct {
	root  *jsontree.Value
	nodes int
	stuck bool // a reference is recursive, or leaves the schema
}

// dataKeywords hold data, not schemas, and are copied unchanged.
var dataKeywords = words("enum", "const", "default", "examples", "required", "type", "$defs", "definitions")

func (in *inliner) value(v *jsontree.Value, above []string) *jsontree.Value {
	if in.nodes++; in.nodes > maxNodes || in.stuck {
		return v
	}
	switch v.Kind {
	case jsontree.Array:
		out := jsontree.NewArray()
		for _, x := range v.Items {
			out.Items = append(out.Items, in.value(x, above))
		}
		return out
	case jsontree.Object:
		return in.object(v, above)
	}
	return v
}

func (in *inliner) object(v *jsontree.Value, above []string) *jsontree.Value {
	if ref := v.Get("$ref"); ref != nil && ref.Kind == jsontree.String {
		target := lookup(in.root, ref.Text())
		if target == nil || contains(above, ref.Text()) || v.Get("$id") != nil {
			in.stuck = true
			return v
		}
		inner := in.value(target, append(above[:len(above):len(above)], ref.Text()))
		return in.merged(v, inner, above)
	}
	out := jsontree.NewObject()
	for _, m := range v.Members {
		switch {
		case dataKeywords[m.Key]:
			out.Set(m.Key, m.Value)
		case m.Key == "properties" || m.Key == "patternProperties" || m.Key == "dependentSchemas":
			props := jsontree.NewObject()
			for _, p := range m.Value.Members {
				props.Set(p.Key, in.value(p.Value, above))
			}
			out.Set(m.Key, props)
		default:
			out.Set(m.Key, in.value(m.Value, above))
		}
	}
	return out
}

// merged combines a reference's target with the keywords next to the reference: descriptions
// replace those of the target; all other keywords apply in addition.
func (in *inliner) merged(v, target *jsontree.Value, above []string) *jsontree.Value {
	rest := jsontree.NewObject()
	for _, m := range v.Members {
		if m.Key != "$ref" && m.Key != "$defs" && m.Key != "definitions" {
			rest.Set(m.Key, m.Value)
		}
	}
	if len(rest.Members) == 0 || target.Kind != jsontree.Object {
		return target
	}
	out := target.Clone()
	for _, m := range rest.Members {
		switch {
		case m.Key == "description" || m.Key == "title" || m.Key == "default" || out.Get(m.Key) == nil && !entangled[m.Key]:
			out.Set(m.Key, in.value(m.Value, above))
		default:
			all := jsontree.NewObject()
			all.Set("allOf", jsontree.NewArray(target, in.value(rest, above)))
			return all
		}
	}
	return out
}

// entangled keywords have a meaning only together with others of the same schema.
var entangled = words("properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "items",
	"prefixItems", "additionalItems", "unevaluatedItems", "contains", "minContains", "maxContains", "if", "then", "else")

func contains(xs []string, x string) bool {
	for _, y := range xs {
		if y == x {
			return true
		}
	}
	return false
}
