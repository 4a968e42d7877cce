package toolformat

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestExact checks that the exact grammar of every format accepts the calls that the format writes.
//
// Evidence: engine · Each format accepts the calls that it writes
func TestExact(t *testing.T) {
	tools := []Tool{
		{Name: "edit", Parameters: json.RawMessage(`{"type":"object","properties":{"line":{"type":"integer"},"text":{"type":"string"}},"required":["line","text"],"additionalProperties":false}`)},
		{Name: "run", Parameters: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)},
	}
	calls := []Call{{ID: "call00000", Name: "edit", Args: json.RawMessage(`{"line":3,"text":"a b"}`)}}
	vocab, _ := byteVocab(nil)
	for _, f := range formats {
		g, err := f.Grammar(tools, Choice{Mode: Required, Exact: true})
		if err != nil {
			t.Fatal(err)
		}
		compiled, err := g.Compile(vocab, nil)
		if err != nil {
			t.Fatal(err)
		}
		if f.Layout.IDs != "" { // a number, as the format requires
			calls[0].ID = "0"
		}
		text := f.Write(calls)
		if at, ok := accepts(compiled, nil, text); !ok {
			t.Errorf("%s: not accepted at %d of %q", f.Name, at, text)
		}
	}
}

// TestExactRefuses checks texts that an ordinary grammar accepts and an exact grammar refuses.
func TestExactRefuses(t *testing.T) {
	tools := []Tool{{Name: "edit", Parameters: json.RawMessage(`{"type":"object","properties":{"line":{"type":"integer"},"text":{"type":"string"}},"required":["line","text"],"additionalProperties":false}`)}}
	const call = "<tool_call>\n<function=edit>\n<parameter=line>\n3\n</parameter>\n<parameter=text>\na\n</parameter>\n</function>\n</tool_call>"
	const args = "<parameter=line>\n3\n</parameter>\n<parameter=text>\na\n</parameter>"
	vocab, _ := byteVocab(nil)
	for _, exact := range []bool{false, true} {
		g, err := Lookup("qwen3-coder-xml").Grammar(tools, Choice{Mode: Required, Exact: exact})
		if err != nil {
			t.Fatal(err)
		}
		compiled, err := g.Compile(vocab, nil)
		if err != nil {
			t.Fatal(err)
		}
		if at, ok := accepts(compiled, nil, call); !ok {
			t.Errorf("exact %v: refused at %d", exact, at)
		}
		for name, text := range map[string]string{
			"no line break": strings.Replace(call, "<tool_call>\n", "<tool_call>", 1),
			"thoughts":      "<think>\nhm\n</think>\n\n" + call,
			"another order": strings.Replace(call, args, "<parameter=text>\na\n</parameter>\n<parameter=line>\n3\n</parameter>", 1),
		} {
			if _, ok := accepts(compiled, nil, text); ok == exact {
				t.Errorf("%s: accepted is %v where exact is %v", name, ok, exact)
			}
		}
	}
}
