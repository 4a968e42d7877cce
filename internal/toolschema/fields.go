package toolschema

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// field is one member of the JSON object that a struct decodes from.
type field struct {
	reflect.StructField
	key       string // name in JSON
	tagged    bool   // the key comes from the json tag
	omit      bool   // omitempty or omitzero
	depth     int    // depth of embedding
	depthPath []int  // order in the source
}

// jsonFields returns the fields of struct t as encoding/json sees them, in source order: unexported
// fields and fields tagged "-" are left out, and embedded structs are flattened. If several fields
// have the same key, it returns the shallowest one, or of equally deep ones the tagged one.
func jsonFields(t reflect.Type) []field {
	var all []field
	collectFields(t, 0, nil, nil, &all)
	byKey := map[string][]field{}
	for _, f := range all {
		byKey[f.key] = append(byKey[f.key], f)
	}
	var out []field
	for _, same := range byKey {
		if f, ok := dominant(same); ok {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b field) int { return slices.Compare(a.depthPath, b.depthPath) })
	return out
}

func collectFields(t reflect.Type, depth int, path []int, above []reflect.Type, all *[]field) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if slices.Contains(above, t) {
		return // an embedded pointer to itself adds nothing, as in encoding/json
	}
	above = append(above[:len(above):len(above)], t)
	for i := range t.NumField() {
		sf := t.Field(i)
		tag := sf.Tag.Get("json")
		if tag == "-" {
			continue
		}
		key, opts, _ := strings.Cut(tag, ",")
		here := append(path[:len(path):len(path)], i)
		elem := sf.Type
		if elem.Kind() == reflect.Pointer {
			elem = elem.Elem()
		}
		if sf.Anonymous {
			if !sf.IsExported() && elem.Kind() != reflect.Struct {
				continue
			}
			if key == "" && elem.Kind() == reflect.Struct {
				collectFields(elem, depth+1, here, above, all)
				continue
			}
		} else if !sf.IsExported() {
			continue
		}
		f := field{StructField: sf, key: key, tagged: key != "", depth: depth, depthPath: here}
		if key == "" {
			f.key = sf.Name
		}
		for opt := range strings.SplitSeq(opts, ",") {
			f.omit = f.omit || opt == "omitempty" || opt == "omitzero"
		}
		*all = append(*all, f)
	}
}

// dominant returns the field that encoding/json would use among fields with the same key. It
// reports false if none takes precedence.
func dominant(same []field) (field, bool) {
	slices.SortStableFunc(same, func(a, b field) int {
		if c := cmp.Compare(a.depth, b.depth); c != 0 {
			return c
		}
		if a.tagged != b.tagged {
			if a.tagged {
				return -1
			}
			return 1
		}
		return 0
	})
	if len(same) > 1 && same[0].depth == same[1].depth && same[0].tagged == same[1].tagged {
		return field{}, false
	}
	return same[0], true
}
