package repair_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// calc is a module with a fault in Max that only TestMax detects.
var calc = map[string]string{
	"go.mod": "module example.com/calc\n\ngo 1.21\n",
	"calc.go": `package calc

import "strings"

func Sum(xs []int) int {
	s := 0
	for _, x := range xs {
		s += x
	}
	return s
}

func Max(xs []int) int {
	m := xs[0]
	for _, x := range check(xs) {
		if x < m {
			m = x
		}
	}
	return m
}

func check(xs []int) []int {
	if xs == nil {
		return []int{}
	}
	return xs
}

func Unused() string { return strings.ToUpper("x") }

func Fast(x int) int
`,
	"fast.s": "// nothing\n",
	"calc_test.go": `package calc

import "testing"

func TestSum(t *testing.T) {
	if Sum(check([]int{1, 2})) != 3 {
		t.Fatal("sum")
	}
}

func TestMax(t *testing.T) {
	if Max([]int{1, 3, 2}) != 3 {
		t.Fatal("max")
	}
}
`,
}

func profile(t *testing.T, dir, test string) repair.Profile {
	t.Helper()
	name := filepath.Join(t.TempDir(), "c.out")
	out := goTest(t, dir, nil, "-run=^"+test+"$", "-coverprofile="+name)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err, out)
	}
	p, err := repair.ParseProfile(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Evidence: repair · Coverage and stacks rank the functions
func TestRankByCoverage(t *testing.T) {
	dir := writeTree(t, calc)
	fns, err := repair.Functions("calc.go", []byte(calc["calc.go"]))
	if err != nil {
		t.Fatal(err)
	}
	e := repair.Evidence{Failed: []string{"TestMax"}, Failing: []repair.Profile{profile(t, dir, "TestMax")}, Passing: []repair.Profile{profile(t, dir, "TestSum")}}
	ranked := repair.Rank(fns, e)
	var names []string
	for _, r := range ranked {
		names = append(names, r.Name)
	}
	if d := cmp.Diff([]string{"Max", "check"}, names); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	want := "func 1 calc.go\n1!\tfunc Max(xs []int) int {\n2!\tm := xs[0]\n3!\tfor _, x := range check(xs) {\n4!\tif x < m {\n5\tm = x\n6\t}\n7\t}\n8!\treturn m\n9\t}"
	if d := cmp.Diff(want, repair.Read(1, ranked[0].Function, ranked[0].Marks)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := repair.Read(2, ranked[1].Function, ranked[1].Marks); !strings.Contains(got, "\n5*\treturn xs") || !strings.Contains(got, "\n3\treturn []int{}") {
		t.Errorf("%s", got)
	}
}

// Evidence: repair · Coverage and stacks rank the functions
func TestRankByStack(t *testing.T) {
	fns := []repair.Function{
		{Name: "Outer", File: "a.go", Start: 1, End: 9, Text: strings.Repeat("\n", 8)},
		{Name: "(*T).inner", File: "a.go", Start: 11, End: 19, Text: strings.Repeat("\n", 8)},
		{Name: "Other", File: "b.go", Start: 11, End: 19, Text: strings.Repeat("\n", 8)},
	}
	e := repair.Evidence{Failed: []string{"TestOuter"}, Stack: []repair.Frame{
		{Function: "(*T).inner.func1", File: "/x/a.go", Line: 13}, {Function: "Outer", File: "/x/a.go", Line: 5}, {Function: "TestOuter", File: "/x/a_test.go", Line: 5},
	}}
	var got []string
	for _, r := range repair.Rank(fns, e) {
		got = append(got, r.Name)
	}
	if d := cmp.Diff([]string{"(*T).inner", "Outer"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if m := repair.Marks(fns[0], e); m[4] != repair.Suspect || m[3] != repair.NotRun {
		t.Errorf("marks %v", m)
	}
	// The names decide if there is no other evidence.
	none := repair.Rank(fns, repair.Evidence{Failed: []string{"TestOther"}})
	if len(none) != 3 || none[0].Name != "Other" {
		t.Errorf("without evidence: %v", none)
	}
}

func TestStack(t *testing.T) {
	const out = `--- FAIL: TestAt (0.00s)
panic: boom [recovered, repanicked]

goroutine 7 [running]:
testing.tRunner.func1.2({0x54e1a0, 0xc00001e1b0})
	/usr/local/go/src/testing/testing.go:1872 +0x237
testing.tRunner.func1()
	/usr/local/go/src/testing/testing.go:1875 +0x35b
panic({0x54e1a0?, 0xc00001e1b0?})
	/usr/local/go/src/runtime/panic.go:783 +0x132
strings.Repeat({0x0, 0x0}, 0xffffffffffffffff)
	/usr/local/go/src/strings/strings.go:624 +0x5d1
example.com/m/pkg.(*List[...]).At(...)
	/tmp/m/pkg/list.go:6
example.com/m/pkg.Each[go.shape.int](0x0, {0x1, 0x2})
	/tmp/m/pkg/list.go:11 +0x12
example.com/m/pkg.TestAt(0xc0000036c0?)
	/tmp/m/pkg/list_test.go:27 +0x57
testing.tRunner(0xc0000036c0, 0x565e58)
	/usr/local/go/src/testing/testing.go:1934 +0xea
created by testing.(*T).Run in goroutine 1
	/usr/local/go/src/testing/testing.go:1997 +0x465

goroutine 1 [chan receive]:
main.other()
	/tmp/m/other.go:3 +0x1
`
	want := []repair.Frame{
		{Function: "(*List).At", Package: "example.com/m/pkg", File: "/tmp/m/pkg/list.go", Line: 6},
		{Function: "Each", Package: "example.com/m/pkg", File: "/tmp/m/pkg/list.go", Line: 11},
		{Function: "TestAt", Package: "example.com/m/pkg", File: "/tmp/m/pkg/list_test.go", Line: 27},
	}
	if d := cmp.Diff(want, repair.Stack(out)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func FuzzStack(f *testing.F) {
	f.Add("goroutine 7 [running]:\nexample.com/m/pkg.(*List[...]).At(...)\n\t/tmp/m/pkg/list.go:6\n")
	f.Fuzz(func(t *testing.T, out string) {
		for _, fr := range repair.Stack(out) {
			if fr.Line < 0 || fr.Function == "" {
				t.Errorf("%+v", fr)
			}
		}
	})
}

func FuzzParseProfile(f *testing.F) {
	f.Add([]byte("mode: set\na/b.go:1.2,3.4 1 1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := repair.ParseProfile(data)
		if err != nil {
			return
		}
		fn := repair.Function{File: "b.go", Start: 1, End: 4, Text: "\n\n\n"}
		if m := repair.Marks(fn, repair.Evidence{Failing: []repair.Profile{p}}); len(m) != 4 {
			t.Errorf("%d marks", len(m))
		}
	})
}

// Evidence: repair · An edit is type-checked before its tests run
func TestChecker(t *testing.T) {
	files := map[string]string{}
	for name, text := range calc {
		files[name] = text
	}
	files["other.go"] = "package calc\n\nvar table = map[string]func([]int) int{\"max\": Max, \"sum\": Sum}\n\nfunc use() int { return Sum(nil) + len(table) }\n"
	files["windows_only.go"] = "//go:build windows\n\npackage calc\n\nfunc use() int { return undefined }\n"
	dir := writeTree(t, files)
	c, err := repair.NewChecker(context.Background(), dir, ".", append(os.Environ(), "GOWORK=off")...)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, old, new, want string }{
		{"as it is", "", "", ""},
		{"right", "x < m", "x > m", ""},
		{"does not parse", "x < m {", "x < m", "does not parse"},
		{"unknown name", "x < m", "x < n", "does not compile: calc.go:16:10: undefined: n"},
		{"wrong type", "return m", "return xs", "does not compile: calc.go:20:9: cannot use xs"},
		{"unused variable", "s += x", "_ = x; y := 1", "declared and not used: y"},
		{"unused import", `strings.ToUpper("x")`, `"x"`, `"strings" imported and not used`},
		{"missing return", "return m", "", "missing return"},
		{"a signature others use", "func Max(xs []int) int", "func Max(xs []int, _ ...int) int", "does not compile: other.go:3"},
		{"a signature tests use", "func Sum(xs []int) int", "func Sum() int", "does not compile"},
	} {
		src := calc["calc.go"]
		if tt.old != "" {
			if !strings.Contains(src, tt.old) {
				t.Fatal(tt.old)
			}
			src = strings.Replace(src, tt.old, tt.new, 1)
		}
		err := c.Check("calc.go", []byte(src))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	if err := c.Check("nowhere.go", nil); err == nil {
		t.Error("a file of no package is checked")
	}
	if _, err := repair.NewChecker(context.Background(), writeTree(t, map[string]string{"go.mod": "module x\n", "x.go": "package x\nvar y = z\n"}), "."); err == nil {
		t.Error("a package that does not compile is checked")
	}
}

func BenchmarkCheck(b *testing.B) {
	c, err := repair.NewChecker(context.Background(), ".", ".")
	if err != nil {
		b.Fatal(err)
	}
	src, err := os.ReadFile("digest.go")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Check("digest.go", src); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDigest(b *testing.B) {
	out := strings.Repeat("=== RUN   TestX\n    x_test.go:3: something, got 1\n--- FAIL: TestX (0.00s)\n", 200)
	b.ReportAllocs()
	for b.Loop() {
		repair.Digest(out, repair.DigestBudget)
	}
}

// TestFilesOfOneName checks that if several files in a profile have the same name, a name relative
// to the root of the module matches the file nearest to the root.
func TestFilesOfOneName(t *testing.T) {
	p, err := repair.ParseProfile([]byte("mode: set\nexample.com/m/errors/util.go:1.1,1.9 1 1\nexample.com/m/util.go:2.1,2.9 1 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]repair.Mark{"util.go": {repair.NotRun, repair.Suspect}, "errors/util.go": {repair.Suspect, repair.NotRun}} {
		f := repair.Function{Name: "F", File: file, Start: 1, End: 2, Text: "a\nb"}
		if d := cmp.Diff(want, repair.Marks(f, repair.Evidence{Failing: []repair.Profile{p}})); d != "" {
			t.Errorf("%s (-want +got):\n%s", file, d)
		}
	}
}

// TestRankBehindAStack checks the ranking after a panic, with which the coverage of the test is
// lost. Functions called by those on its stack must still be suspicious, and more so if no passing
// test runs them.
//
// Evidence: repair · Coverage and stacks rank the functions
func TestRankBehindAStack(t *testing.T) {
	fns := []repair.Function{
		{Name: "Get", File: "a.go", Start: 1, End: 3, Text: "func Get(xs []int) int {\n\treturn xs[find(xs)+start(xs)]\n}"},
		{Name: "find", File: "a.go", Start: 5, End: 7, Text: "func find(xs []int) int {\n\treturn count(xs)\n}"},
		{Name: "count", File: "a.go", Start: 9, End: 11, Text: "func count(xs []int) int {\n\treturn len(xs)\n}"},
		{Name: "Other", File: "a.go", Start: 13, End: 15, Text: "func Other() int {\n\treturn 1\n}"},
		{Name: "start", File: "a.go", Start: 17, End: 19, Text: "func start(xs []int) int {\n\treturn 0\n}"},
	}
	e := repair.Evidence{
		Failed:  []string{"TestGet"},
		Stack:   []repair.Frame{{Function: "Get", File: "/x/a.go", Line: 2}, {Function: "TestGet", File: "/x/a_test.go", Line: 5}},
		Passing: []repair.Profile{{"m/a.go": {{StartLine: 5, StartCol: 1, EndLine: 7, EndCol: 2, Count: 1}}}},
	}
	var got []string
	for _, r := range repair.Rank(fns, e) {
		got = append(got, r.Name)
	}
	if d := cmp.Diff([]string{"Get", "start", "find", "count"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
