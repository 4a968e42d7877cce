package toolformat

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestRecursiveSchemas checks schemas that refer to themselves in many places: the grammar stays
// small, and accepts deeply nested values in the notation of each format.
func TestRecursiveSchemas(t *testing.T) {
	var refs []string
	for i := range 8 {
		refs = append(refs, fmt.Sprintf(`"n%d":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}`, i))
	}
	schema := `{"type":"object","$defs":{"node":{"type":"object","properties":{"name":{"type":"string"},"kids":{"type":"array","items":{"$ref":"#/$defs/node"}},` +
		strings.Join(refs, ",") + `},"required":["name"]}},"properties":{"tree":{"$ref":"#/$defs/node"}},"required":["tree","extra"]}`
	tools := []Tool{{Name: "act", Parameters: json.RawMessage(schema)}}
	value := `{"name":"a","kids":[{"name":"b","n3":{"name":"c","kids":[{"n1":{"n2":{"name":"e"},"name":"d"},"name":"f"}],"n7":null}}]}`
	calls := []Call{{ID: "abcdefghi", Name: "act", Args: json.RawMessage(`{"tree":` + value + `,"extra":"x"}`)}}
	vocab, _ := byteVocab(nil)
	for _, f := range formats {
		g, err := f.Grammar(tools, Choice{Mode: Required})
		if err != nil {
			t.Fatal(err)
		}
		compiled, err := g.Compile(vocab, nil)
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		if f.Layout.IDs != "" {
			calls[0].ID = "0"
		}
		text := f.Write(calls)
		if at, ok := accepts(compiled, nil, text); !ok {
			t.Errorf("%s: not accepted at %d: %q ^ %q", f.Name, at, text[:at], text[at:])
		}
		if short := strings.Replace(text, `"name": "e"`, "", 1); f.JSONArguments() && short != text {
			if _, ok := accepts(compiled, nil, short); ok {
				t.Errorf("%s: accepted %q", f.Name, short)
			}
		}
	}
	f := Lookup("minimax-m3")
	g, err := f.Grammar(tools, Choice{Mode: Required})
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := g.Compile(vocab, nil)
	if err != nil {
		t.Fatal(err)
	}
	const mark = "]<]minimax[>["
	tree := strings.NewReplacer("<", mark+"<").Replace("<tree><name>a</name><kids><item><name>b</name><n3><name>c</name><n7>null</n7></n3></item></kids></tree><extra><k>1</k></extra>")
	text := mark + "<tool_call>\n" + mark + `<invoke name="act">` + tree + mark + "</invoke>\n" + mark + "</tool_call>"
	if at, ok := accepts(compiled, nil, text); !ok {
		t.Errorf("not accepted at %d: %q ^ %q", at, text[:at], text[at:])
	}
	reply := collect(f.NewParser(tools, ParserOptions{}), text, 5)
	want := `{"tree": {"name": "a", "kids": [{"name": "b", "n3": {"name": "c", "n7": null}}]}, "extra": {"k": 1}}`
	if len(reply.Calls) != 1 || string(reply.Calls[0].Args) != want {
		t.Errorf("read as %+v", reply)
	}
}
