package jsonfit

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var schemas = []string{
	``, `true`, `false`, `{}`,
	`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":["string","null"]}},"required":["a"],"additionalProperties":false}`,
	`{"type":"array","items":{"type":"number","exclusiveMinimum":0,"maximum":10,"multipleOf":0.5},"minItems":1,"maxItems":2,"uniqueItems":true}`,
	`{"anyOf":[{"type":"string","minLength":2,"maxLength":3},{"type":"integer"}]}`,
	`{"oneOf":[{"required":["a"]},{"required":["b"]}]}`,
	`{"not":{"type":"null"}}`,
	`{"enum":[1,"a",null,{"a":[1]}]}`, `{"const":1.0}`,
	`{"$ref":"#/$defs/tree","$defs":{"tree":{"type":"object","properties":{"a":{"$ref":"#/$defs/tree"},"b":{}},"additionalProperties":false}}}`,
	`{"$defs":{"x":{"$anchor":"here","type":"integer"}},"type":"object","additionalProperties":{"$ref":"#here"}}`,
	`{"patternProperties":{"^a":{"type":"integer"}},"additionalProperties":{"type":"string"},"minProperties":1,"maxProperties":2}`,
	`{"propertyNames":{"maxLength":1}}`,
	`{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":false}`,
	`{"type":"array","contains":{"type":"integer"},"maxContains":1}`,
	`{"if":{"required":["a"]},"then":{"properties":{"a":{"const":1}}},"else":{"type":"object"}}`,
	`{"dependentRequired":{"a":["b"]},"dependentSchemas":{"b":{"properties":{"b":{"type":"string"}}}}}`,
	`{"allOf":[{"type":"object"},{"required":["a"]}]}`,
	`{"type":"string","pattern":"^a+$"}`,
	`{"type":"integer","minimum":-3,"exclusiveMaximum":5}`,
}

var values = []string{
	`1`, `1.0`, `1.5`, `-4`, `5`, `1e2`, `"a"`, `"aa"`, `"äöü"`, `"aaaa"`, `null`, `true`, `[]`, `[1]`, `[1,"a"]`, `[1,"a",2]`, `[0.5,0.5]`, `[1,1.0]`, `[11]`, `["a"]`, `{}`,
	`{"a":1}`, `{"a":2}`, `{"a":"1"}`, `{"a":1,"b":"x"}`, `{"b":"x"}`, `{"b":1}`, `{"a":1,"b":1}`, `{"a":{"a":{"b":1}}}`, `{"a":{"a":{"c":1}}}`, `{"ab":1}`, `{"cd":"x"}`, `{"cd":2}`, `{"a":[1]}`, `{"a":1,"b":"","c":""}`,
}

// Fit accepts what a complete validator accepts, for every keyword that it knows.
func TestFitAgreesWithValidator(t *testing.T) {
	for _, schema := range schemas {
		s, err := Compile(json.RawMessage(schema))
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		var want *jsonschema.Schema
		if schema != "" {
			c := jsonschema.NewCompiler()
			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
			if err != nil {
				t.Fatal(err)
			}
			if err := c.AddResource("mem:///s", doc); err != nil {
				t.Fatal(err)
			}
			want = c.MustCompile("mem:///s")
		}
		for _, value := range values {
			v, _ := jsonschema.UnmarshalJSON(strings.NewReader(value))
			ok := want == nil || want.Validate(v) == nil
			out, err := s.Fit(value)
			if (err == nil) != ok || err == nil && string(out) != value {
				t.Errorf("schema %s, value %s: %s, %v; want accepted: %t", schema, value, out, err, ok)
			}
		}
	}
}

// A schema that multiplies work, or refers to itself without end, ends the check with a fault.
func TestFitIsBounded(t *testing.T) {
	loop, err := Compile(json.RawMessage(`{"$ref":"#"}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := loop.Fit("{}"); err == nil {
		t.Error("a schema that is only a reference to itself accepted an answer")
	}
	union, err := Compile(json.RawMessage(`{"anyOf":[{"properties":{"a":{"$ref":"#"}},"required":["b"]},{"properties":{"a":{"$ref":"#"}},"required":["c"]},{"properties":{"a":{"$ref":"#"}},"required":["d"]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := union.Fit(strings.Repeat(`{"a":`, 60) + "{}" + strings.Repeat("}", 60)); err == nil {
		t.Error("accepted")
	}
}

func FuzzFit(f *testing.F) {
	for i, s := range schemas {
		f.Add(s, values[i%len(values)])
	}
	f.Fuzz(func(t *testing.T, schema, value string) {
		s, err := Compile(json.RawMessage(schema))
		if err != nil {
			return
		}
		out, err := s.Fit(value)
		if err != nil {
			return
		}
		again, err := s.Fit(string(out))
		if err != nil || string(again) != string(out) {
			t.Errorf("Fit(%q) = %s, which then is %s, %v", value, out, again, err)
		}
	})
}
