package argcheck

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
)

// TestRecursiveSchema checks that a schema that is a list, a map or an alternative of itself is put
// into words that end.
//
// Evidence: tools · A recursive schema of a tool is described in words that end
func TestRecursiveSchema(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(32 << 20))
	for _, tt := range []struct{ name, self, want string }{
		{"list", `{"type":"array","items":{"$ref":"#/$defs/x"}}`, "{a: …[]}"},
		{"map", `{"type":"object","additionalProperties":{"$ref":"#/$defs/x"}}`, "[key]: …"},
		{"alternatives", `{"anyOf":[{"$ref":"#/$defs/x"},{"type":"string"}]}`, "string"},
		{"one of", `{"oneOf":[{"type":"integer"},{"$ref":"#/$defs/x"}]}`, "integer"},
		{"list or map", `{"type":["array","object"],"items":{"$ref":"#/$defs/x"},"additionalProperties":{"$ref":"#/$defs/x"}}`, "…"},
		{"object", `{"type":"object","properties":{"next":{"$ref":"#/$defs/x"}}}`, "{…}"},
		{"itself", `{"$ref":"#/$defs/x"}`, "…"},
		{"tuple", `{"type":"array","prefixItems":[{"$ref":"#/$defs/x"}]}`, "any[]"},
	} {
		c, err := Compile(json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"required":["a"],"$defs":{"x":`+tt.self+`}}`), Config{})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		for _, args := range []string{`{}`, `{"a":true}`, `{"a":[[[1]]]}`} {
			_, _, err := c.Repair(json.RawMessage(args))
			if err == nil {
				continue
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %s: %v; want %q in it", tt.name, args, err, tt.want)
			}
		}
	}
}

// doubling returns a schema in which each of n definitions applies the next one twice.
func doubling(n int) json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%[2]d"}]},`, i, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"type":"object"}}}`, n)
	return json.RawMessage(b.String())
}

// TestCostlySchema checks that arguments are refused, with what to do, if checking them would not
// end, and accepted if it would.
func TestCostlySchema(t *testing.T) {
	const list = `{"type":"array","items":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}}`
	for _, tt := range []struct {
		name   string
		schema json.RawMessage
		args   string
		want   string
	}{
		{"few references", doubling(8), `{}`, ""},
		{"doubling references", doubling(40), `{}`, "take too long"},
		{"a flat list", json.RawMessage(list), `[[],[[]]]`, ""},
		{"a deep list", json.RawMessage(list), strings.Repeat("[", 60) + "1" + strings.Repeat("]", 60), "take too long"},
		{"a deep value", json.RawMessage(`{"allOf":[{}]}`), `{"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, "1000 levels"},
	} {
		c, err := Compile(tt.schema, Config{})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = c.Repair(json.RawMessage(tt.args))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.want)
		}
	}
	if _, err := Compile(json.RawMessage(strings.Repeat(`{"items":`, 2000)+"{}"+strings.Repeat("}", 2000)), Config{}); err == nil || !strings.Contains(err.Error(), "1000 levels") {
		t.Errorf("a deep schema: %v", err)
	}
	if _, err := Compile(json.RawMessage(`{"description":"`+strings.Repeat("x", maxSchemaBytes)+`"}`), Config{}); err == nil {
		t.Error("a schema of megabytes is compiled")
	}
}
