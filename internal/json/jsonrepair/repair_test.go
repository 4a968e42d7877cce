package jsonrepair

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRepair(t *testing.T) {
	tests := []struct {
		name, in, want string
		risk           Risk
	}{
		{"valid stays as it is", ` {"a" : 1e5} `, ` {"a" : 1e5} `, None},
		{"trailing comma", `{"a":[1,2,],}`, `{"a":[1,2]}`, Low},
		{"single quotes", `{'a':'it\'s "so"'}`, `{"a":"it's \"so\""}`, Low},
		{"apostrophe", `{'a':'don't'}`, `{"a":"don't"}`, High},
		{"python", `{'a': True, 'b': None, 'c': (1, 2), 'd': u'x'}`, `{"a":true,"b":null,"c":[1,2],"d":"x"}`, Low},
		{"triple quotes", `{"a": """x "y" z
w"""}`, `{"a":"x \"y\" z\nw"}`, Low},
		{"fence", "```json\n{\"a\":1}\n```", `{"a":1}`, Low},
		{"prose and fence", "Sure:\n```json\n{\"a\":1}\n```\nDone.", `{"a":1}`, Medium},
		{"tags around", `<tool_call>{"a":1}</tool_call>`, `{"a":1}`, Medium},
		{"comments", "{\"a\":1, // one\n/* two */ \"b\":2}", `{"a":1,"b":2}`, Low},
		{"raw newline and tab", "{\"a\":\"x\n\ty\"}", `{"a":"x\n\ty"}`, Low},
		{"backslashes kept", `{"re":"\d+\.\w","p":"C:\dir\x"}`, `{"re":"\\d+\\.\\w","p":"C:\\dir\\x"}`, Low},
		{"not a unicode escape", `{"p":"C:\users"}`, `{"p":"C:\\users"}`, Low},
		{"inner quotes", `{"a":"say "hi" now","b":1}`, `{"a":"say \"hi\" now","b":1}`, High},
		{"command", `{"command": "grep "foo bar" x.txt", "timeout": 5}`, `{"command":"grep \"foo bar\" x.txt","timeout":5}`, High},
		{"list in a command", `{"command": "echo "a", "b"", "n": 5}`, `{"command":"echo \"a\", \"b\"","n":5}`, High},
		{"JSON in a string", `{"content":"{"a": "b", "c": ["d"]}","path":"x"}`, `{"content":"{\"a\": \"b\", \"c\": [\"d\"]}","path":"x"}`, High},
		{"missing end quote", `{"city": "New York, "sex": "m"}`, `{"city":"New York","sex":"m"}`, High},
		{"missing start quote", `{"a": foo", "b": 1}`, `{"a":"foo","b":1}`, High},
		{"missing comma", "{\"a\":1\n\"b\":2}", `{"a":1,"b":2}`, Medium},
		{"missing colon", `{"a" "b"}`, `{"a":"b"}`, Medium},
		{"missing bracket inside", `{"a":[1,2}`, `{"a":[1,2]}`, Medium},
		{"extra bracket", `{"a":1}}`, `{"a":1}`, Medium},
		{"doubled quotes", `{""a"":""b""}`, `{"a":"b"}`, Medium},
		{"escaped once too often", `{\"a\": \"x \\\"y\\\"\"}`, `{"a": "x \"y\""}`, Medium},
		{"smart quotes", `{“a”: “b”}`, `{"a":"b"}`, Low},
		{"bare words", `{a: some text, b: 2}`, `{"a":"some text","b":2}`, Medium},
		{"numbers", `{"a": .5, "b": +1, "c": 2.}`, `{"a":0.5,"b":1,"c":2.0}`, Low},
		{"not numbers", `{"a": 007, "b": 1/3, "c": 1.2.3}`, `{"a":"007","b":"1/3","c":"1.2.3"}`, Medium},
		{"comment behind a value", `{"s":2/*c*/,"t":true//d
}`, `{"s":2,"t":true}`, Low},
		{"number forms", `{"a": 82_461_110, "b": 0x1F, "c": 0b101}`, `{"a":82461110,"b":31,"c":5}`, Low},
		{"missing comma in a list", `["a" 2 true {"b":1}]`, `["a",2,true,{"b":1}]`, Medium},
		{"missing comma, no blank", `{"a":"x""b":1"c":2}`, `{"a":"x","b":1,"c":2}`, Medium},
		{"number keys", `{1:"a", 2:"b"}`, `{"1":"a","2":"b"}`, Low},
		{"line break in a key", "{\"a\n\":1,\"b\nc\":2}", `{"a":1,"b\nc":2}`, Low},
		{"fence inside braces", "{```json\n{\"a\":1}\n```}", `{"a":1}`, Medium},
		{"fenced value", "{\"a\":```json\n[1]\n```}", `{"a":[1]}`, Low},
		{"key without its end quote", `{"a": 1, "b: 2, "c": "x"}`, `{"a":1,"b":2,"c":"x"}`, High},
		{"key with a quote too many", `{"a"":1}`, `{"a":1}`, Medium},
		{"equals signs and arrows", `{"a" = 1, b => "x"}`, `{"a":1,"b":"x"}`, Low},
		{"semicolons", `{"a":1; "b":["x"; 2];}`, `{"a":1,"b":["x",2]}`, Low},
		{"list that ends before a key", `{"a":[1,2,"b":3}`, `{"a":[1,2],"b":3}`, Medium},
		{"wrong bracket", `{"a":{"b":[1,2}},"c":3}`, `{"a":{"b":[1,2]},"c":3}`, Medium},
		{"full-width marks", `{"a"："x"，"b"：1}`, `{"a":"x","b":1}`, Low},
		{"HTML entities", `{&quot;a&quot;:&quot;x &lt; y&quot;}`, `{"a":"x < y"}`, Medium},
		{"single quotes around all", `'{"a":"it\'s \"so\""}'`, `{"a":"it's \"so\""}`, Low},
		{"ellipsis in one character", `["a", …]`, `["a"]`, High},
		{"invalid UTF-8", "{'a':'\xff'}", `{"a":"` + "\ufffd" + `"}`, Low},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, err := Repair([]byte(tt.in))
			if tt.want == "" {
				if err == nil {
					t.Fatalf("mended to %s", res.JSON)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(res.JSON)); diff != "" {
				t.Error(diff)
			}
			if res.Risk != tt.risk || (len(res.Notes) == 0) != (tt.risk == None) {
				t.Errorf("risk %v, want %v; notes %q", res.Risk, tt.risk, res.Notes)
			}
		})
	}
}

// Evidence: tools · Arguments that are cut off or ambiguous are refused
func TestRefused(t *testing.T) {
	tests := []struct {
		name, in string
		kind     Kind
	}{
		{"cut in a string", `{"path":"a","content":"int main() { return 0; }`, Truncated},
		{"cut after a closed string", `{"path":"a"`, Truncated},
		{"cut in a list", `{"a":[1,2`, Truncated},
		{"cut in a key", `{"pa`, Truncated},
		{"cut after a colon", `{"a":`, Truncated},
		{"cut number", `{"a":12`, Truncated},
		{"cut literal", `tru`, Truncated},
		{"cut text with inner quotes", `{"content":"print("hi")`, Truncated},
		{"cut right after an inner quote", `{"content":"say "hi"}`, Ambiguous},
		{"cut in prose", `Here: {"key": "value`, Truncated},
		{"no value", `{"a": , "b": 1}`, Ambiguous},
		{"no value at the end", `{"a":}`, Ambiguous},
		{"a set", `{"a", "b"}`, Ambiguous},
		{"a key in a list", `["a":1]`, Ambiguous},
		{"elided value", `{"a": ...}`, Ambiguous},
		{"two objects", `{"a":1}{"a":2}`, Ambiguous},
		{"two objects with prose", `First {"a":1} then {"a":2}`, Ambiguous},
		{"members after the end", `{"a":1}, "b":2}`, Ambiguous},
		{"joined strings", `{"a":"x" + "y"}`, Ambiguous},
		{"quotes in a list", `["a", "b "c", "d"]`, Ambiguous},
		{"quote missing or inner", `{"a": "say "hi" now, "b": "c"}`, Ambiguous},
		{"number without its exponent", `{"s":1e }`, Ambiguous},
		{"number with a mark", `{"s":7|}`, Ambiguous},
		{"text that may be two members", `{a: x b: 1}`, Ambiguous},
		{"comment inside text", `{a: foo/*c*/}`, Ambiguous},
		{"brackets behind the end", `{"a":[1}2,3]}`, Ambiguous},
		{"member without quotes behind the end", `{"a":1}, b: 2}`, Ambiguous},
		{"doubled quote", `{"a":"x"","b":1}`, Ambiguous},
		{"marks between strings", `["a"|"b","c"]`, Ambiguous},
		{"key and value without a colon", `{"a" x}`, Ambiguous},
		{"nothing", `   `, Malformed},
		{"deep", strings.Repeat("[", 1000) + "," + strings.Repeat("]", 1000), TooDeep},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, err := Repair([]byte(tt.in))
			re, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("mended to %s (%v)", res.JSON, res.Notes)
			}
			if re.Kind != tt.kind {
				t.Errorf("kind %d, want %d: %v", re.Kind, tt.kind, err)
			}
		})
	}
}

// docs are arguments as agents send them; the tests below break them in known ways.
var docs = []map[string]any{
	{"path": "cmd/main.go", "content": "package main\n\nfunc main() {\n\tprintln(\"hi, \\\"you\\\"\") // {x}\n}\n"},
	{"command": `grep -rn "foo, bar" --include='*.go' . | awk '{print $1}'`, "timeout": 30.0, "background": false},
	{"edits": []any{map[string]any{"old": "a: [1, 2]", "new": "a: {\"b\": [1]}", "all": true}, map[string]any{"old": "x'y", "new": ""}}, "path": "ü/日本.txt"},
	{"query": "SELECT * FROM t WHERE a = 'b' -- c", "limit": nil, "tags": []any{"x", "y z"}},
	{"todos": []any{map[string]any{"text": "write \\d+ tests", "status": "done"}}},
	{"pattern": `^\s*"key":\s*\{[^}]*\}`, "glob": "**/*.{ts,tsx}"},
}

// TestEveryPrefixIsRefused cuts valid and malformed spellings of every document at every byte.
func TestEveryPrefixIsRefused(t *testing.T) {
	for _, doc := range docs {
		text, _ := json.Marshal(doc)
		spellings := map[string]string{
			"sound":        string(text),
			"fenced":       "```json\n" + string(text),
			"prose":        "I will call it now: " + string(text),
			"raw newlines": strings.ReplaceAll(string(text), `\n`, "\n"),
			"bare keys":    strings.NewReplacer(`"path":`, `path:`, `"old":`, `old:`, `"command":`, `command:`).Replace(string(text)),
			"inner quotes": strings.ReplaceAll(string(text), `\"`, `"`),
		}
		for name, s := range spellings {
			start := strings.IndexByte(s, '{') + 1
			for i := start; i < len(s); i++ {
				res, err := Repair([]byte(s[:i]))
				if err != nil {
					continue
				}
				t.Errorf("%s: cut at %d of %d was mended: %q to %s", name, i, len(s), s[:i], res.JSON)
			}
		}
	}
}

// TestMutationsAreRightOrRefused breaks documents in ways whose correct repair is known.
func TestMutationsAreRightOrRefused(t *testing.T) {
	mutations := map[string]func(string) string{
		"trailing comma": func(s string) string { return s[:len(s)-1] + ",}" },
		"fence":          func(s string) string { return "```json\n" + s + "\n```" },
		"prose":          func(s string) string { return "Here you go:\n" + s + "\nDone!" },
		"raw newlines":   func(s string) string { return strings.ReplaceAll(s, `\n`, "\n") },
		"raw tabs":       func(s string) string { return strings.ReplaceAll(s, `\t`, "\t") },
		"literals": func(s string) string {
			return strings.NewReplacer(":true", ":True", ":false", ":False", ":null", ":None").Replace(s)
		},
		"extra bracket": func(s string) string { return s + "}" },
		"comment":       func(s string) string { return "/* call */ " + s + " // end" },
		"over-escaped":  func(s string) string { q, _ := json.Marshal(s); return string(q[1 : len(q)-1]) },
		"unescaped":     func(s string) string { return strings.ReplaceAll(s, `\"`, `"`) },
		"missing comma": func(s string) string { return strings.Replace(s, `,"`, "\n\"", 1) },
	}
	right, refused := map[string]int{}, map[string]int{}
	for _, doc := range docs {
		text, _ := json.Marshal(doc)
		for name, mutate := range mutations {
			broken := mutate(string(text))
			res, err := Repair([]byte(broken))
			if err != nil {
				refused[name]++
				continue
			}
			var got any
			if err := json.Unmarshal(res.JSON, &got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, any(doc)) {
				t.Errorf("%s: wrong:\n in  %s\n got %s\nwant %s\n%v", name, broken, res.JSON, text, res.Notes)
			}
			right[name]++
		}
	}
	t.Logf("right %v, refused %v", right, refused)
	for name := range mutations {
		if name != "unescaped" && refused[name] > 0 {
			t.Errorf("%s: %d refused", name, refused[name])
		}
	}
}

// hostile are inputs of about n bytes that make naive look-ahead quadratic.
func hostile(n int) map[string]string {
	return map[string]string{
		"quotes":         `{"a":"` + strings.Repeat(`" `, n),
		"quote commas":   `{"a":"` + strings.Repeat(`", `, n),
		"quote keys":     `{"a":"` + strings.Repeat(`x "k": `, n/2),
		"open comments":  `{"a":"` + strings.Repeat(`" /* `, n/2),
		"line comments":  `{"a":"` + strings.Repeat(`" // `, n/2),
		"bare comments":  `{"a": b` + strings.Repeat(` /* `, n),
		"slashes":        `[` + strings.Repeat(`/a,`, n),
		"closers":        `[` + strings.Repeat(`}`, n),
		"commas":         `[` + strings.Repeat(`,`, 4*n),
		"tuples":         strings.Repeat(`(`, 500) + strings.Repeat(`1,`, n) + strings.Repeat(`)`, 500),
		"strings":        `[` + strings.Repeat(`'a' 'b" `, n/2),
		"words":          `{` + strings.Repeat(`a `, n),
		"backslashes":    `{"a":"` + strings.Repeat(`\`, 4*n),
		"blanks":         `{"a":"x"` + strings.Repeat(" ", 4*n),
		"calls":          strings.Repeat(`f(`, 500) + strings.Repeat(`a`, n),
		"smart":          `{"a":` + strings.Repeat(`“a” `, n/2),
		"triple":         `[` + strings.Repeat(`""" `, n/2),
		"open keys":      `{` + strings.Repeat(`"a: 1, `, n/2),
		"bare members":   `{"a": b` + strings.Repeat(` c: d`, n/2),
		"hashes":         `{"a":1` + strings.Repeat(` #`, n) + "\n" + strings.Repeat(`#x`, n),
		"hash lines":     `{"a":"x"` + strings.Repeat(", #\n", n/2),
		"number comment": `[` + strings.Repeat(`1/*c*/ `, n/2),
		"open numbers":   `[` + strings.Repeat(`1 /* `, n/2),
		"number blanks":  `[` + strings.Repeat("1"+strings.Repeat(" ", 200), n/64),
		"wrong closers":  strings.Repeat(`{"a":[`, 200) + strings.Repeat(`1},`, n),
		"equals":         `{` + strings.Repeat(`a = "b" c = `, n/4),
		"half keys":      `{"a":1` + strings.Repeat(`,b":1`, n/2),
		"keys in a list": `{"a":[1` + strings.Repeat(` "b":[1`, 200),
		"unended single": `[` + strings.Repeat(`{'a':'x' y},`, n/8),
	}
}

// TestHostile checks that the time for a repair is linear in the input. Each input has 4 MB, which
// would take hours if the time were quadratic.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for name, in := range hostile(1 << 18) {
		if res, err := Repair([]byte(in)); err == nil && !json.Valid(res.JSON) {
			t.Errorf("%s: not JSON", name)
		}
	}
}

// BenchmarkHostile shows that the work is linear: each kind of input has the same speed at every
// length.
func BenchmarkHostile(b *testing.B) {
	for _, n := range []int{1 << 14, 1 << 17} {
		for name, in := range hostile(n) {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(len(in)))
				for range b.N {
					Repair([]byte(in))
				}
			})
		}
	}
}

func FuzzRepair(f *testing.F) {
	for _, s := range []string{`{'a': True,}`, `{"a": "b "c" d"}`, "```json\n{}\n```", `{\"a\":1}`, `[1,2`, `{"a":"b","c":"d}`, `("a",)`, `f({})`, `{“a”:’b’}`, `{a:b c,d:1}`, `{"a":...}`, `""`, `{""a"":''b''}`, `/x/g`, `["a" /* b */ "c"]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		res, err := Repair([]byte(s))
		if json.Valid([]byte(s)) && (err != nil || string(res.JSON) != s || res.Risk != None) {
			t.Fatalf("valid JSON was changed: %q to %q, %v", s, res.JSON, err)
		}
		if err != nil {
			return
		}
		if !json.Valid(res.JSON) {
			t.Fatalf("%q became %q, which is not JSON", s, res.JSON)
		}
		if again, err := Repair(res.JSON); err != nil || string(again.JSON) != string(res.JSON) {
			t.Fatalf("not idempotent: %q, %v", again.JSON, err)
		}
	})
}

func BenchmarkRepair(b *testing.B) {
	content, _ := json.Marshal(strings.Repeat("func main() { println(\"x\") }\n", 1000))
	for name, in := range map[string]string{
		"comma":  `{"path":"a","content":` + string(content) + `,}`,
		"python": `{'path': 'a', 'all': True, 'edits': [{'old': 'a', 'new': 'b'},]}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(in)))
			for range b.N {
				if _, err := Repair([]byte(in)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
