package argcheck

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const editSchema = `{"type":"object","properties":{
 "path":{"type":"string","minLength":1},
 "limit":{"type":"integer","minimum":1,"maximum":100,"default":10},
 "ratio":{"type":"number"},
 "all":{"type":"boolean"},
 "mode":{"type":"string","enum":["fast","very-slow"]},
 "tags":{"type":"array","items":{"type":"string"}},
 "edits":{"type":"array","items":{"type":"object","properties":{"old_text":{"type":"string"},"line":{"type":["integer","null"]}},"required":["old_text"],"additionalProperties":false}},
 "env":{"type":"object","additionalProperties":{"type":"string"}},
 "when":{"type":"string","format":"date-time"},
 "target":{"anyOf":[{"type":"array","items":{"type":"integer"}},{"type":"null"}]}
},"required":["path"],"additionalProperties":false}`

// Evidence: tools · Malformed arguments are repaired
func TestMend(t *testing.T) {
	c, err := Compile(json.RawMessage(editSchema), Config{})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, in, want, notes string }{
		{"right", `{ "path" : "a", "limit": 5 }`, `{ "path" : "a", "limit": 5 }`, ""},
		{"syntax", `{'path': 'a',}`, `{"path":"a"}`, "removed a comma after the last element|wrote strings in double quotes"},
		{"number as text", `{"path":"a","limit":"5","ratio":"1.5"}`, `{"path":"a","limit":5,"ratio":1.5}`, "limit: read the text as a number|ratio: read the text as a number"},
		{"text as number", `{"path":7}`, `{"path":"7"}`, "path: wrote the number as text"},
		{"boolean as text", `{"path":"a","all":"True"}`, `{"path":"a","all":true}`, "all: read the text as a boolean"},
		{"list as text", `{"path":"a","tags":"[\"x\",\"y\"]"}`, `{"path":"a","tags":["x","y"]}`, "tags: read the text as an array"},
		{"objects as text, faults inside", `{"path":"a","edits":"[{'oldText': 1, 'line': '3'}]"}`, `{"path":"a","edits":[{"old_text":"1","line":3}]}`,
			`edits: read the text as an array|edits[0].old_text: was named "oldText"|edits[0].line: read the text as a number|edits[0].old_text: wrote the number as text`},
		{"arguments as text", `"{\"path\":\"a\"}"`, `{"path":"a"}`, "read the text as an object"},
		{"one for a list", `{"path":"a","tags":"x.go"}`, `{"path":"a","tags":["x.go"]}`, "tags: put the single value into a list"},
		{"one object for a list", `{"path":"a","edits":{"old_text":"x"}}`, `{"path":"a","edits":[{"old_text":"x"}]}`, "edits: put the single value into a list"},
		{"null for optional", `{"path":"a","limit":null}`, `{"path":"a"}`, "limit: took null as not given"},
		{"key case", `{"Path":"a","OLD":1}`, `{"path":"a"}`, `ignored the unknown argument "OLD"|path: was named "Path"`},
		{"enum spelling", `{"path":"a","mode":"VERY_SLOW"}`, `{"path":"a","mode":"very-slow"}`, `mode: took "VERY_SLOW" as "very-slow"`},
		{"union", `{"path":"a","target":"[1]"}`, `{"path":"a","target":[1]}`, "target: read the text as an array"},
		{"same key twice", `{"path":"a","PATH":"a"}`, `{"path":"a"}`, ""},
		{"big numbers stay exact", `{'path':"a","ratio":12345678901234567890.5}`, `{"path":"a","ratio":12345678901234567890.5}`, "wrote strings in double quotes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, notes, err := c.Repair(json.RawMessage(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(out)); diff != "" {
				t.Error(diff)
			}
			if got := strings.Join(notes, "|"); got != tt.notes && tt.name != "same key twice" {
				t.Errorf("notes %q, want %q", got, tt.notes)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	c, err := Compile(json.RawMessage(editSchema), Config{Examples: []json.RawMessage{json.RawMessage(`{"path":"main.go","limit":5}`)}})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, in, want string }{
		{"everything at once", `{"limit":500,"mode":"quick","tags":"a b","edits":[{"line":"x"}],"when":"soon"}`,
			`path: missing (string); limit: want at most 100, got the number 500; mode: want one of "fast", "very-slow"; got the text "quick"; tags: want array, got the text "a b"; edits[0].old_text: missing (string); edits[0].line: want null or integer, got the text "x"; when: the text "soon" is not a valid date-time`},
		{"a typing error", `{"pth":"a"}`, `path: missing (string); pth: unknown argument; did you mean "path"?`},
		{"empty", `{"path":""}`, `path: want at least 1 character, got 0`},
		{"number with separators", `{"path":"a","limit":"1,000"}`, `limit: want integer, got the text "1,000"`},
		{"two spellings", `{"path":"a","PATH":"b"}`, `PATH: unknown argument; did you mean "path"?`},
		{"null for a required one", `{"path":null}`, `path: missing (string)`},
		{"null in a map is data", `{"path":"a","env":{"A":null}}`, `env.A: want string, got null`},
		{"a list of lists", `{"path":"a","tags":[["x"]]}`, `tags[0]: want string, got an array`},
		{"a huge exponent", `{"path":"a","ratio":1e999999999}`, `a number's exponent is too large`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, _, err := c.Repair(json.RawMessage(tt.in))
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("mended to %s", out)
			}
			got := strings.Split(strings.Join(e.Faults, "; "), "; ")
			want := strings.Split(tt.want, "; ")
			less := func(xs []string) map[string]bool {
				m := map[string]bool{}
				for _, x := range xs {
					m[x] = true
				}
				return m
			}
			if diff := cmp.Diff(less(want), less(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			for _, part := range []string{"Arguments: {path: string, limit?: integer", `Example: {"path":"main.go","limit":5}`} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q lacks %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	c, err := Compile(json.RawMessage(editSchema), Config{MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = c.Repair(json.RawMessage(`{"path":"` + strings.Repeat("x", 50<<20) + `"}`))
	if err == nil || !strings.Contains(err.Error(), "52428811 bytes long, and at most 1048576") || len(err.Error()) > 500 {
		t.Errorf("50 MB: %.300v", err)
	}
	wrong := `{"path":"a","tags":[` + strings.Repeat("1,", 20000) + `1]}`
	if _, _, err := c.Repair(json.RawMessage(wrong)); err == nil || len(err.Error()) > 2000 {
		t.Errorf("20,000 faults: %.300v", err)
	}
	if _, err := Compile(json.RawMessage(`{"$ref":"file:///etc/passwd"}`), Config{}); err == nil {
		t.Error("a reference to a file was followed")
	}
	if _, err := Compile(json.RawMessage(`{"$ref":"https://example.com/x"}`), Config{}); err == nil {
		t.Error("a reference to the network was followed")
	}
}

func TestDefaults(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"b":{"type":"integer","default":2},"a":{"type":"string","default":"x"},"o":{"type":"object","properties":{"c":{"type":"boolean","default":true}}}},"required":["a"]}`)
	plain, err := Compile(schema, Config{})
	if err != nil {
		t.Fatal(err)
	}
	filled, err := Compile(schema, Config{FillDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	out, notes, err := plain.Repair(json.RawMessage(`{"o":{}}`))
	if err != nil || string(out) != `{"o":{},"a":"x"}` || len(notes) != 1 {
		t.Errorf("only what is required: %s %v %v", out, notes, err)
	}
	out, notes, err = filled.Repair(json.RawMessage(`{"a":"y","o":{}}`))
	if err != nil || string(out) != `{"a":"y","o":{"c":true},"b":2}` || len(notes) != 0 {
		t.Errorf("all: %s %v %v", out, notes, err)
	}
}

// TestQuickAgrees compares the fast path with the validator on real schemas, for every instance and
// every mutation of it.
func TestQuickAgrees(t *testing.T) {
	schemas, accepted, valid := 0, 0, 0
	for _, f := range schemaCorpus(t) {
		c, err := Compile(f.Schema, Config{})
		if err != nil || c.quick == nil {
			continue
		}
		schemas++
		for _, x := range f.Tests {
			if x.Valid {
				valid++
			}
			if c.quick.accepts(x.Data) {
				if !x.Valid {
					t.Errorf("%s: the fast path accepts %s", f.name, x.Data)
				}
				accepted++
			}
		}
	}
	t.Logf("%d schemas with a fast path; it took %d of %d valid instances", schemas, accepted, valid)
	if accepted*2 < valid {
		t.Error("the fast path takes too few")
	}
}

func FuzzMend(f *testing.F) {
	c, err := Compile(json.RawMessage(editSchema), Config{})
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{`{"path":"a"}`, `{"Path":"a","limit":"5","tags":"x","edits":"[{}]"}`, `{"path":1,"mode":"FAST","target":"[1,2]","env":{"a":null}}`, `{'path':'a','limit':1e2}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		args := json.RawMessage(s)
		if c.quick.accepts(args) && c.Validate(args) != nil {
			t.Fatalf("the fast path accepts %s", s)
		}
		out, notes, err := c.Repair(args)
		if err != nil {
			return
		}
		if err := c.Validate(out); err != nil {
			t.Fatalf("%q became %s, which is invalid: %v", s, out, err)
		}
		if json.Valid(args) && c.Validate(args) == nil && (string(out) != s || len(notes) > 0) {
			t.Fatalf("right arguments were changed: %q to %s", s, out)
		}
		if again, notes, err := c.Repair(out); err != nil || string(again) != string(out) || len(notes) > 0 {
			t.Fatalf("not idempotent: %s, %v, %v", again, notes, err)
		}
	})
}

func BenchmarkMend(b *testing.B) {
	c, err := Compile(json.RawMessage(editSchema), Config{})
	if err != nil {
		b.Fatal(err)
	}
	content, _ := json.Marshal(strings.Repeat("line of text\n", 2000))
	for _, bb := range []struct{ name, args string }{
		{"right", `{"path":"a.go","limit":5,"edits":[{"old_text":"a","line":3}]}`},
		{"right/26KB", `{"path":` + string(content) + `}`},
		{"validator", `{"path":"a.go","when":"2026-01-01T00:00:00Z"}`},
		{"mended", `{'path':'a.go','limit':'5'}`},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if _, _, err := c.Repair(json.RawMessage(bb.args)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
