package argcheck

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// toolSchemas are the arguments of tools as agents have them, and of other people's servers.
var toolSchemas = map[string]string{
	"read":   `{"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer"},"limit":{"type":"integer"}},"required":["path"],"additionalProperties":false}`,
	"edit":   `{"type":"object","properties":{"path":{"type":"string"},"old":{"type":"string"},"new":{"type":"string"},"all":{"type":"boolean"},"count":{"type":"integer"}},"required":["path","old","new"],"additionalProperties":false}`,
	"edits":  `{"type":"object","properties":{"path":{"type":"string"},"edits":{"type":"array","items":{"type":"object","properties":{"old":{"type":"string"},"new":{"type":"string"},"all":{"type":"boolean"},"line":{"type":"integer"}},"required":["old","new"],"additionalProperties":false}},"dry_run":{"type":"boolean"}},"required":["path","edits"],"additionalProperties":false}`,
	"shell":  `{"type":"object","properties":{"command":{"type":"string"},"timeout":{"type":"number"},"background":{"type":"boolean"},"env":{"type":"object","additionalProperties":{"type":"string"}}},"required":["command"],"additionalProperties":false}`,
	"search": `{"type":"object","properties":{"query":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}},"filters":{"type":"object","properties":{"language":{"type":"string"},"max_results":{"type":"integer"},"exact":{"type":"boolean"}}},"ids":{"type":"array","items":{"type":"integer"}}},"required":["query"]}`,
	"ticket": `{"type":"object","properties":{"title":{"type":"string"},"priority":{"type":"string","enum":["low","medium","high"]},"points":{"type":"number"},"assignee":{"type":["string","null"]},"labels":{"type":"array","items":{"type":"string"}},"estimate":{"type":"integer"},"private":{"type":"boolean"}},"required":["title","priority"]}`,
	"http":   `{"type":"object","properties":{"method":{"type":"string","enum":["GET","POST","PUT"]},"url":{"type":"string"},"headers":{"type":"object","additionalProperties":{"type":"string"}},"body":{"type":"object"},"retries":{"type":"integer"},"follow":{"type":"boolean"}},"required":["method","url"],"additionalProperties":false}`,
}

var (
	codes = []string{
		"func main() {\n\tfmt.Println(\"hi, you\")\n}\n", "if err != nil {\n\treturn fmt.Errorf(\"open %q: %w\", name, err)\n}",
		"const x = a[0] ? 'yes' : \"no\";", "print(f\"{name}: {value:>10}\")", "x := map[string]int{\"a\": 1, \"b\": 2}", "<a href=\"/x\" class='y'>text</a>",
		"def f(self):\n    '''Doc.'''\n    return self.x\n", "SELECT * FROM t WHERE a = 'b' AND c <> 4;", "total += price * qty  # sum", "return nil // done",
	}
	sentences  = []string{"Fix the login page", "It doesn't work on Tuesdays", "rename, then move it", "größer als 日本", "see https://example.com/a?b=c&d=1", "All good: nothing to do", "a b c", "step 2 of 3"}
	paths      = []string{"cmd/main.go", "src/app/index.tsx", "docs/über.md", "README.md", "a b/c.txt", "internal/x_test.go"}
	commands   = []string{`grep -rn "foo" --include='*.go' .`, "go test ./... -run TestX", `echo "a" && ls -la | head -5`, "find . -name '*.py' -delete", `git commit -m "fix: it"`, "awk '{print $1}' f.txt"}
	regexps    = []string{`^\s*func \w+\(`, `\d+\.\d+`, `[A-Z]\w*\s=`, `C:\dir\sub`}
	words      = []string{"urgent", "backend", "ui", "good-first-issue", "v2", "needs review"}
	languages  = []string{"go", "python", "typescript"}
	priorities = []string{"low", "medium", "high"}
)

// member is one key of an object, in order.
type docMember struct {
	key   string
	value any
}

// object is an object with its members in order.
type docObject []docMember

// maker makes documents and damage from one source of chance.
type maker struct{ *rand.Rand }

func pick[T any](m maker, xs []T) T { return xs[m.IntN(len(xs))] }

func (m maker) chance(n int) bool { return m.IntN(n) == 0 }

func (m maker) items(xs []string) []any {
	var out []any
	for _, i := range m.Perm(len(xs))[:2+m.IntN(2)] {
		out = append(out, xs[i])
	}
	return out
}

// doc makes arguments for one of the tools.
func (m maker) doc() (tool string, args docObject) {
	number := func() int { return pick(m, []int{0, 3, 10, 42, 120, 1500, 82461110, -7}) }
	switch tool = pick(m, []string{"read", "edit", "edits", "shell", "search", "ticket", "http"}); tool {
	case "read":
		args = docObject{{"path", pick(m, paths)}, {"offset", number()}, {"limit", number()}}
	case "edit":
		args = docObject{{"path", pick(m, paths)}, {"old", pick(m, codes)}, {"new", pick(m, codes)}, {"all", m.chance(2)}, {"count", number()}}
	case "edits":
		var list []any
		for range 1 + m.IntN(3) {
			list = append(list, docObject{{"old", pick(m, codes)}, {"new", pick(m, codes)}, {"all", m.chance(2)}, {"line", number()}})
		}
		args = docObject{{"path", pick(m, paths)}, {"edits", list}, {"dry_run", m.chance(2)}}
	case "shell":
		args = docObject{{"command", pick(m, commands)}, {"timeout", pick(m, []any{30, 2.5, 0.25, 1500})}, {"background", m.chance(2)}, {"env", docObject{{"HOME", "/root"}, {"CI", "1"}}}}
	case "search":
		args = docObject{{"query", pick(m, append(sentences, regexps...))}, {"tags", m.items(words)}, {"filters", docObject{{"language", pick(m, languages)}, {"max_results", number()}, {"exact", m.chance(2)}}}, {"ids", []any{number(), number(), number()}}}
	case "ticket":
		args = docObject{{"title", pick(m, sentences)}, {"priority", pick(m, priorities)}, {"points", pick(m, []any{1, 2.5, 0.5, 13})}, {"assignee", pick(m, []any{nil, "ann", "O'Brien"})}, {"labels", m.items(words)}, {"estimate", number()}, {"private", m.chance(2)}}
	case "http":
		args = docObject{{"method", pick(m, []string{"GET", "POST"})}, {"url", "https://example.com/v1/items?id=3"}, {"headers", docObject{{"Content-Type", "application/json"}, {"X-Trace-Id", "a1"}}}, {"body", docObject{{"name", pick(m, sentences)}, {"size", number()}, {"list", []any{1, "two", true, nil}}}}, {"retries", number()}, {"follow", m.chance(2)}}
	}
	return tool, args
}

// token is one token of JSON: '{', '}', '[', ']', ':', ',', a 'k'ey, a 's'tring, a 'n'umber or a
// 'l'iteral.
type token struct {
	kind byte
	text string // as it is written
	raw  string // content of a key or string
}

func tokens(v any, out []token) []token {
	switch v := v.(type) {
	case docObject:
		out = append(out, token{kind: '{', text: "{"})
		for i, x := range v {
			if i > 0 {
				out = append(out, token{kind: ',', text: ","})
			}
			out = append(out, token{'k', quoted(x.key), x.key}, token{kind: ':', text: ":"})
			out = tokens(x.value, out)
		}
		return append(out, token{kind: '}', text: "}"})
	case []any:
		out = append(out, token{kind: '[', text: "["})
		for i, x := range v {
			if i > 0 {
				out = append(out, token{kind: ',', text: ","})
			}
			out = tokens(x, out)
		}
		return append(out, token{kind: ']', text: "]"})
	case string:
		return append(out, token{'s', quoted(v), v})
	case int, float64:
		return append(out, token{'n', fmt.Sprint(v), ""})
	case nil:
		return append(out, token{'l', "null", ""})
	}
	return append(out, token{'l', fmt.Sprint(v), ""})
}

// quoted is s as a JSON string, without the escapes for HTML.
func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// render writes tokens compactly, with blanks, or on several lines.
func (m maker) render(ts []token) string {
	var b strings.Builder
	style, depth := m.IntN(3), 0
	line := func() {
		if style == 2 {
			b.WriteString("\n" + strings.Repeat("  ", max(0, depth)))
		}
	}
	for i, t := range ts {
		switch {
		case t.kind == '}' || t.kind == ']':
			depth--
			line()
		case style == 1 && i > 0 && ts[i-1].kind == ',':
			b.WriteByte(' ')
		}
		b.WriteString(t.text)
		switch t.kind {
		case '{', '[':
			depth++
			line()
		case ',':
			line()
		case ':':
			if style > 0 {
				b.WriteByte(' ')
			}
		}
	}
	return b.String()
}
