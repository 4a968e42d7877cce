package retrieval_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval"
)

func utf16Bytes(text string, big bool) string {
	out := []byte{0xff, 0xfe}
	if big {
		out = []byte{0xfe, 0xff}
	}
	for _, u := range utf16.Encode([]rune(text)) {
		if big {
			out = append(out, byte(u>>8), byte(u))
		} else {
			out = append(out, byte(u), byte(u>>8))
		}
	}
	return string(out)
}

// TestEncodings searches for one function in files of all encodings: it is found by words that are
// not ASCII, and Search, Grep and Outline return the correct lines.
//
// Evidence: retrieval · Files of all encodings are found, with right line numbers
func TestEncodings(t *testing.T) {
	filler := strings.Repeat("// some line\n", 200)
	text := "package p\n\n" + filler + "// Gefäßgröße berechnet die Höhe des Behälters in Zoll.\nfunc Vessel() int {\n\treturn 42\n}\n"
	const line = 204 // of func Vessel
	latin := strings.NewReplacer("ä", "\xe4", "ö", "\xf6", "ß", "\xdf")
	for name, raw := range map[string]string{
		"UTF-8":             text,
		"UTF-8 with mark":   "\xef\xbb\xbf" + text,
		"Latin-1":           latin.Replace(text),
		"UTF-16LE":          utf16Bytes(text, false),
		"UTF-16BE":          utf16Bytes(text, true),
		"UTF-16LE CRLF":     utf16Bytes(strings.ReplaceAll(text, "\n", "\r\n"), false),
		"CRLF":              strings.ReplaceAll(text, "\n", "\r\n"),
		"broken UTF-8":      strings.Replace(text, "// some line\n", "// \xc3\x28 \xf0\x9f\x98 \xff\n", 3) + "// äöüßäöüßäöüßäöüßäöüßäöüß\n",
		"no newline at end": strings.TrimSuffix(text, "\n"),
		"UTF-16 odd length": utf16Bytes(text, false) + "\x00",
	} {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, map[string]string{"a.go": raw, "other.go": "package p\n\n// nothing of note\nfunc Other() {}\n"})
			x := open(t, dir, retrieval.Config{})
			hits, err := x.Search(t.Context(), retrieval.Query{Text: "Höhe des Behälters", K: 1})
			if err != nil || len(hits) != 1 || hits[0].Path != "a.go" {
				t.Fatalf("found %+v, %v\n%v", hits, err, x.Status())
			}
			h := hits[0]
			if h.StartLine > line || h.EndLine < line || !utf8.ValidString(h.Snippet) || !strings.Contains(h.Snippet, "Höhe des Behälters") {
				t.Errorf("lines %d to %d, want %d among them, of valid text: %q", h.StartLine, h.EndLine, line, h.Snippet)
			}
			if n := strings.Count(h.Snippet, "\n"); n != h.EndLine-h.StartLine+1 && n != h.EndLine-h.StartLine {
				t.Errorf("snippet of %d newlines for lines %d to %d", n, h.StartLine, h.EndLine)
			}
			if got, want := fmt.Sprint(grepped(t, x, retrieval.GrepQuery{Pattern: `gefäßgröße|func Vessel`, FoldCase: true})), fmt.Sprintf("[a.go:%d a.go:%d]", line-1, line); got != want {
				t.Errorf("grep: %s, want %s", got, want)
			}
			allReady(t, x)
			if o, err := x.Outline(t.Context(), "a.go"); err != nil || len(o) != 1 || o[0].Line != line {
				t.Errorf("outline: %+v, %v", o, err)
			}
		})
	}
}

// TestNotText checks that files that are not text are left out, with the reason.
func TestNotText(t *testing.T) {
	dir := tree(t, map[string]string{
		"nul.go":   "package p\n\nvar x = \"\x00\x00\x00wombat\"\n" + strings.Repeat("\x00", 100),
		"late.go":  "package p\n\n" + strings.Repeat("// filler of a long file, wombat\n", 4000) + "\x00\x01\x02",
		"empty.go": "",
		"blank.md": "\n\n\n\n",
		"good.go":  "package p\n\n// wombat is a marsupial\nfunc wombat() {}\n",
		"nopic.go": "\x89PNG\r\n\x1a\n wombat",
	})
	x := open(t, dir, retrieval.Config{})
	if got := first(t, x, "marsupial wombat"); got != "good.go" {
		t.Errorf("found %q", got)
	}
	s := x.Status()
	for _, p := range []string{"nul.go", "nopic.go"} {
		if skipped(s, p) != "binary" {
			t.Errorf("%s: %q in\n%v", p, skipped(s, p), s)
		}
	}
	for _, p := range grepped(t, x, retrieval.GrepQuery{Pattern: "wombat", Limit: 5}) {
		if strings.HasPrefix(p, "nul.go") || strings.HasPrefix(p, "nopic.go") {
			t.Errorf("grep reads %s", p)
		}
	}
}

// TestHugeFiles indexes files far above all limits, with the default limits and with raised ones.
//
// Evidence: retrieval · Huge files are indexed within limits
func TestHugeFiles(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("writes 13 MB, 55 in the long tier")
	}
	size := tier.Pick(0, 8, 50) << 20
	dir := t.TempDir()
	var big bytes.Buffer
	for i := 0; big.Len() < size; i++ {
		fmt.Fprintf(&big, "// Fn%d does the work of station %d.\nfunc Fn%d(n int) int {\n\treturn n*%d + 1\n}\n\n", i, i%977, i, i)
	}
	lines := bytes.Count(big.Bytes(), []byte("\n"))
	big.WriteString("// Zanzibar is at the very end.\nfunc Zanzibar() {}\n")
	put(t, dir, "big.go", "package p\n"+big.String())
	put(t, dir, "line.js", "var a = \""+strings.Repeat("lorem ipsum ", 5<<20/12)+"\"; // Timbuktu\n")
	put(t, dir, "small.go", "package p\n\n// Zanzibar and Timbuktu are far.\nfunc far() {}\n")
	x := open(t, dir, retrieval.Config{})
	if got := paths(t, x, retrieval.Query{Text: "zanzibar timbuktu"}); len(got) == 0 || got[0] != "small.go" {
		t.Errorf("found %v", got)
	}
	for _, p := range []string{"big.go", "line.js"} {
		if why := skipped(x.Status(), p); why != "too large" {
			t.Errorf("%s is skipped as %q", p, why)
		}
	}
	start := time.Now()
	y := open(t, dir, retrieval.Config{MaxFileSize: 64 << 20})
	t.Logf("indexed words of %d MB in one file in %v", size>>20, time.Since(start))
	hits, err := y.Search(t.Context(), retrieval.Query{Text: "Zanzibar at the very end", Under: []string{"big.go"}})
	if err != nil || len(hits) == 0 || hits[0].StartLine > lines+3 || hits[0].EndLine < lines+2 || !strings.Contains(hits[0].Snippet, "Zanzibar") {
		t.Errorf("in %d MB: %d hits, %v; want line %d\n%v", size>>20, len(hits), err, lines+2, y.Status())
	}
	allReady(t, y)
	t.Logf("and the rest, %v after it began\n%v", time.Since(start), y.Status())
	if got, want := fmt.Sprint(grepped(t, y, retrieval.GrepQuery{Pattern: "func Zanzibar"})), fmt.Sprintf("[big.go:%d]", lines+3); got != want {
		t.Errorf("grep: %s, want %s", got, want)
	}
}

// TestDeepTree opens a tree of 2,000 levels in the long tier. Otherwise there are fewer levels with
// longer names, whose paths are longer than the system accepts.
func TestDeepTree(t *testing.T) {
	t.Parallel()
	levels, low, name := tier.Pick(100, 100, 2000), tier.Pick(80, 80, 1500), strings.Repeat("d", tier.Pick(60, 60, 2))
	dir := tree(t, map[string]string{"top.go": "package p\n\n// narwhal of the surface\nfunc narwhal() {}\n"})
	at, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range levels {
		if i == 20 || i == low {
			if err := at.WriteFile("deep.go", fmt.Appendf(nil, "package p\n\n// walrus at level %d\nfunc walrus() {}\n", i), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := at.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := at.OpenRoot(name)
		at.Close()
		if err != nil {
			t.Fatal(err)
		}
		at = next
	}
	at.Close()
	for how, cfg := range map[string]retrieval.Config{"once": {}, "watched": {Watch: true}} {
		t.Run(how, func(t *testing.T) {
			x := open(t, dir, cfg)
			if got, want := first(t, x, "walrus"), strings.Repeat(name+"/", 20)+"deep.go"; got != want {
				t.Errorf("found %q", got)
			}
			deep := 0
			for _, s := range x.Status().Skipped {
				if s.Reason == "too deep" {
					deep++
				}
			}
			if deep != 1 {
				t.Errorf("%d directories are too deep in\n%v", deep, x.Status())
			}
			if err := x.Update(t.Context(), strings.Repeat(name+"/", low)+"deep.go"); err != nil {
				t.Errorf("update of a file too deep: %v", err)
			}
			if got := filesFor(t, x, "walrus"); len(got) != 1 {
				t.Errorf("found %v", got)
			}
		})
	}
}

// TestManyFiles, in the long tier, indexes 100,000 small files, finds the last of them, and updates
// one.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("writes 5,000 files")
	}
	dirs := tier.Pick(0, 50, 1000)
	last := fmt.Sprintf("d%02d/e%d/f99.go", (dirs-1)%40, dirs-1)
	dir := t.TempDir()
	for d := range dirs {
		sub := filepath.Join(dir, fmt.Sprintf("d%02d", d%40), fmt.Sprintf("e%d", d))
		if err := os.MkdirAll(sub, 0o755); err != nil {
			t.Fatal(err)
		}
		for f := range 100 {
			n := d*100 + f
			text := fmt.Sprintf("package e\n\n// Part%d joins pipe %d to valve %d.\nfunc Part%d() int { return %d }\n", n, n%31, n%17, n, n)
			if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("f%d.go", f)), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	settle()
	cache := t.TempDir()
	start := time.Now()
	x := open(t, dir, retrieval.Config{CacheDir: cache})
	t.Logf("%d files: words in %v", 100*dirs, time.Since(start))
	allReady(t, x)
	t.Logf("all layers after %v\n%v", time.Since(start), x.Status())
	if got := first(t, x, fmt.Sprintf("Part%d", 100*dirs-1)); got != last {
		t.Errorf("found %q", got)
	}
	put(t, dir, last, "package e\n\n// Okapi replaces the last part.\nfunc Okapi() {}\n")
	start = time.Now()
	if err := x.Update(t.Context(), last); err != nil {
		t.Error(err)
	}
	t.Logf("one file is updated in %v", time.Since(start))
	if got := first(t, x, "okapi"); got != last {
		t.Errorf("found %q after the update", got)
	}
	x.Close()
	start = time.Now()
	y := open(t, dir, retrieval.Config{CacheDir: cache})
	t.Logf("opened again in %v", time.Since(start))
	if got := layerNamed(t, y.Status(), "index"); got.Files != 100*dirs {
		t.Errorf("%d files", got.Files)
	}
}

// TestHostileSource indexes texts designed to make a parser slow, in all languages, and makes
// queries that need their symbols.
//
// Evidence: retrieval · Hostile source does not slow down the parsers
func TestHostileSource(t *testing.T) {
	n := tier.Pick(10_000, 20_000, 300_000)
	bodies := map[string]string{
		"round":    strings.Repeat("(", n),
		"square":   strings.Repeat("[", n),
		"curly":    strings.Repeat("{", n),
		"closing":  strings.Repeat("})]", n/3),
		"angle":    strings.Repeat("a<", n/2),
		"quotes":   strings.Repeat("\"", n),
		"quotes2":  strings.Repeat("'\"`", n/3),
		"triple":   strings.Repeat("\"\"\"'''", n/6),
		"comment":  strings.Repeat("/*", n/2),
		"slashes":  strings.Repeat("\\", n),
		"dollar":   strings.Repeat("${", n/2) + strings.Repeat("`${", n/6),
		"hash":     strings.Repeat("r#", n/2),
		"defs":     strings.Repeat("class A{ def f(x): function g(){ ", n/33),
		"names":    strings.Repeat("x", n),
		"idents":   strings.Repeat("aB_cD", n/5),
		"newlines": strings.Repeat("\n", n),
		"indent":   strings.Repeat(" ", n) + "x\n" + strings.Repeat("\t", n) + "y\n",
		"heredoc":  strings.Repeat("<<EOF\n", n/6),
		"tags":     strings.Repeat("<div><script>", n/13),
		"returns":  strings.Repeat("\r", n),
	}
	exts := []string{"go", "py", "js", "ts", "tsx", "rs", "c", "h", "cpp", "java", "rb", "php", "sh", "cs", "kt", "swift", "scala", "lua", "html", "css", "json", "yaml", "toml", "md", "sql", "txt"}
	dir := t.TempDir()
	files := 0
	for i, name := range slices.Sorted(maps.Keys(bodies)) {
		for j, e := range exts {
			// In the short tier, each body is used unchanged in half of the languages, and wrapped
			// in the others.
			if !testing.Short() || (i+j)%2 == 0 {
				files++
				put(t, dir, "x/"+name+"."+e, "wombat\n"+bodies[name])
			}
			if !testing.Short() || (i+j)%2 == 1 {
				files++
				put(t, dir, "y/"+name+"."+e, "wombat\n"+wrapped(bodies[name])) // wrapped, so that it does not count as minified
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	start := time.Now()
	x, err := retrieval.Open(ctx, dir, retrieval.Config{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	words := time.Since(start)
	if _, err := x.Definitions(ctx, "g"); err != nil {
		t.Error(err)
	}
	t.Logf("%d of %d hostile files of %d bytes: words in %v, all in %v", x.Status().Files, files, n, words, time.Since(start))
	if x.Status().Files < files*3/8 {
		t.Errorf("only %d files are indexed, the test shows little", x.Status().Files)
	}
	for _, q := range []string{"wombat", strings.Repeat("(", n), strings.Repeat("a ", n), strings.Repeat("x", n), strings.Repeat("at foo (a/b.js:1:2)\n", n/20), "\xff\xfe \x00"} {
		start := time.Now()
		if _, err := x.Search(ctx, retrieval.Query{Text: q}); err != nil {
			t.Errorf("search for %.20q: %v", q, err)
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Logf("search for %.20q took %v", q, d)
		}
	}
	if _, err := x.Map(ctx, 1000); err != nil {
		t.Error(err)
	}
}

// wrapped breaks a text into lines of about 60 bytes.
func wrapped(text string) string {
	var b strings.Builder
	for len(text) > 60 {
		b.WriteString(text[:60])
		b.WriteByte('\n')
		text = text[60:]
	}
	return b.String() + text
}
