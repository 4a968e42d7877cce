package symbols

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestForms reads snippets with the forms of definition of each language, and compares the result
// with a list made by hand: each entry is indented by its depth and has the lines, the line of the
// name and of the comment, the kind, the name, and + if it is exported.
func TestForms(t *testing.T) {
	names, err := filepath.Glob("testdata/forms/*")
	if err != nil || len(names) < 20 {
		t.Fatal("no snippets", err)
	}
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Of(name, src)
		if err != nil {
			t.Fatal(err)
		}
		checkResult(t, src, r)
		golden := filepath.Join("testdata", "golden", filepath.Base(name)+".txt")
		if *update {
			if err := os.WriteFile(golden, []byte(show(r)), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), show(r)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func show(r Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s exact=%v\n", r.Parser, r.Exact)
	for _, d := range r.Defs {
		fmt.Fprintf(&b, "%s%d-%d name %d", strings.Repeat("  ", d.Depth), d.StartLine, d.EndLine, d.Line)
		if d.DocLine > 0 {
			fmt.Fprintf(&b, " doc %d", d.DocLine)
		}
		fmt.Fprintf(&b, " %s %s", d.Kind, d.FullName())
		if d.Exported {
			b.WriteByte('+')
		}
		fmt.Fprintf(&b, " | %s\n", d.Signature)
	}
	b.WriteString("--\n")
	line := 0
	for _, x := range r.Refs {
		if x.Line != line {
			line = x.Line
			fmt.Fprintf(&b, "\n%d", line)
		}
		fmt.Fprintf(&b, " %s", x.Name)
		if x.Kind == TypeUse {
			b.WriteByte(':')
		}
	}
	return strings.TrimSpace(b.String()) + "\n"
}

// TestTokensFindGo checks that the token reader finds at least 95 % of the top-level definitions in
// Go's library that go/parser finds.
func TestTokensFindGo(t *testing.T) {
	paths, texts, _ := corpus(t, filepath.Join(runtimeRoot(), "src", "net"), ".go")
	want, got := 0, 0
	for i, p := range paths {
		exact := ofGo(texts[i])
		have := map[string]bool{}
		for _, d := range languages[".go"].read(p, texts[i]).Defs {
			have[fmt.Sprint(d.Line, d.Name, d.EndLine)] = true
		}
		for _, d := range exact.Defs {
			if d.Kind == Func || d.Kind == Method && d.Depth == 0 || d.Kind == Struct || d.Kind == Interface {
				want++
				if have[fmt.Sprint(d.Line, d.Name, d.EndLine)] {
					got++
				}
			}
		}
	}
	t.Logf("%d of %d", got, want)
	if want < 1000 || got*100 < want*95 {
		t.Errorf("%d of %d definitions found", got, want)
	}
}
