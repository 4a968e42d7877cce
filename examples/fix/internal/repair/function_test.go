package repair_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

const source = `// Package p.
package p

type T[K any] struct{}

// Get gets.
func (t *T[K]) Get(i int) int {
	if i < 0 {
		return -1
	}

	return i
}

func (t T[K]) Len() int { return 0 }

func add(a, b int) int {
	return a +
		b
}

func asm(x int)
`

func TestFunctions(t *testing.T) {
	for _, ending := range []string{"\n", "\r\n"} {
		fns, err := repair.Functions("dir/p.go", []byte(strings.ReplaceAll(source, "\n", ending)))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range fns {
			got = append(got, fmt.Sprintf("%s %s:%d-%d", f.Name, f.File, f.Start, f.End))
			if strings.Contains(f.Text, "\r") || !strings.HasPrefix(f.Text, "func ") || !strings.HasSuffix(f.Text, "}") {
				t.Errorf("text %q", f.Text)
			}
		}
		want := []string{"(*T).Get dir/p.go:7-13", "T.Len dir/p.go:15-15", "add dir/p.go:17-20"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q (-want +got):\n%s", ending, d)
		}
	}
	if _, err := repair.Functions("p.go", []byte("package p\nfunc (")); err == nil {
		t.Error("a file that does not parse has functions")
	}
}

// Evidence: repair · A line edit is applied to its function or refused
func TestApply(t *testing.T) {
	for _, ending := range []string{"\n", "\r\n"} {
		src := []byte(strings.ReplaceAll(source, "\n", ending))
		fns, err := repair.Functions("p.go", src)
		if err != nil {
			t.Fatal(err)
		}
		get := fns[0]
		for _, tt := range []struct {
			line      int
			text, old string
			want      string // the replacement of old; "" if the edit is refused
		}{
			{2, "if i <= 0 {", "\tif i < 0 {", "\tif i <= 0 {"},
			{2, "  if i <= 0 {\t", "\tif i < 0 {", "\tif i <= 0 {"},
			{3, "", "\t\treturn -1", " "},
			{5, "i++", "\t}" + ending + ending, "\t}" + ending + "\ti++" + ending},
			{2, "if i < 0 {", "", ""},
			{2, " if i < 0 { ", "", ""},
			{2, "if i<0 { // none", "", ""},
			{5, "", "", ""},
			{0, "x", "", ""},
			{8, "x", "", ""},
			{-1, "x", "", ""},
			{2, "x\ny", "", ""},
			{2, "x\r", "", ""},
		} {
			got, err := repair.Apply(src, get, tt.line, tt.text)
			if tt.want == "" {
				if err == nil {
					t.Errorf("line %d, %q: %q", tt.line, tt.text, got)
				}
				continue
			}
			want := strings.Replace(string(src), tt.old, strings.TrimSuffix(tt.want, " "), 1)
			if d := cmp.Diff(want, string(got)); err != nil || d != "" {
				t.Errorf("line %d, %q: %v %s", tt.line, tt.text, err, d)
			}
		}
		if _, err := repair.Apply(src, get, 2, "if i < 0 {"); !errors.Is(err, repair.ErrIdentity) {
			t.Errorf("an edit that changes nothing: %v", err)
		}
		if _, err := repair.Apply(bytes.Replace(src, []byte("package p"), []byte("package p"+ending), 1), get, 2, "x"); err == nil {
			t.Error("a function that moved is edited where it was")
		}
	}
}

func TestRead(t *testing.T) {
	f := repair.Function{Name: "trimEOL", File: "pkg/reader.go", Start: 10, End: 13,
		Text: "func trimEOL(s string) string {\n\tif strings.HasSuffix(s, \"\\n\") {\n\t\ts = s[:len(s)-2]\n\t}"}
	want := "func 2 reader.go\n1*\tfunc trimEOL(s string) string {\n2*\tif strings.HasSuffix(s, \"\\n\") {\n3!\ts = s[:len(s)-2]\n4\t}"
	if d := cmp.Diff(want, repair.Read(2, f, []repair.Mark{repair.Run, repair.Run, repair.Suspect})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestReadLong checks that a long function is shown around its suspicious lines, whatever the
// budget.
//
// Evidence: repair · Long functions are read in parts
func TestReadLong(t *testing.T) {
	lines := []string{"func long() {"}
	marks := []repair.Mark{repair.Run}
	for i := 1; i < 200; i++ {
		lines = append(lines, fmt.Sprintf("\tstatement(number, %d) // that is rather long", i))
		m := repair.NotRun
		if i > 50 && i < 150 {
			m = repair.Run
		}
		if i == 120 {
			m = repair.Suspect
		}
		marks = append(marks, m)
	}
	f := repair.Function{Name: "long", File: "l.go", Text: strings.Join(append(lines, "}"), "\n")}
	for _, budget := range []int{100, 300, 1000, 2400, 9999} {
		got := repair.ReadWithin(budget, 1, f, marks)
		if len(got) > budget+100 || len(got) > 2500 {
			t.Errorf("%d bytes where there is room for %d", len(got), budget)
		}
		if !strings.Contains(got, "\n1*\tfunc long() {\n") || !strings.HasSuffix(got, "\n201\t}") {
			t.Errorf("%d: the first or the last line is missing:\n%s", budget, got)
		}
		if budget >= 300 && (!strings.Contains(got, "\n121!\tstatement(number, 120)") || strings.Contains(got, "statement(number, 10)") || !strings.Contains(got, "\n...\n")) {
			t.Errorf("%d: the wrong parts are shown:\n%s", budget, got)
		}
		if strings.Contains(got, "...\n...") {
			t.Errorf("%d: a gap twice:\n%s", budget, got)
		}
	}
	if got := repair.Read(1, f, nil); len(got) > 2500 || !strings.Contains(got, "\n2\tstatement(number, 1)") {
		t.Errorf("without marks it is not shown from the beginning:\n%s", got)
	}
}

func TestReport(t *testing.T) {
	r := repair.Report{Failed: []string{"TestA/x", "TestA/y", "TestB"}, Output: "a_test.go:1: got 1", Functions: []string{"f", "(*T).g"}}
	want := "FAIL TestA TestB\na_test.go:1: got 1\n1 f\n2 (*T).g"
	if d := cmp.Diff(want, r.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	many := repair.Report{}
	for i := range 30 {
		many.Failed = append(many.Failed, fmt.Sprint("Test", i))
		many.Functions = append(many.Functions, fmt.Sprint("f", i))
	}
	if got := many.String(); !strings.HasPrefix(got, "FAIL Test0 Test1 Test2 Test3 Test4 ...\n1 f0\n") || !strings.HasSuffix(got, "\n12 f11") {
		t.Errorf("%s", got)
	}
}
