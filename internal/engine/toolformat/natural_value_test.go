package toolformat

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// naturalTool has an argument of each kind that the tools of agents have.
const naturalTool = `{"type":"object","$defs":{"point":{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"number"},"open":{"type":"boolean"},"name":{"type":"string"}},"required":["x"]}},
"properties":{
	"text":{"type":"string"},"count":{"type":"integer"},"ratio":{"type":"number"},"flag":{"type":"boolean"},
	"mode":{"enum":["fast","it's \"slow\""]},"level":{"enum":[1,2,true,null]},
	"tags":{"type":"array","items":{"type":"string"}},"sizes":{"type":"array","items":{"type":"integer"},"minItems":1},
	"flags":{"type":"array","items":{"type":"boolean"}},"grid":{"type":"array","items":{"type":"array","items":{"type":"integer"}}},
	"point":{"$ref":"#/$defs/point"},"points":{"type":"array","items":{"allOf":[{"$ref":"#/$defs/point"}]}},
	"maybe":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null},"maybe_flag":{"anyOf":[{"type":"boolean"},{"type":"null"}]},
	"maybe_tags":{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"null"}]},
	"either":{"type":["string","integer"]},"line":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/point"}]},"many":{"oneOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]},
	"env":{"type":"object","additionalProperties":{"type":"string"}},"data":{"type":"object"},"any":{"description":"Anything."},
	"long":{"type":"string","minLength":1},"title":{"type":"string","maxLength":300},"slug":{"type":"string","pattern":"^(a|b)-|[0-9]+$"},"name":{"type":"string","pattern":"^[a-z_]+$"}},
"required":["text"]}`

// naturalTexts are strings that models write into arguments.
var naturalTexts = []string{
	"plain", "a/b.go", "for i := range 3 {\n\tfmt.Println(\"it's\", i)\n}", "<div class='x'>é</div>", "日本", "a, b: c = [d]", `C:\new\table`, "yes, True", "{{name}}", "",
}

// naturalValue returns a value of a schema as a model may choose it.
func naturalValue(r *rand.Rand, root, s *jsontree.Value) *jsontree.Value {
	s = simple(root, s)
	pick := func(texts ...string) *jsontree.Value { return jsontree.NewString(texts[r.IntN(len(texts))]) }
	switch {
	case s.Get("enum") != nil:
		items := s.Get("enum").Items
		return items[r.IntN(len(items))]
	case branchesOf(s) != nil:
		b := branchesOf(s)[r.IntN(len(branchesOf(s)))]
		if v := naturalValue(r, root, b); v.Kind != jsontree.String || v.Text() != "" {
			return v
		}
		return pick("word")
	case s.Get("pattern") != nil && strings.HasPrefix(s.Get("pattern").Text(), "^("):
		return pick("a-<b>", "line <3>7")
	case s.Get("pattern") != nil:
		return pick("a_name")
	case s.Get("minLength") != nil, s.Get("maxLength") != nil:
		return pick("<p>x</p>", "y")
	case s.Get("type") == nil, len(s.Get("type").Items) > 0:
		if r.IntN(2) == 0 {
			return jsontree.NewInt(7)
		}
		return pick("seven", "line 3")
	}
	switch s.Get("type").Text() {
	case "integer":
		return jsontree.NewInt(int64(r.IntN(2000) - 1000))
	case "number":
		v, _ := jsontree.Parse([]byte([]string{"0.5", "-2", "1e-05", "3.25e+16"}[r.IntN(4)]))
		return v
	case "boolean":
		return jsontree.NewBool(r.IntN(2) == 0)
	case "null":
		return jsontree.NewNull()
	case "array":
		list := jsontree.NewArray()
		for range 1 + r.IntN(3) {
			list.Items = append(list.Items, naturalValue(r, root, s.Get("items")))
		}
		if r.IntN(5) == 0 && s.Get("minItems") == nil {
			list.Items = nil
		}
		return list
	case "object":
		return naturalObject(r, root, s)
	}
	return pick(naturalTexts...)
}

func naturalObject(r *rand.Rand, root, s *jsontree.Value) *jsontree.Value {
	v := jsontree.NewObject()
	if s.Get("properties") == nil {
		for i := range r.IntN(3) {
			v.Set(fmt.Sprintf("KEY_%d", i), jsontree.NewString(naturalTexts[r.IntN(len(naturalTexts)-1)]))
		}
		return v
	}
	props := s.Get("properties").Members
	for _, i := range r.Perm(len(props)) {
		if isRequired(s, props[i].Key) || r.IntN(3) == 0 {
			v.Set(props[i].Key, naturalValue(r, root, props[i].Value))
		}
	}
	return v
}
