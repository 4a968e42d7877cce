package argcheck

import (
	"regexp"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/luthier-dev/luthier/internal/json/jsonrepair"
	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// swallowing is a key that lost its quotes and took the member behind it in: "a: 1, b".
var swallowing = regexp.MustCompile(`^\s*([\w.$-]{1,64})["']?\s*[:=]\s*(.*\S)\s*,\s*["']?([\w.$-]{1,64})\s*$`)

// fixSwallowed splits such a key into its members if the schema declares them and they are absent.
// found reports whether there is such a key.
func (m *mender) fixSwallowed(path []string, v *jsontree.Value, s *jsonschema.Schema) (found, changed bool) {
	for i, x := range v.Members {
		if s.Properties[x.Key] != nil || len(x.Key) > 4096 {
			continue
		}
		part := swallowing.FindStringSubmatch(x.Key)
		if part == nil || s.Properties[part[1]] == nil {
			continue
		}
		found = true
		res, err := jsonrepair.Repair([]byte("{" + `"` + part[1] + `":` + part[2] + `,"` + part[3] + `":0}`))
		if err != nil || res.Risk > jsonrepair.Medium {
			continue
		}
		split, err := jsontree.Parse(res.JSON)
		if err != nil || split.Kind != jsontree.Object {
			continue
		}
		markSpellings(split, res.Spellings)
		split.Members[len(split.Members)-1].Value = x.Value
		if !slices.ContainsFunc(split.Members, func(y jsontree.Member) bool { return s.Properties[y.Key] == nil || v.Get(y.Key) != nil }) {
			m.note(path, "read the key %q as several arguments", clip(x.Key, 60))
			v.Members = slices.Replace(v.Members, i, i+1, split.Members...)
			return true, true
		}
	}
	return found, false
}
