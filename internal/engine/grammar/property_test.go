package grammar

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// validator compiles a schema with an independent implementation that asserts formats. It returns
// nil if that implementation refuses the schema.
func validator(schema json.RawMessage) *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	if err != nil {
		return nil
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.AssertContent()
	if c.AddResource("mem:///schema.json", doc) != nil {
		return nil
	}
	sch, err := c.Compile("mem:///schema.json")
	if err != nil {
		return nil
	}
	return sch
}

// ramble generates a text by picking allowed tokens at random, preferring tokens that close things;
// the result ok is false if the text did not end.
func ramble(t *testing.T, g *Grammar, v *Vocab, r *rand.Rand, steps int) (text []byte, ok bool) {
	s := g.Start()
	mask := make([]uint64, v.words)
	var all, closing []int32
	for n := range steps {
		g.Mask(s, mask)
		all, closing = all[:0], closing[:0]
		for id := range int32(v.size) {
			if mask[id>>6]&(1<<(id&63)) == 0 {
				continue
			}
			if v.isEnd(id) {
				if r.IntN(4) == 0 || n > steps/2 {
					return text, true
				}
				continue
			}
			all = append(all, id)
			if p := string(v.pieces[id]); strings.ContainsAny(p, "\"}]") && len(p) <= 2 {
				closing = append(closing, id)
			}
		}
		if len(all) == 0 {
			if g.Accepts(s) {
				return text, true
			}
			t.Fatalf("dead end after %q", text)
		}
		id := all[r.IntN(len(all))]
		if len(closing) > 0 && (r.IntN(3) == 0 || n > steps/2) {
			id = closing[r.IntN(len(closing))]
		}
		next, allowed := g.Next(s, id)
		if !allowed {
			t.Fatalf("after %q the mask allows %q, Next does not", text, v.pieces[id])
		}
		text = append(text, v.pieces[id]...)
		s = next
	}
	return text, g.Accepts(s)
}

var trickySchemas = []string{
	`{}`, `true`,
	`{"type":"string","minLength":2,"maxLength":4}`,
	`{"type":"string","pattern":"^a+b?$","maxLength":5}`,
	`{"type":"string","pattern":"x|y"}`,
	`{"type":"string","pattern":"^(?!ab)[a-c]*$"}`,
	`{"type":"string","not":{"pattern":"[0-9]"}}`,
	`{"type":"integer","minimum":-17,"maximum":1205}`,
	`{"type":"integer","exclusiveMinimum":3,"multipleOf":7}`,
	`{"type":"number","minimum":-1.25,"exclusiveMaximum":3.5}`,
	`{"type":"number","multipleOf":0.25,"minimum":0}`,
	`{"type":"number","not":{"type":"integer"}}`,
	`{"type":"number","not":{"enum":[1,2.5]}}`,
	`{"enum":[1,"a",null,true,{"a":[1,2]},[]]}`,
	`{"const":{"b":{"c":[]},"a":1.50}}`,
	`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"null"}},"required":["b"],"additionalProperties":false}`,
	`{"type":"object","properties":{"a":{"type":"integer"},"abc":false},"additionalProperties":{"type":"boolean"},"maxProperties":3,"minProperties":1}`,
	`{"type":"object","patternProperties":{"^x":{"type":"integer"},"y$":{"minimum":5}},"additionalProperties":{"type":"null"}}`,
	`{"type":"object","patternProperties":{"^x":{"type":"integer"}},"additionalProperties":false,"properties":{"xa":{"maximum":3}},"required":["xa"]}`,
	`{"type":"object","propertyNames":{"pattern":"^[ab]{1,3}$"},"maxProperties":2}`,
	`{"type":"object","propertyNames":{"enum":["p","q"]},"minProperties":2}`,
	`{"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":3}`,
	`{"type":"array","prefixItems":[{"type":"null"},{"const":"k"}],"items":{"type":"boolean"},"minItems":2}`,
	`{"type":"array","contains":{"const":1},"items":{"type":"integer","minimum":0,"maximum":3},"maxItems":4}`,
	`{"type":"array","contains":{"type":"string"},"minContains":2,"maxContains":3}`,
	`{"anyOf":[{"type":"object","required":["a"]},{"type":"object","required":["b"],"additionalProperties":{"type":"null"}}]}`,
	`{"oneOf":[{"type":"object","required":["a"]},{"type":"object","required":["b"]}]}`,
	`{"oneOf":[{"type":"integer","minimum":3},{"type":"number","maximum":5}]}`,
	`{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false},{"type":"object","properties":{"a":{},"b":{}},"additionalProperties":false}]}`,
	`{"allOf":[{"properties":{"a":{"minimum":2}}},{"properties":{"a":{"type":"integer"}},"required":["a"]}],"type":"object","properties":{"a":{},"b":{"type":"null"}},"additionalProperties":false}`,
	`{"type":"object","if":{"properties":{"k":{"const":"x"}},"required":["k"]},"then":{"required":["v"]},"else":{"properties":{"v":false}}}`,
	`{"type":"object","dependentRequired":{"a":["b"]},"dependentSchemas":{"c":{"properties":{"d":{"type":"null"}},"required":["d"]}}}`,
	`{"type":"object","not":{"required":["a"]}}`,
	`{"type":"object","not":{"properties":{"a":{"type":"string"}},"additionalProperties":false},"properties":{"a":{"type":"string"}}}`,
	`{"$defs":{"n":{"type":"object","properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]}},"required":["v","next"],"additionalProperties":false}},"$ref":"#/$defs/n"}`,
	`{"type":"array","items":{"$ref":"#"},"maxItems":2}`,
	`{"type":"object","properties":{"é\n\"\\":{"type":"null"}},"required":["é\n\"\\"],"additionalProperties":false}`,
	`{"type":"string","format":"date"}`, `{"type":"string","format":"date-time"}`, `{"type":"string","format":"time"}`,
	`{"type":"string","format":"email"}`, `{"type":"string","format":"hostname"}`, `{"type":"string","format":"uri"}`,
	`{"type":"string","format":"uri-reference"}`, `{"type":"string","format":"uuid"}`, `{"type":"string","format":"ipv4"}`,
	`{"type":"string","format":"ipv6"}`, `{"type":"string","format":"duration"}`, `{"type":"string","format":"json-pointer"}`,
	`{"type":"string","format":"regex"}`, `{"type":"string","format":"relative-json-pointer"}`, `{"type":"string","format":"uri-template"}`,
	`{"type":"array","items":{"enum":["a","b","c"]},"uniqueItems":true}`,
	`{"type":"array","items":{"type":"boolean"},"uniqueItems":true,"minItems":1}`,
	`{"type":"array","items":{"type":"string"},"uniqueItems":true,"maxItems":3}`,
	`{"type":"object","minProperties":3}`,
}

// TestGenerated checks that generated texts are valid according to an independent implementation.
//
// Evidence: engine · A schema or grammar constrains the answer
func TestGenerated(t *testing.T) {
	v := byteVocab(`"a"`, `": `, `"}`, `", "`, "é", "😀", `\u00e9`, "true", "null", "  ", "\n  ", "12", "abc", "2024-02-29", "://", "@")
	check := func(t *testing.T, name string, schema json.RawMessage, rounds int) {
		if testing.Short() {
			rounds = (rounds + 9) / 10
		}
		sch := validator(schema)
		g, err := CompileSchema(schema, v)
		if err != nil {
			t.Logf("%s: %v", name, err)
			return
		}
		if sch == nil {
			return
		}
		r := rand.New(rand.NewPCG(1, 2))
		ended := 0
		for range rounds {
			text, ok := ramble(t, g, v, r, 120)
			if !ok {
				continue
			}
			ended++
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
			if err != nil {
				t.Errorf("%s: %q is not JSON: %v", name, text, err)
				return
			}
			if err := sch.Validate(value); err != nil {
				t.Errorf("%s: generated %q: %v", name, text, err)
				return
			}
		}
		if ended == 0 && rounds > 50 {
			t.Logf("%s: no text came to an end", name)
		}
	}
	for _, s := range trickySchemas {
		check(t, s, json.RawMessage(s), 200)
	}
	t.Run("data", func(t *testing.T) {
		for i, c := range schemaCases(t) {
			if testing.Short() && i%4 > 0 {
				continue
			}
			check(t, c.name, c.Schema, 10)
		}
	})
}

// TestMaskBrute checks that masks agree with testing every token separately.
func TestMaskBrute(t *testing.T) {
	v := byteVocab(`"a"`, `": `, `"}`, `", "`, "é", "😀", `\u00e9`, "true", "null", "  ", "\n  ", "12", "abc", `a":`, `b","`, `c"]`, "-1", `\"`, `"\n`, "xy", "a b", "\xc3", "\xa9\"")
	r := rand.New(rand.NewPCG(3, 4))
	for _, src := range trickySchemas {
		g, err := CompileSchema(json.RawMessage(src), v)
		if err != nil {
			continue
		}
		mask := make([]uint64, v.words)
		for range 3 {
			s := g.Start()
			for range 40 {
				g.Mask(s, mask)
				var allowed []int32
				for id := range int32(v.size) {
					_, ok := g.Next(s, id)
					if ok != (mask[id>>6]&(1<<(id&63)) != 0) {
						t.Fatalf("%s: token %q: Next says %v, Mask does not", src, v.pieces[id], ok)
					}
					if ok && !v.isEnd(id) {
						allowed = append(allowed, id)
					}
				}
				if len(allowed) == 0 {
					break
				}
				s, _ = g.Next(s, allowed[r.IntN(len(allowed))])
			}
		}
	}
}
