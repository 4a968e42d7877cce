package repair

import (
	"go/build"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const namesSource = `package p

import (
	"io"
	"strings"
)

const (
	ModeRead = iota
	ModeWrite
	ModeAppend
)

type File struct {
	head, tail int
	name       string
	w          io.Writer
}

func (f *File) Head() int { return f.head }

func (f *File) Tail() int { return f.tail }

func (f *File) Reset() {
	f.head = 0
	f.head = 0
}

func openRead(name string) int { return ModeRead }

func openWrite(name string) int { return ModeRead }

func clean(s string) string { return strings.TrimLeft(s, "/") }

func base(s string) string { return strings.TrimRight(s, "/") }
`

func namesOf(t testing.TB, file, src string) (*Names, map[string]Function) {
	t.Helper()
	fns, err := Functions(file, []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]Function{}
	for _, f := range fns {
		byName[f.Name] = f
	}
	return NewNames(map[string][]byte{file: []byte(src)}), byName
}

// Evidence: repair · Near names and similar lines are offered
func TestNamesNear(t *testing.T) {
	n, fns := namesOf(t, "p.go", namesSource)
	for fn, want := range map[string][]string{
		"(*File).Reset": {"tail"},                   // a field of the same type
		"openWrite":     {"ModeWrite", "openRead"},  // a constant declared together with the one that is used
		"(*File).Head":  {"tail", "Tail"},           // a method with the same signature
		"base":          {"TrimLeft", "clean"},      // other names used from an import
		"openRead":      {"openWrite", "ModeWrite"}, // a function with the same signature
	} {
		got := n.Near(fns[fn], nil)
		for _, w := range want {
			if i := slices.Index(got, w); i < 0 || i > 4 {
				t.Errorf("%s: %q is not among the first of %q", fn, w, got)
			}
		}
		for _, name := range got {
			if strings.Contains(fns[fn].Text, " "+name+"(") {
				t.Errorf("%s: it has %q already", fn, name)
			}
		}
	}
}

// TestNamesTellNothingOfTheFunctionItself checks that a name from an import that only the function
// itself uses is not returned, since the broken function does not contain it.
func TestNamesTellNothingOfTheFunctionItself(t *testing.T) {
	n, fns := namesOf(t, "p.go", namesSource)
	f := fns["base"]
	f.Text = strings.Replace(f.Text, "TrimRight", "TrimLeft", 1)
	if got := n.Near(f, nil); slices.Contains(got, "TrimRight") {
		t.Errorf("%q holds the name that was replaced", got)
	}
}

func TestNamesOfFailingTests(t *testing.T) {
	src := "package p\n\nvar alpha, beta, gamma, delta, epsilon, zeta int\n\nfunc f() int { return 0 }\n\nfunc g() int { return alpha + beta + gamma + delta + epsilon + zeta }\n"
	n, fns := namesOf(t, "p.go", src)
	if got := n.Near(fns["f"], []string{"TestZeta"}); got[0] != "g" && got[0] != "zeta" || slices.Index(got, "zeta") > 1 {
		t.Errorf("%q does not begin with the name of the failing test", got)
	}
}

func TestNamesLimits(t *testing.T) {
	var b strings.Builder
	b.WriteString("package p\n\nfunc f() int { return 0 }\n\nvar (\n")
	for i := range 100 {
		b.WriteString(strings.Repeat("x", 20+i%20) + strings.Repeat("y", i/20) + " int\n")
	}
	b.WriteString(")\n\nfunc g() {\n")
	for i := range 100 {
		b.WriteString("_ = " + strings.Repeat("x", 20+i%20) + strings.Repeat("y", i/20) + "\n")
	}
	b.WriteString("}\n")
	n, fns := namesOf(t, "p.go", b.String())
	got := n.Near(fns["f"], nil)
	if size := len(strings.Join(got, " ")); len(got) == 0 || len(got) > maxNames || size > maxNameBytes {
		t.Errorf("%d names of %d bytes", len(got), size)
	}
	if text := withPackage("func 1 p.go", Ranked{Names: got}); !strings.HasPrefix(text, "func 1 p.go\nnames ") || strings.Count(text, "\n") != 1 {
		t.Errorf("%q", text)
	}
	if text := withPackage("func 1 p.go", Ranked{}); text != "func 1 p.go" {
		t.Errorf("%q", text)
	}
}

func FuzzNames(f *testing.F) {
	f.Add([]byte(namesSource), "func f() { g(ModeRead) }")
	f.Add([]byte("package p\nimport (\n\"a/b\"\nx\"\"\n)\nvar ("), "{{{ \"")
	f.Add([]byte("package p\ntype ()\nvar ()\nfunc (x) f()"), "")
	f.Fuzz(func(t *testing.T, src []byte, text string) {
		r := Ranked{Function: Function{Name: "(*T).f", File: "p.go", Text: text, Start: 3, End: 9}}
		NewNames(map[string][]byte{"p.go": src}).Complete(&r, []string{text})
		if len(r.Names) > maxNames || len(r.Like) > maxLike {
			t.Fatalf("%d names, %d lines", len(r.Names), len(r.Like))
		}
	})
}

// BenchmarkNear measures a large package: all of net/http.
func BenchmarkNear(b *testing.B) {
	n, fns := largeNames(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		n.Near(fns[i%len(fns)], nil)
	}
}

func BenchmarkLike(b *testing.B) {
	n, fns := largeNames(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		n.Like(fns[i%len(fns)], nil)
	}
}

func largeNames(b *testing.B) (*Names, []Function) {
	b.Helper()
	pkg, err := build.Import("net/http", "", 0)
	if err != nil {
		b.Fatal(err)
	}
	files := map[string][]byte{}
	var fns []Function
	for _, name := range pkg.GoFiles {
		src, err := os.ReadFile(filepath.Join(pkg.Dir, name))
		if err != nil {
			b.Fatal(err)
		}
		files[name] = src
		list, err := Functions(name, src)
		if err != nil {
			b.Fatal(err)
		}
		fns = append(fns, list...)
	}
	return NewNames(files), fns
}
