package toolformat

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestText checks which texts grammars accept for an argument without quotes: every text that the
// parser reads as a valid value, except for a few that look like an invalid one; never an invalid
// one.
func TestText(t *testing.T) {
	const point = `{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false}`
	vocab, _ := byteVocab(nil)
	for _, c := range []struct {
		schema  string
		yes, no []string
	}{
		{`{"type":"string"}`, []string{"", "a", "<b>", "5", "true", `{"a":1}`, "None", "</parameter", `"q"`}, nil},
		{`{"type":["string","integer"]}`, []string{"5", "-5", "5.5", "5 files", "x", "<b>", "[1]", "true", ""}, nil},
		{`{"anyOf":[{"type":"string"},{"type":"integer","minimum":0}]}`, []string{"5", "5 files", "- item one", "x", "<5", "{5}", "None"}, []string{"-5", "-0x10"}},
		{`{"anyOf":[{"type":"string"},` + point + `]}`, []string{`{"x": 1}`, `{'x': 1}`, "{{name}}", "{x} of y", "{", "[1]", "<x>", "5", "x"}, []string{`{"x": "y"}`, `{'y': 1}`, "{}", "{x: y}"}},
		{`{"oneOf":[{"type":"string"},{"type":"array","items":{"type":"integer"}}]}`, []string{"[1, 2]", "[]", "[link](url)", "[a] b", `{"x": 1}`, "x"}, []string{`["a"]`, "[x]", "[[1]]"}},
		{`{"type":["string","null"]}`, []string{"null", "None", "nullable", "x", ""}, nil},
		{`{"type":["boolean","null"]}`, []string{"true", "False", "null", "None"}, []string{"x", "1", ""}},
		{`{"anyOf":[{"type":"boolean"},{"type":"null"}],"default":null}`, []string{"true", "True", "None"}, []string{"x"}},
		{`{"type":"string","enum":["a","<b>",1]}`, []string{"a", "<b>"}, []string{"1", "c"}},
		{`{"enum":["a",1,true,null]}`, []string{"a", "1", "True", "true", "None"}, []string{"2", "false"}},
		{`{"type":"string","maxLength":3}`, []string{"", "abc", "<é>", "</p"}, []string{"abcd"}},
		{`{"type":"string","minLength":2,"maxLength":80}`, []string{"<b>", strings.Repeat("<", 80)}, []string{"a", strings.Repeat("<", 81)}},
		{`{"type":"string","pattern":"^[a-z]+$"}`, []string{"abc"}, []string{"aBc", ""}},
		{`{"type":"string","pattern":"^a|b$"}`, []string{"ab", "a<c>", "cb", "b"}, []string{"c", "ba "}},
		{`{"type":"string","pattern":"[0-9]{2}"}`, []string{"12", "a12<b>"}, []string{"1", "a1b2"}},
		{`{"type":"string","pattern":"^(a|b\\|c)$"}`, []string{"a", "b|c"}, []string{"b", "ac"}},
		{`{"description":"Anything."}`, []string{"", "5", "x", `{"a": [1, null]}`, "{'a': True}", "<b>"}, nil},
		{`{"allOf":[` + point + `],"description":"A point."}`, []string{`{"x": 1}`, `{'x': 1}`, "{ \"x\":\n  1 }"}, []string{"x", "{}"}},
		{`{"type":"array","items":{"type":"boolean"},"minItems":1,"maxItems":2}`, []string{"[True]", "[true, False]"}, []string{"[]", "[True, True, True]", "[1]"}},
		{`{"type":"object","additionalProperties":{"type":"integer"}}`, []string{"{}", `{"a": 1}`, `{'a-b': 1, "c": 2}`}, []string{`{"a": "b"}`, "{'a': True}"}},
		{`{"type":"object","required":["a"]}`, []string{`{"a": 1}`, `{"b": 2, "a": {"c": null}}`}, []string{"{}", `{"b": 2}`}},
	} {
		tools := []Tool{{Name: "act", Parameters: json.RawMessage(`{"type":"object","properties":{"v":` + c.schema + `},"required":["v"]}`)}}
		valid := validators(t, tools)
		f := Lookup("minimax-m2-xml")
		g, err := f.Grammar(tools, Choice{Mode: Required})
		if err != nil {
			t.Fatalf("%s: %v", c.schema, err)
		}
		compiled, err := g.Compile(vocab, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.schema, err)
		}
		wrap := func(s string) string {
			return "<minimax:tool_call>\n<invoke name=\"act\">\n<parameter name=\"v\">" + s + "</parameter>\n</invoke>\n</minimax:tool_call>"
		}
		for _, s := range c.yes {
			if at, ok := accepts(compiled, nil, wrap(s)); !ok {
				t.Errorf("%s: refused %q at %d", c.schema, s, at)
			}
			checkCalls(t, valid, collect(f.NewParser(tools, ParserOptions{}), wrap(s), 0).Calls)
		}
		for _, s := range c.no {
			if _, ok := accepts(compiled, nil, wrap(s)); ok {
				t.Errorf("%s: accepted %q", c.schema, s)
			}
		}
	}
}
