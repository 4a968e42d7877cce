package realfix

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write unpacks a map from file names to contents into a directory.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const before = `package p

// Last returns the last element.
func Last(a []int) int {
	return a[len(a)]
}

func two(a, b int) int {
	a++
	b++
	if a < b {
		return a // old words
	}
	return b
}

func same() {}

func init() { println(1) }
func init() { println(2) }
`

const after = `package p

// Last returns the last element of a list.
func Last(a []int) int {
	return a[len(a)-1]
}

func two(a, b int) int {
	a--
	b++
	if a > b {
		return a // new words
	}
	return b
}

func same() {}

func init() { println(3) }
func init() { println(2) }
`

func TestDiff(t *testing.T) {
	was := write(t, map[string]string{"p/p.go": before, "p/p_test.go": "package p\n", "q/q.go": before, "gen/g.go": "// Code generated. DO NOT EDIT.\n" + before, "gen/g_test.go": ""})
	is := write(t, map[string]string{"p/p.go": after, "p/p_test.go": "package p\n\n", "q/q.go": after, "gen/g.go": "// Code generated. DO NOT EDIT.\n" + after, "gen/g_test.go": "",
		"p/testdata/x.go": after, "p/sub/go.mod": "", "p/sub/p.go": after})
	got, err := Diff(was, is)
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		function string
		line     int
		old, new string
		sole     bool
	}
	var lines []line
	for _, c := range got {
		if c.File != filepath.Join("p", "p.go") || !c.Tested || c.Kind != Behaviour {
			t.Errorf("unexpected candidate %+v", c)
		}
		lines = append(lines, line{c.Function.Name, c.Line, c.Old, c.New, c.Sole})
	}
	want := []line{
		{"Last", 2, "return a[len(a)]", "return a[len(a)-1]", true},
		{"two", 2, "a++", "a--", false},
	}
	if d := cmp.Diff(want, lines, cmp.AllowUnexported(line{})); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestKindOf(t *testing.T) {
	for _, test := range []struct{ before, after, want string }{
		{`return errors.New("bad")`, `return errors.New("wrong")`, Message},
		{`x := "some words of text"`, `x := "some other words of text"`, Message},
		{`const v = "v1.2.3"`, `const v = "v1.2.4"`, Message},
		{`sep := ","`, `sep := ";"`, Behaviour},
		{`return fmt.Errorf("bad %d", a)`, `return fmt.Errorf("bad %d", b)`, Behaviour},
		{`if a < b {`, `if a <= b {`, Behaviour},
	} {
		if got := kindOf(test.before, test.after); got != test.want {
			t.Errorf("%s -> %s is %s, want %s", test.before, test.after, got, test.want)
		}
	}
}

// TestPromise checks that small changes with changed tests come first, and messages last.
func TestPromise(t *testing.T) {
	small := Candidate{Old: "if a < b {", New: "if a <= b {", Tested: true, Kind: Behaviour}
	large := Candidate{Old: "if a < b {", New: "if f(a, b, c) && g(d) {", Tested: true, Kind: Behaviour}
	untested, message := small, small
	untested.Tested, message.Kind = false, Message
	if p := small.Promise(); p <= large.Promise() || p <= untested.Promise() || large.Promise() <= message.Promise() {
		t.Error(p, large.Promise(), untested.Promise(), message.Promise())
	}
}

func TestChangedTests(t *testing.T) {
	was := write(t, map[string]string{"p/p_test.go": "package p\nvar table = []int{1}\nfunc helper() { _ = table }\nfunc TestA() { helper() }\nfunc TestB() { println(1) }\nfunc TestC() { println(1 < 2) }\n"})
	is := write(t, map[string]string{"p/p_test.go": "package p\nvar table = []int{1, 2}\nfunc helper() { _ = table }\nfunc TestA() { helper() }\nfunc TestB() { println(1) }\nfunc TestC() { println(1 > 2) }\nfunc TestD() {}\n"})
	if d := cmp.Diff([]string{"TestA", "TestC", "TestD"}, ChangedTests(was, is, "p")); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
