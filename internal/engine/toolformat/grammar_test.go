package toolformat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
	"github.com/luthier-dev/luthier/internal/tier"
)

// grammarTools has arguments of every kind.
var grammarTools = []Tool{
	{Name: "read_file", Description: "Reads", Parameters: json.RawMessage(`{"type":"object","properties":{
		"path":{"type":"string"},"limit":{"type":"integer"},"mode":{"enum":["text","binary"]}},
		"required":["path"],"additionalProperties":false}`)},
	{Name: "edit", Parameters: json.RawMessage(`{"type":"object","$defs":{"hunk":{"type":"object","properties":{"old":{"type":"string"},"new":{"type":"string"}},"required":["old","new"]}},"properties":{
		"hunks":{"type":"array","items":{"$ref":"#/$defs/hunk"}},"all":{"type":"boolean"},"ratio":{"type":"number"},
		"note":{"type":["string","null"]},"where":{"anyOf":[{"type":"string"},{"type":"object","properties":{"line":{"type":"integer"}},"required":["line"]}]},
		"id":{"type":"string","minLength":2},"tags":{"type":"array","items":{"type":"string"}}},
		"required":["hunks","where"],"additionalProperties":false}`)},
	{Name: "ping", Parameters: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)},
	{Name: "pick", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"},"c":{"type":"boolean"}},"required":["a","c"],"additionalProperties":false}`)},
}

// walker writes random text of a grammar.
type walker struct {
	g   *Grammar
	r   *rand.Rand
	b   strings.Builder
	bad []string // fragments from which free text is made

	never []string // texts that free text must not contain
}

func (w *walker) walk(r *Rule) {
	switch r.Kind {
	case Lit:
		w.b.WriteString(r.Text)
	case Seq:
		for _, p := range r.Parts {
			w.walk(p)
		}
	case Alt:
		w.walk(r.Parts[w.r.IntN(len(r.Parts))])
	case Repeat:
		n := r.Min + w.r.IntN(3)
		if r.Max >= 0 {
			n = r.Min + w.r.IntN(r.Max-r.Min+1)
		}
		for range n {
			w.walk(r.Parts[0])
		}
	case Set:
		n := 0
		for _, i := range w.r.Perm(len(r.Parts)) {
			if !(i < len(r.Needs) && r.Needs[i]) && w.r.IntN(2) == 0 && !(n == 0 && r.Min > 0) {
				continue
			}
			if n++; n > 1 && r.Sep != nil {
				w.walk(r.Sep)
			}
			w.walk(r.Parts[i])
		}
	case Ref:
		w.walk(w.g.Rules[r.Text])
	case Free:
		text := w.free(r.Stops)
		for utf8.RuneCountInString(text) < r.Min {
			text += "z"
		}
		for r.Max > 0 && utf8.RuneCountInString(text) > r.Max {
			_, n := utf8.DecodeLastRuneInString(text)
			text = text[:len(text)-n]
		}
		w.b.WriteString(text)
	case Regex:
		w.b.WriteString(w.regex(r.Text))
	case Schema:
		v, err := jsontree.Parse(r.Schema)
		if err != nil {
			panic(err)
		}
		w.b.Write(w.instance(v, v).JSON())
	}
}

// free returns text that contains fragments of the stops, but none of the stops themselves.
func (w *walker) free(stops []string) string {
	pieces := append([]string{"a", " ", "\n", "é", "{", "\"", "<", "1", "null", "]", "\\", "</", "word", "[x](y)"}, w.bad...)
	for _, s := range stops {
		if len(s) > 1 {
			pieces = append(pieces, s[:len(s)-1], s[1:])
		}
	}
	text := ""
	for range w.r.IntN(6) {
		next := text + pieces[w.r.IntN(len(pieces))]
		ok := true
		for _, s := range append(w.never, stops...) {
			ok = ok && !strings.Contains(next, s)
		}
		if ok {
			text = next
		}
	}
	return text
}

// regex returns text for the few patterns that grammars use.
func (w *walker) regex(p string) string {
	switch {
	case strings.HasPrefix(p, "[a-zA-Z0-9]"):
		return fmt.Sprintf("id%07d", w.r.IntN(1000000))
	case strings.HasSuffix(p, `"""`):
		return `"""it's "a" \"\"\" or ""b"""`
	case strings.HasSuffix(p, "'''"):
		return `'''it's "a" \'\'\' or ''b'''`
	case strings.HasPrefix(p, `"`):
		return `"it's \x41\"\' ] }"`
	case strings.HasSuffix(p, "'"):
		return `'it\'s "z'`
	case p == `(?:\r?\n)?[ \t]{0,40}`:
		return []string{"", " ", "\n", "\r\n\t  "}[w.r.IntN(4)]
	case strings.HasPrefix(p, "[A-Za-z_]"):
		return []string{"key", "KEY_2", "a.b-c"}[w.r.IntN(3)]
	case strings.Contains(p, `]\S*\s+`):
		return map[bool]string{true: "3 z", false: "t z"}[strings.Contains(p, "0-9")]
	case strings.Contains(p, `\{\s*[{`):
		return "{ {z}}"
	case strings.Contains(p, `\{(?:`):
		return "{z}\n z "
	case strings.Contains(p, `\[(?:`):
		return "[z](z)"
	case strings.HasPrefix(p, "[0-9]"):
		return fmt.Sprint(w.r.IntN(100))
	case strings.HasSuffix(p, "{2}"):
		return "zz"
	}
	return "z"
}

// instance returns a random value of a schema.
func (w *walker) instance(root, s *jsontree.Value) *jsontree.Value {
	s = deref(root, s)
	if e := s.Get("enum"); e != nil {
		return e.Items[w.r.IntN(len(e.Items))]
	}
	if b := branchesOf(s); b != nil {
		return w.instance(root, b[w.r.IntN(len(b))])
	}
	kind := s.Get("type")
	name := kind.Text()
	if len(kind.Items) > 0 {
		name = kind.Items[w.r.IntN(len(kind.Items))].Text()
	}
	switch name {
	case "object":
		v := jsontree.NewObject()
		for _, m := range s.Get("properties").Members {
			if isRequired(s, m.Key) || w.r.IntN(2) == 0 {
				v.Set(m.Key, w.instance(root, m.Value))
			}
		}
		return v
	case "array":
		v := jsontree.NewArray()
		for range w.r.IntN(3) {
			v.Items = append(v.Items, w.instance(root, s.Get("items")))
		}
		return v
	case "string":
		return jsontree.NewString("xy" + w.free(nil))
	case "integer":
		return jsontree.NewInt(int64(w.r.IntN(2000) - 1000))
	case "number":
		v, _ := jsontree.Parse([]byte("-2.5e3"))
		return v
	case "boolean":
		return jsontree.NewBool(w.r.IntN(2) == 0)
	}
	return jsontree.NewNull()
}

// validators compiles the schemas of tools.
func validators(t testing.TB, tools []Tool) map[string]*jsonschema.Schema {
	all := map[string]*jsonschema.Schema{}
	for _, tool := range tools {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(tool.Parameters))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("mem:///"+tool.Name, doc); err != nil {
			t.Fatal(err)
		}
		if all[tool.Name], err = c.Compile("mem:///" + tool.Name); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// checkCalls checks that all calls and their arguments are valid.
func checkCalls(t *testing.T, valid map[string]*jsonschema.Schema, calls []Call) {
	t.Helper()
	for _, c := range calls {
		if c.Problem != None {
			t.Fatalf("call %+v", c)
		}
		args, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.Args))
		if err != nil {
			t.Fatalf("arguments of %s: %s: %v", c.Name, c.Args, err)
		}
		if valid[c.Name] == nil {
			t.Fatalf("no tool %q", c.Name)
		}
		if err := valid[c.Name].Validate(args); err != nil {
			t.Fatalf("arguments of %s: %s: %v", c.Name, c.Args, err)
		}
	}
}

// TestGrammar walks the grammar of every format at random: the parser must read the text written as
// calls with valid arguments.
func TestGrammar(t *testing.T) {
	valid := validators(t, grammarTools)
	for _, f := range formats {
		for _, c := range []Choice{
			{Mode: Required}, {Mode: Required, Parallel: true}, {Mode: Required, Name: "edit"}, {Mode: Auto, Parallel: true}, {Mode: NoCalls},
		} {
			t.Run(fmt.Sprintf("%s/%+v", f.Name, c), func(t *testing.T) {
				walkChoice(t, f, c, valid)
			})
		}
	}
}

func walkChoice(t *testing.T, f *Format, c Choice, valid map[string]*jsonschema.Schema) {
	g, err := f.Grammar(grammarTools, c)
	if err != nil {
		t.Fatal(err)
	}
	w := &walker{g: g, r: rand.New(rand.NewPCG(1, 2)), bad: []string{f.Param.Close, f.section().Close, f.callWrap().Close}}
	calls := 0
	for range tier.Pick(15, 60, 60) {
		w.b.Reset()
		w.walk(g.Root)
		text := w.b.String()
		r := collect(f.NewParser(grammarTools, ParserOptions{}), text, 0)
		if pieces := collect(f.NewParser(grammarTools, ParserOptions{}), text, 1); !reflect.DeepEqual(r, pieces) {
			t.Fatalf("pieces differ for %q:\n%s", text, cmp.Diff(r, pieces))
		}
		checkCalls(t, valid, r.Calls)
		switch n := len(r.Calls); {
		case c.Mode == Required && n == 0, c.Mode == NoCalls && n > 0, !c.Parallel && n > 1:
			t.Fatalf("%d calls in %q: %+v", n, text, r)
		}
		for _, call := range r.Calls {
			if c.Name != "" && call.Name != c.Name {
				t.Fatalf("call of %s in %q", call.Name, text)
			}
		}
		calls += len(r.Calls)
		if t.Failed() {
			t.Fatalf("text %q", text)
		}
	}
	if c.Mode == Auto && calls == 0 {
		t.Error("not one call")
	}
}

// TestAnswerGrammar walks the grammar of structured answers: the content must be the JSON.
func TestAnswerGrammar(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"amount":{"type":"number"},"note":{"type":"string"}},"required":["amount","note"]}`)
	valid := validators(t, []Tool{{Name: "answer", Parameters: schema}})["answer"]
	for _, f := range formats {
		t.Run(f.Name, func(t *testing.T) {
			w := &walker{g: f.AnswerGrammar(schema, Choice{}), r: rand.New(rand.NewPCG(7, 8))}
			for range 30 {
				w.b.Reset()
				w.walk(w.g.Root)
				r := collect(f.NewParser(nil, ParserOptions{JSON: true, NoCalls: true}), w.b.String(), 3)
				doc, err := jsonschema.UnmarshalJSON(strings.NewReader(r.Content))
				if err != nil || valid.Validate(doc) != nil {
					t.Fatalf("content %q of %q: %v", r.Content, w.b.String(), err)
				}
			}
		})
	}
}

// TestWrite checks that the parser reads the same calls that a format has written.
func TestWrite(t *testing.T) {
	calls := []Call{
		{ID: "abc123def", Name: "read_file", Args: json.RawMessage(`{"path":"a/b.go","limit":3}`)},
		{ID: "abc123deg", Name: "edit", Args: json.RawMessage(`{"hunks":[{"old":"a\n\"b\"","new":"}"}],"all":true,"note":"two\nlines","where":{"line":2}}`)},
	}
	for _, f := range formats {
		t.Run(f.Name, func(t *testing.T) {
			text := f.Write(calls)
			got := collect(f.NewParser(grammarTools, ParserOptions{}), text, 0)
			if len(got.Calls) != len(calls) {
				t.Fatalf("%d calls from %q: %+v", len(got.Calls), text, got)
			}
			for i, c := range got.Calls {
				if c.Name != calls[i].Name || c.Problem != None {
					t.Errorf("call %+v", c)
				}
				if d := cmp.Diff(decode(t, calls[i].Args), decode(t, c.Args)); d != "" {
					t.Errorf("arguments from %q:\n%s", text, d)
				}
			}
		})
	}
}
