package mutate

import (
	"bytes"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// check parses and type-checks a file and returns the arguments of All for its last function.
func check(t testing.TB, src string) ([]byte, *ast.FuncDecl, *token.FileSet, *types.Info) {
	t.Helper()
	installed() // needed to resolve imports
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "x.go", src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	info := newInfo()
	config := types.Config{Importer: importer.ForCompiler(fset, "source", nil), Error: func(error) {}}
	config.Check("x", fset, []*ast.File{f}, info)
	return []byte(src), f.Decls[len(f.Decls)-1].(*ast.FuncDecl), fset, info
}

// texts returns the replacement lines of the mutants of one kind.
func texts(ms []Mutant, kind string) []string {
	var ts []string
	for _, m := range ms {
		if m.Kind == kind {
			ts = append(ts, m.Text)
		}
	}
	return ts
}

// Evidence: training · Each of 45 kinds of one-line faults can be undone by one
func TestKindsOfSlips(t *testing.T) {
	tests := []struct {
		kind, src string
		want      []string
	}{
		{Boundary, "func f(a, b int) bool { return a < b }", []string{"func f(a, b int) bool { return a <= b }"}},
		{Sum, "func f(a, b string) string {\n\treturn a + b\n}", nil},
		{Sum, "func f(a, b int) int {\n\treturn a + b\n}", []string{"return a - b"}},
		{Arithmetic, "func f(a, b, c int) int {\n\treturn a*b + c\n}", []string{"return a * b * c", "return a/b + c", "return a%b + c", "return a + b + c"}},
		{PlusOne, "func f(a []int, n int) []int {\n\treturn a[n:]\n}", []string{"return a[n+1:]", "return a[n-1:]"}},
		{PlusOne, "func f(n int) int {\n\treturn n - 1\n}", []string{"return n"}},
		{PlusOne, "func f(a []int, n int) bool {\n\treturn len(a)-1 < n\n}", []string{"return len(a) < n", "return len(a)-1 < n+1", "return len(a)-1 < n-1"}},
		{Negation, "func f(a, b bool) {\n\tif !(a && b) {\n\t\tprintln()\n\t}\n}", []string{"if a && b {", "if !(!a && b) {", "if !(a && !b) {"}},
		{Variable, "func f(a, b int, s string) int {\n\treturn a\n}", []string{"return b"}},
		{Variable, "func f(a int) int {\n\tb := a\n\treturn b\n}", nil}, // b would be unused
		{Field, "type p struct{ x, y int; z string }\nfunc f(q *p) int {\n\treturn q.x\n}", []string{"return q.y"}},
		{ReceiverField, "type p struct{ x int }\nfunc (q *p) f(x int) int {\n\treturn x\n}", []string{"return q.x"}},
		{Arguments, "func g(a, b int, s string)\nfunc f(n, m int) {\n\tg(n, m, \"\")\n}", []string{`g(m, n, "")`}},
		{Function, "import \"strings\"\nfunc f(s string) bool {\n\treturn strings.HasPrefix(s, \"x\")\n}", []string{
			`return strings.HasSuffix(s, "x")`, `return strings.Contains(s, "x")`, `return strings.EqualFold(s, "x")`, `return strings.ContainsAny(s, "x")`}},
		{ReturnedError, "func f() (int, error) {\n\terr := g()\n\tif err != nil {\n\t\treturn 0, err\n\t}\n\treturn 1, nil\n}\nfunc g() error", nil},
		{ReturnedError, "func f(err error) (int, error) {\n\treturn 0, err\n}", []string{"return 0, nil"}},
		{SliceBound, "func f(s string, i int) string {\n\treturn s[i+1:]\n}", []string{"return s[:i+1]", "return s[i+1 : i]"}},
		{Guard, "func f(p *int, b bool) {\n\tif b {\n\t\tprintln(*p)\n\t}\n}", []string{"if b && b {", "if b && !b {", "if !b && b {", "if b || b {",
			"if b || !b {", "if !b || b {", "if p != nil && b {", "if b && p != nil {", "if p == nil || b {", "if b || p == nil {", "if p == nil && b {", "if b && p == nil {"}},
		{Define, "func f() (err error) {\n\tif true {\n\t\terr := g()\n\t\tprintln(err)\n\t}\n\treturn\n}\nfunc g() error", nil},
		{MakeSize, "func f(n int) []int {\n\treturn make([]int, n+1)\n}", []string{"return make([]int, 0, n+1)"}},
		{Rune, "func f(c rune) bool {\n\treturn c == '('\n}", []string{`return c == ')'`}},
		{String, "func f() string {\n\treturn \"a\\n\"\n}", []string{`return "A\n"`, `return "a\r\n"`}},
		{IfFor, "func f(n int) int {\n\tfor n > 0 {\n\t\tn /= 2\n\t}\n\treturn n\n}", []string{"if n > 0 {"}},
		{Branch, "func f() {\n\tfor {\n\t\tbreak\n\t}\n}", []string{"continue"}},
	}
	for _, test := range tests {
		src, fn, fset, info := check(t, "package x\n"+test.src+"\n")
		if strings.HasSuffix(test.src, "error") { // the function under test is the second to last
			continue
		}
		got := texts(All(src, fn, fset, info), test.kind)
		slices.Sort(got)
		slices.Sort(test.want)
		if d := cmp.Diff(test.want, got); d != "" {
			t.Errorf("%s of\n%s\n(-want +got)\n%s", test.kind, test.src, d)
		}
	}
}

// TestKindsAreListed compares Kinds with the mutants of functions in the standard library: every
// kind that occurs must be listed, and every listed kind must occur.
func TestKindsAreListed(t *testing.T) {
	kinds := Kinds()
	if len(kinds) < 20 || !slices.IsSorted(kinds) || len(slices.Compact(slices.Clone(kinds))) != len(kinds) {
		t.Fatal("kinds are too few, unsorted or not distinct:", kinds)
	}
	made := map[string]bool{}
	l := shared()
	for _, path := range []string{"strings", "bufio", "net/url", "go/printer", "sort", "net/textproto", "time"} {
		p := l.load(t, path)
		m := New(p.info)
		p.functions(func(src []byte, fn *ast.FuncDecl) {
			for _, m := range m.All(src, fn, p.fset) {
				made[m.Kind] = true
				if !slices.Contains(kinds, m.Kind) {
					t.Fatal("not among Kinds:", m.Kind)
				}
			}
		})
	}
	for _, k := range kinds {
		if !made[k] && k != RangePair { // ranges over []int are rare
			t.Error("no mutant of kind", k)
		}
	}
}

// TestInvariants checks every mutant of some packages, with and without type information, against
// the promises of All.
//
// Evidence: training · Each of 45 kinds of one-line faults can be undone by one
func TestInvariants(t *testing.T) {
	l := shared()
	for _, path := range []string{"strings", "bufio", "text/tabwriter"} {
		p := l.load(t, path)
		for _, info := range []*types.Info{p.info, nil, {}} {
			p.functions(func(src []byte, fn *ast.FuncDecl) {
				ms := All(src, fn, p.fset, info)
				if again := All(src, fn, p.fset, info); !slices.Equal(ms, again) {
					t.Fatal("two calls differ:", cmp.Diff(ms, again))
				}
				promised(t, src, fn, p.fset, ms)
			})
		}
	}
}

// promised checks the order, distinctness and syntax of the mutants of a function.
func promised(t *testing.T, src []byte, fn *ast.FuncDecl, fset *token.FileSet, ms []Mutant) {
	t.Helper()
	seen := map[place]bool{}
	last := 0
	for _, m := range ms {
		mutated, original := apply(src, fset, fn, m)
		if m.Line < last || seen[place{m.Line, m.Text}] || m.Text == original || m.Text != strings.TrimSpace(m.Text) {
			t.Fatalf("%s: bad mutant %+v of %q", fn.Name.Name, m, original)
		}
		last = m.Line
		seen[place{m.Line, m.Text}] = true
		start := fset.Position(fn.Pos()).Offset
		end := fset.Position(fn.End()).Offset + len(mutated) - len(src)
		if bytes.ContainsRune(mutated, '\r') {
			end = len(mutated)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+string(mutated[start:end]), parser.SkipObjectResolution); err != nil {
			t.Fatalf("%s: %+v of %q does not parse: %v", fn.Name.Name, m, original, err)
		}
	}
}

func TestSkipped(t *testing.T) {
	for _, src := range []string{
		"package x\n\nfunc f(a, b int) bool\n",
		"package x\n\n//go:nosplit\nfunc f(a, b int) bool { return a < b }\n",
		"package x\n\nimport \"C\"\n\nfunc f(a, b int) bool { return a < int(C.int(b)) }\n",
	} {
		file, fn, fset, info := check(t, src)
		if ms := All(file, fn, fset, info); ms != nil {
			t.Errorf("%s has mutants: %v", src, ms)
		}
	}
}

func TestWindowsLineEndings(t *testing.T) {
	src, fn, fset, info := check(t, "package x\r\n\r\nfunc f(a, b int) bool {\r\n\treturn a < b\r\n}\r\n")
	if d := cmp.Diff([]string{"return a <= b"}, texts(All(src, fn, fset, info), Boundary)); d != "" {
		t.Error(d)
	}
}

// TestPick checks that a kind with one mutant is drawn as often as a kind with many.
func TestPick(t *testing.T) {
	ms := []Mutant{{Kind: "rare"}}
	for i := range 99 {
		ms = append(ms, Mutant{Kind: "common", Line: i})
	}
	rng := rand.New(rand.NewPCG(1, 1))
	rare := 0
	for range 1000 {
		if Pick(rng, ms, 1)[0].Kind == "rare" {
			rare++
		}
	}
	if rare < 400 || rare > 600 {
		t.Error("the rare kind was drawn", rare, "times of 1000")
	}
	all := Pick(rng, ms, 1000)
	if len(all) != len(ms) || len(slices.Compact(slices.SortedFunc(slices.Values(all), func(a, b Mutant) int {
		return strings.Compare(a.Kind, b.Kind)*1000 + a.Line - b.Line
	}))) != len(ms) {
		t.Error("drawing more than there are must give each once")
	}
}

func TestEnumerateOrder(t *testing.T) {
	src, fn, fset, info := check(t, "package x\n\nfunc f(a, b int) bool {\n\treturn a < b\n}\n")
	one, same, other := Enumerate(1, src, fn, fset, info), Enumerate(1, src, fn, fset, info), Enumerate(2, src, fn, fset, info)
	if !cmp.Equal(one, same) || cmp.Equal(one, other) || len(one) != len(other) {
		t.Error("the order must come from the seed alone")
	}
}

// FuzzAll calls All for functions that parse but may be nonsense.
//
// Evidence: training · Each of 45 kinds of one-line faults can be undone by one
func FuzzAll(f *testing.F) {
	for _, body := range []string{"return a < b", "x := a[1:2:3]; for { break }", "defer f(); switch { case a && b: }", "var x = `a\nb`; _ = x[0]",
		"if !(a || b) { return nil, err }", "L: for k, v := range m { continue L }", "f(func() int { return x-1 }, a /* c */ + 1)", "//line z.go:9\nreturn a+1"} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		src := "package x\nfunc f(a, b int, err error) (int, error) {\n" + body + "\n}\n"
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "x.go", src, parser.ParseComments)
		if err != nil || strings.Contains(src, "\r") {
			t.Skip()
		}
		fn, ok := file.Decls[len(file.Decls)-1].(*ast.FuncDecl)
		if !ok || len(file.Decls) != 1 {
			t.Skip()
		}
		info := newInfo()
		config := types.Config{Error: func(error) {}}
		config.Check("x", fset, []*ast.File{file}, info)
		for _, i := range []*types.Info{nil, info} {
			for _, m := range All([]byte(src), fn, fset, i) {
				lines := strings.Split(src, "\n")
				lines[m.Line] = m.Text
				if _, err := parser.ParseFile(token.NewFileSet(), "", strings.Join(lines, "\n"), parser.SkipObjectResolution); err != nil {
					t.Fatalf("%+v of %q: %v", m, src, err)
				}
			}
		}
	})
}
