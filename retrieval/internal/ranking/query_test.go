package ranking

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/retrieval/internal/words"
)

// view returns the words that have a weight in a view, in alphabetical order; compounds are
// prefixed with +.
func view(q *Query, v View) string {
	var out []string
	for _, t := range q.Terms {
		if t.W[v] > 0 {
			out = append(out, strings.Replace(t.Text, string(rune(words.Whole)), "+", 1))
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestParseViews(t *testing.T) {
	q := Parse("Crash in parseFile\n\nThe `load_config()` call fails <!-- template\nwords --> for “quoted” files—always.\n\n```go\nx := fenced(1)\n```\nafter\n")
	for v, want := range map[View]string{
		Title:  "crash file pars",
		Words:  "after alway call config crash fail file load pars quot",
		Names:  "+loadconfig +parsefile config file load pars",
		Quoted: "1 fenc x",
	} {
		if d := cmp.Diff(want, view(q, v)); d != "" {
			t.Errorf("view %d (-want +got):\n%s", v, d)
		}
	}
	joined := view(q, Joined) // every pair of neighbouring words of prose
	if !strings.Contains(joined, "+crashin") || strings.Contains(joined, "fenced") || strings.Contains(joined, "template") {
		t.Errorf("joined: %s", joined)
	}
	if q.TitleLen != 3 || q.Len != 13 && q.Len != 14 && q.Len != 15 {
		t.Errorf("%d terms of the title, %d in all", q.TitleLen, q.Len)
	}
}

// TestParseCode checks that words in fences, in traces of any kind and in indented lines are
// quoted, and that the words around them are not.
func TestParseCode(t *testing.T) {
	for name, text := range map[string]string{
		"fence":      "```python\nhidden = 1\n```",
		"tildes":     "~~~\nhidden = 1\n~~~",
		"open fence": "shown\n\n```\nhidden = 1",
		"indented":   "    hidden = 1",
		"tab":        "\thidden = 1",
		"python":     "  File \"/a/b.py\", line 3, in hidden",
		"traceback":  "Traceback (most recent call hidden):",
		"java":       "at org.example.Foo.hidden(Foo.java:42)",
		"javascript": "at hidden (/app/lib/x.js:10:5)",
		"rust":       "   at hidden src/main.rs:4:5",
		"go":         "goroutine 1 [hidden]:",
		"address":    "#0 0x0000 in hidden ()",
		"prompt":     "$ hidden --flag",
		"python in":  ">>> hidden()",
		"jupyter":    "In [3]: hidden",
		"compiler":   "src/a.c:3:5: error: hidden",
	} {
		q := Parse("title\n\n" + text + "\n")
		if !strings.Contains(view(q, Quoted), "hidden") || strings.Contains(view(q, Words), "hidden") {
			t.Errorf("%s: quoted %q, words %q", name, view(q, Quoted), view(q, Words))
		}
		if !strings.Contains(view(q, Title), "titl") {
			t.Errorf("%s: title %q", name, view(q, Title))
		}
	}
}

func TestParseMentions(t *testing.T) {
	for text, want := range map[string]string{
		"see src/app/main.go please": "src/app/main .go",
		"see src/app/main.go:42.":    "src/app/main .go 42",
		"see main.go.":               "main .go",
		"in ./a/b.py, and":           "a/b .py",
		"x\n  File \"/usr/lib/python3/site.py\", line 12, in f": "usr/lib/python3/site .py 12 trace",
		"x\n\tat org.example.Foo.run(Foo.java:42)":              "org/example/foo/run trace | foo .java 42 trace",
		"x\n    at run (/app/lib/x.js:10:5)":                    "app/lib/x .js 10 trace",
		"x\n\t/src/pkg/a.go:42 +0x1d":                           "src/pkg/a .go 42 trace",
		"x\n   3: foo::bar\n             at ./src/main.rs:4:5":  "src/main .rs 4 trace",
		"use astropy.io.fits now":                               "astropy/io/fits",
		"C:\\Users\\me\\proj\\a.cs":                             "users/me/proj/a .cs",
		"https://github.com/o/r/blob/v1.2/src/a.go#L42-L50":     "src/a .go 42",
		"[a](https://github.com/o/r/blob/main/src/a.go)":        "src/a .go",
		"<https://github.com/o/r/raw/main/docs/b.md>":           "docs/b .md",
		"https://example.org/a/b.html is no file":               "",
		"<!-- see hidden/file.go -->visible":                    "",
		"`pkg/x.ts`":                                            "pkg/x .ts",
		"plain words only":                                      "",
		"a.go:99999999999999999999":                             "a .go 16777216",
	} {
		var got []string
		for _, m := range Parse(text).Mentions {
			s := strings.Join(m.Parts, "/")
			if m.Ext != "" {
				s += " " + m.Ext
			}
			if m.Line > 0 {
				s += fmt.Sprint(" ", m.Line)
			}
			if m.Trace {
				s += " trace"
			}
			got = append(got, s)
		}
		if d := cmp.Diff(want, strings.Join(got, " | ")); d != "" {
			t.Errorf("%q (-want +got):\n%s", text, d)
		}
	}
}

// TestParseSigns: non-ASCII signs end words, non-ASCII letters do not.
func TestParseSigns(t *testing.T) {
	if d := cmp.Diff("naïv quot side straß", view(Parse("“quotes” naïve—Side straße…"), Words)); d != "" {
		t.Error(d)
	}
}

func checkQuery(t *testing.T, q *Query) {
	t.Helper()
	seen := map[string]bool{}
	for _, term := range q.Terms {
		if term.Text == "" || seen[term.Text] {
			t.Fatalf("the term %q is empty or there twice", term.Text)
		}
		seen[term.Text] = true
		for v, w := range term.W {
			if w < 0 || w > 30 || w != w {
				t.Fatalf("the term %q weighs %v in view %d", term.Text, w, v)
			}
		}
	}
	if q.Len > len(q.Terms) || q.TitleLen > q.Len || q.Len < 0 {
		t.Fatalf("%d terms, %d of the title, %d counted", len(q.Terms), q.TitleLen, q.Len)
	}
	if len(q.Mentions) > 64 {
		t.Fatalf("%d mentions", len(q.Mentions))
	}
	for _, m := range q.Mentions {
		if len(m.Parts) == 0 || m.Line < 0 || m.Line > 1<<24 || slices.Contains(m.Parts, "") {
			t.Fatalf("the mention %+v", m)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "\n", "```", "```\na", "`", "``", "`a`b`", "<!--", "<!-- a", "-->", "\xff\xfe", "a.go:1", "https://", "https://x/blob/y/z", "a/b\\c.d", "...", "a..b", "\u2014", "File \"a\", line 1", strings.Repeat("a.b/", 200), strings.Repeat("parseFile ", 300)} {
		f.Add(s)
	}
	f.Add(longIssue)
	f.Fuzz(func(t *testing.T, text string) {
		q := Parse(text)
		checkQuery(t, q)
		if d := cmp.Diff(q.Terms, Parse(text).Terms); d != "" {
			t.Fatalf("a second reading differs:\n%s", d)
		}
	})
}

// longIssue is a typical issue about something broken.
var longIssue = "TypeError: Cannot read properties of undefined in `loadConfig()` when config.json is missing\n\n<!-- Fill in the template -->\n### Steps\n" +
	strings.Repeat("1. Call `createServer({ port: 80 })` from src/server/http.ts and wait for the connection to time out.\n", 20) +
	"```\n" + strings.Repeat("    at Server.handleRequest (/app/node_modules/pkg/lib/server.js:120:15)\n", 40) + "```\n" +
	"See https://github.com/o/r/blob/main/src/server/http.ts#L42-L60 and the docs.\n"

func BenchmarkParse(b *testing.B) {
	b.SetBytes(int64(len(longIssue)))
	b.ReportAllocs()
	for b.Loop() {
		Parse(longIssue)
	}
}

func ExampleParse() {
	q := Parse("Panic in ParseFile\n\nSee lib/parse.go:12 please.")
	for _, m := range q.Mentions {
		fmt.Println(m.Parts, m.Ext, m.Line)
	}
	// Output: [lib parse] .go 12
}
