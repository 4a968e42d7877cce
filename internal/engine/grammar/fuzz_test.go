package grammar

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/tier"
)

// fuzzVocab has few tokens, so that a walk is fast.
var fuzzVocab = sync.OnceValue(func() *Vocab { return byteVocab(`"a"`, `": `, "true", "abc", "\n  ", "é", "12") })

// stroll reads the bytes as tokens where they are allowed and checks that the mask agrees.
func stroll(t *testing.T, g *Grammar, v *Vocab, bytes []byte) {
	s := g.Start()
	mask := make([]uint64, v.words)
	for _, b := range bytes[:min(len(bytes), 60)] {
		g.Mask(s, mask)
		forced := g.Forced(s, nil)
		f := s
		for _, id := range forced {
			var ok bool
			if f, ok = g.Next(f, id); !ok {
				t.Fatalf("forced token %d is refused", id)
			}
		}
		next, ok := g.Next(s, int32(b))
		if ok != (mask[b>>6]&(1<<(b&63)) != 0) {
			t.Fatalf("Next and Mask disagree about %q", b)
		}
		if ok {
			s = next
		}
	}
}

func FuzzCompileSchema(f *testing.F) {
	for _, s := range trickySchemas {
		f.Add([]byte(s), []byte(`{"a": [1, "x", null]}`))
	}
	f.Add([]byte(`{"$ref":"#"}`), []byte("{}"))
	f.Add([]byte(`{"type":"array","items":{"$ref":"#"},"minItems":1}`), []byte("[["))
	f.Add([]byte(`{"type":["array","object"],"items":{"$ref":"#"},"additionalProperties":{"$ref":"#"}}`), []byte(`[{"a":[`))
	f.Add([]byte(`{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}],"$defs":{"a":{"allOf":[{"if":{"$ref":"#"},"then":{"type":"array"}}]}}}`), []byte("[]"))
	f.Add([]byte(`{"$id":"http://a/b","$defs":{"x":{"$id":"c","$anchor":"d"}},"$ref":"c#d"}`), []byte("1"))
	f.Fuzz(func(t *testing.T, schema, text []byte) {
		v := fuzzVocab()
		start := time.Now()
		g, err := CompileSchema(schema, v)
		if d := time.Since(start); d > 20*time.Second {
			t.Fatalf("compiled in %v", d)
		}
		if err == nil {
			stroll(t, g, v, text)
		}
	})
}

func FuzzCompileText(f *testing.F) {
	f.Add(`root ::= "a" b* # c`+"\n"+`b ::= [a-z]{1,3} | "x"?`, []byte("abcx"))
	f.Add(`root ::= %until "</x>" | %json {"type":"integer"} | /a+b/ | <[3]>`, []byte("1<<</x>"))
	f.Add(`root ::= root "a" | "b"`, []byte("b"))
	f.Add(`root ::= (("a"?)*)*`, []byte("aaa"))
	f.Add("root ::= a a\na ::= b b\nb ::= c c\nc ::= root? | \"x\"?", []byte("xx"))
	f.Add("root ::= a | a\na ::= b | b\nb ::= \"(\" root \")\" | \"x\"", []byte("((x))"))
	f.Fuzz(func(t *testing.T, src string, text []byte) {
		v := fuzzVocab()
		g, err := CompileText(src, v)
		if err == nil {
			stroll(t, g, v, text)
		}
	})
}

func FuzzPattern(f *testing.F) {
	f.Add(`^(?!a)[^b-d]{2,5}(x|\d+)?$`, "eee9")
	f.Add(`\p{L}+\u{1F600}|[\w-]$`, "é")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		d, err := compilePattern(pattern, false)
		if err == nil && !d.empty() {
			reads(d, text)
		}
	})
}

// TestHostile compiles grammars that are meant to do harm. Compiling each must end soon, with a
// grammar or a clear error.
func TestHostile(t *testing.T) {
	tier.Normal(t)
	v := fuzzVocab()
	many := func(n int, f func(i int) string) string {
		var parts []string
		for i := range n {
			parts = append(parts, f(i))
		}
		return strings.Join(parts, ",")
	}
	nest := func(n int, open, core, end string) string {
		return strings.Repeat(open, n) + core + strings.Repeat(end, n)
	}
	for _, c := range []struct {
		name, schema, err string
	}{
		{"ref to itself", `{"$ref":"#"}`, "refers to itself"},
		{"ref round", `{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"anyOf":[{"$ref":"#/$defs/a"}]}}}`, "refers to itself"},
		{"no finite value", `{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`, "nothing can match"},
		{"no finite array", `{"type":"array","items":{"$ref":"#"},"minItems":1}`, "nothing can match"},
		{"false", `false`, "nothing can match"},
		{"contradiction", `{"type":"integer","minimum":3,"maximum":2}`, "nothing can match"},
		{"allOf doubling", `{"$ref":"#/$defs/x40","$defs":{"x0":{"anyOf":[{"required":["a"]},{"required":["b"]}]},` +
			many(40, func(i int) string {
				return fmt.Sprintf(`"x%d":{"allOf":[{"$ref":"#/$defs/x%d"},{"anyOf":[{"required":["p%d"]},{"required":["q%d"]}]}]}`, i+1, i, i, i)
			}) + `}}`, "too many combinations"},
		{"large enum", `{"enum":[` + many(10_000, func(i int) string { return fmt.Sprintf(`"value %d"`, i*7919) }) + `]}`, ""},
		{"large enum of numbers", `{"enum":[` + many(10_000, func(i int) string { return fmt.Sprint(i * 7919) }) + `]}`, ""},
		{"large enum of objects", `{"enum":[` + many(10_000, func(i int) string { return fmt.Sprintf(`{"a":%d}`, i) }) + `]}`, "too many combinations"},
		{"many properties", `{"type":"object","properties":{` + many(5_000, func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) + `}}`, ""},
		{"deep schema", nest(3000, `{"items":`, `{}`, `}`), "nested too deeply"},
		{"deep const", `{"const":` + nest(3000, `[`, `1`, `]`) + `}`, "nested too deeply"},
		{"huge maxItems", `{"type":"array","items":{"type":"integer"},"minItems":100000,"maxItems":1000000000}`, ""},
		{"huge maxLength", `{"type":"string","minLength":1000000,"maxLength":1e15}`, ""},
		{"huge pattern count", `{"type":"string","pattern":"^a{1,100000}$"}`, "repetition of more than"},
		{"large pattern count", `{"type":"string","pattern":"^([ab]*a[ab]{1,900}){3}$"}`, "too large"},
		{"exponential pattern", `{"type":"string","pattern":"^[ab]*a[ab]{40}$"}`, "too large"},
		{"nested counts", `{"type":"string","pattern":"^(((a{1,99}){1,99}){1,99}){1,99}$"}`, "too large"},
		{"huge number", `{"type":"number","minimum":1e999999999}`, "too many digits"},
		{"huge multiple", `{"type":"integer","multipleOf":123456789}`, "multipleOf"},
		{"overlapping oneOf", `{"oneOf":[` + many(40, func(i int) string {
			return fmt.Sprintf(`{"properties":{"a%d":{"type":"string"},"b%d":{"minimum":%d}}}`, i, i, i)
		}) + `]}`, "too many"},
		{"remote", `{"$ref":"https://example.org/x.json"}`, "outside the document"},
		{"dangling", `{"$ref":"#/$defs/nope"}`, "leads nowhere"},
		{"not JSON", `{`, "not JSON"},
		{"unknown type", `{"type":"strin"}`, "unknown type"},
	} {
		start := time.Now()
		g, err := CompileSchema(json.RawMessage(c.schema), v)
		took := time.Since(start)
		if took > 10*time.Second {
			t.Errorf("%s: took %v", c.name, took)
		}
		switch {
		case err == nil && c.err != "":
			t.Errorf("%s: compiled", c.name)
		case err != nil && (c.err == "" || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: %v", c.name, err)
		case err == nil:
			stroll(t, g, v, []byte(`{"p1": [1, "value 7919"]}`))
		}
		t.Logf("%s: %v", c.name, took)
	}
}

// TestUnsupported checks that a keyword that is not enforced is reported with its path.
//
// Evidence: engine · What a grammar cannot enforce is named
func TestUnsupported(t *testing.T) {
	for _, c := range []struct{ schema, keyword, path string }{
		{`{"properties":{"a/b":{"items":{"type":"array","items":{"type":"string"},"uniqueItems":true}}}}`, "uniqueItems", "/properties/a~1b/items"},
		{`{"properties":{"a":{"pattern":"\\bx"}}}`, "pattern", "/properties/a"},
		{`{"properties":{"a":{"pattern":"(a)\\1"}}}`, "pattern", "/properties/a"},
		{`{"items":{"patternProperties":{"(?<=a)b":{}}}}`, "patternProperties", "/items"},
		{`{"allOf":[{"$dynamicRef":"#x"}]}`, "$dynamicRef", "/allOf/0"},
		{`{"properties":{"m":{"minProperties":2}}}`, "minProperties", "/properties/m"},
		{`{"allOf":[{"unevaluatedProperties":false,"$ref":"#/$defs/x"}],"$defs":{"x":{"type":"object"}}}`, "unevaluatedProperties", "/allOf/0"},
		{`{"$defs":{"u":{"contains":{"type":"integer"},"prefixItems":[{}]}},"items":{"$ref":"#/$defs/u"}}`, "contains", "/$defs/u"},
	} {
		_, err := CompileSchema(json.RawMessage(c.schema), fuzzVocab())
		var u *UnsupportedError
		if !errors.As(err, &u) {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		if u.Keyword != c.keyword || u.Path != c.path {
			t.Errorf("%s: got %q at %q, want %q at %q", c.schema, u.Keyword, u.Path, c.keyword, c.path)
		}
	}
}
