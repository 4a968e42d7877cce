//go:build cgo && !luthier_nosymbols

package treesitter

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/symbols"
	"github.com/luthier-dev/luthier/internal/tier"
)

func TestMain(m *testing.M) { tier.Main(m) }

// TestQueries checks that every query compiles for its grammar.
func TestQueries(t *testing.T) {
	p := New()
	for ending, l := range p.byEnding {
		if err := l.ready(); err != nil {
			t.Errorf("%s: %v", ending, err)
		}
	}
}

// forms returns the snippets with every form of definition, which are also used to test the token
// reader.
func forms(tb testing.TB) map[string][]byte {
	tb.Helper()
	names, err := filepath.Glob("../testdata/forms/*")
	if err != nil || len(names) == 0 {
		tb.Fatal("no snippets", err)
	}
	out := map[string][]byte{}
	for _, n := range names {
		src, err := os.ReadFile(n)
		if err != nil {
			tb.Fatal(err)
		}
		out[n] = src
	}
	return out
}

// TestForms checks that the token reader finds everything that a grammar finds in the snippets, on
// the same lines.
func TestForms(t *testing.T) {
	p := New()
	for name, src := range forms(t) {
		if !slices.Contains(p.Grammars(), filepath.Ext(name)) {
			continue
		}
		tree, err := p.Of(name, src)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(tree.Parser, "tree-sitter/") || len(tree.Defs) < 8 || len(tree.Refs) < 2 {
			t.Errorf("%s: %s found %d definitions and %d references", name, tree.Parser, len(tree.Defs), len(tree.Refs))
		}
		plain, _ := symbols.Of(name, src)
		have := map[string]bool{}
		for _, d := range plain.Defs {
			have[fmt.Sprint(d.Name, d.Line)] = true
		}
		missing := 0
		for _, d := range tree.Defs {
			if !have[fmt.Sprint(d.Name, d.Line)] {
				missing++
				t.Logf("%s:%d %s %s by %s alone", name, d.Line, d.Kind, d.FullName(), tree.Parser)
			}
		}
		if missing > 2 {
			t.Errorf("%s: tokens miss %d of %d", name, missing, len(tree.Defs))
		}
	}
}

// TestBrokenPart checks that a part that does not parse is read by the token reader, and the rest
// by the grammar.
func TestBrokenPart(t *testing.T) {
	src := "def good(x):\n    return f(x)\n\nclass A(:\n    def run(self):\n        go(\n\ndef after():\n    pass\n"
	r, err := New().Of("a.py", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range r.Defs {
		names = append(names, d.Name)
	}
	if r.Exact || !slices.Contains(names, "good") || !slices.Contains(names, "run") || !slices.Contains(names, "after") {
		t.Errorf("exact %v, %q", r.Exact, names)
	}
}

// TestGuards checks that files that are nested too deeply, too large, or not text never reach the C
// code.
func TestGuards(t *testing.T) {
	p := New()
	endings := []string{".py", ".rs", ".c", ".js", ".ts", ".tsx", ".java", ".h"}
	for what, src := range map[string]string{
		"deep": strings.Repeat("f(", 100_000), "nul": "def a():\n\x00", "large": strings.Repeat("x = 1\n", maxParsed/6+1),
	} {
		r, err := p.Of("a.py", []byte(src))
		if err != nil || r.Parser != "tokens/python" {
			t.Errorf("%s: read by %q, %v", what, r.Parser, err)
		}
	}
	for _, src := range []string{strings.Repeat("(", maxNesting), strings.Repeat("x = '", 5000), strings.Repeat("a.-", 10_000), strings.Repeat("<T", 5000)} {
		for _, ending := range tier.Pick(endings[:3], endings, endings) {
			begun := time.Now()
			if _, err := p.Of("a"+ending, []byte(src)); err != nil {
				t.Error(err)
			}
			if took := time.Since(begun); took > time.Minute { // the time limit is under a second
				t.Errorf("%.10q as %s took %v", src, ending, took)
			}
		}
	}
}

// TestParallel checks that one Parser serves many goroutines and returns the same results to each.
func TestParallel(t *testing.T) {
	p := New()
	texts := forms(t)
	want := map[string]string{}
	for name, src := range texts {
		r, _ := p.Of(name, src)
		want[name] = fmt.Sprint(r)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				for name, src := range texts {
					if r, err := p.Of(name, src); err != nil || fmt.Sprint(r) != want[name] {
						t.Errorf("%s: another answer, %v", name, err)
					}
				}
			}
		})
	}
	wg.Wait()
}

// TestMemory checks that the process does not grow while it reads ten thousand files.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("parses ten thousand files")
	}
	p := New()
	texts := forms(t)
	parse := func(n int) {
		for i := 0; i < n; {
			for name, src := range texts {
				if _, err := p.Of(name, src); err != nil {
					t.Fatal(err)
				}
				i++
			}
		}
	}
	parse(1000)
	before := resident(t)
	parse(10_000)
	if after := resident(t); after > before+before/2+(16<<20) {
		t.Errorf("the process grew from %d to %d MiB", before>>20, after>>20)
	} else {
		t.Logf("%d MiB before, %d after", before>>20, after>>20)
	}
}

func resident(t *testing.T) int {
	t.Helper()
	runtime.GC()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc:", err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(data))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// FuzzGrammars parses arbitrary text with every grammar. It searches for faults in the C code,
// which would end the process.
func FuzzGrammars(f *testing.F) {
	p := New()
	for name, src := range forms(f) {
		for i := range p.Grammars() {
			if p.Grammars()[i] == filepath.Ext(name) {
				f.Add(src, byte(i))
			}
		}
	}
	for i := range p.Grammars() {
		f.Add([]byte("R\"x(\n<<A\n`${'''\\\nif a:\n\tb\n#define\n"), byte(i))
	}
	f.Fuzz(func(t *testing.T, src []byte, which byte) {
		endings := p.Grammars()
		late := time.AfterFunc(time.Minute, func() { panic(fmt.Sprintf("no end of %q", src)) })
		defer late.Stop()
		r, err := p.Of("a"+endings[int(which)%len(endings)], src)
		if err != nil {
			t.Fatal(err)
		}
		n := bytes.Count(src, []byte("\n")) + 1
		for _, d := range r.Defs {
			if d.Name == "" || d.StartLine < 1 || d.StartLine > d.Line || d.Line > d.EndLine || d.EndLine > n || d.DocLine > d.StartLine {
				t.Fatalf("%+v in a text of %d lines", d, n)
			}
		}
		if !slices.IsSortedFunc(r.Refs, func(a, b symbols.Ref) int { return a.Line - b.Line }) {
			t.Fatal("references are not in order")
		}
	})
}
