package repair_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

func wordsOf(t testing.TB, dir string, env ...string) (*repair.Checker, *repair.Words) {
	t.Helper()
	c, err := repair.NewChecker(t.Context(), dir, ".", append(os.Environ(), env...)...)
	if err != nil {
		t.Fatal(err)
	}
	w := c.Words()
	if w == nil || w != c.Words() {
		t.Fatal("the words are not known, or made twice")
	}
	return c, w
}

// TestMay checks that an unknown name is rejected as soon as no known name has its beginning, and
// that the declaration of a name is not rejected.
//
// Evidence: repair · Names that do not exist are not tried
func TestMay(t *testing.T) {
	_, w := wordsOf(t, writeTree(t, calc), "GOWORK=off")
	for _, tt := range []struct {
		line string
		upTo string // the first beginning that is rejected; "" if the line is valid; the whole line if only its end is rejected
	}{
		{"return strings.ToUpper(\"x\")", ""},
		{"return strings.EqualFold(a, \"no such words, but a text\")", "return strings.EqualFold(a,"},
		{"return strings.NewReader(s).ReadByte()", ""}, // known through a type
		{"return strings.NewReader(s).r.s", "return strings.NewReader(s).r."},
		{"if x < mm {", "if x < mm"},
		{"if x < maximum {", "if x < maxi"},
		{"fresh := Max(xs)", ""},
		{"fresh, other := Max(xs), fresh", ""},
		{"fresh = Max(xs)", "fresh ="},
		{"fresh.x()", "fresh."},
		{"fresh", "fresh"},
		{"if fresh := Max(xs); fresh < m && fres > 2 {", "if fresh := Max(xs); fresh < m && fres "},
		{"for fresh, m := range xs {", ""},
		{"for m < 3; fresh++ {", "for m < 3; fresh+"},
		{"case fresh: m", "case fresh: "},
		{"return func(fresh int) int { return fresh }", ""},
		{"m = 0x1F + 1e9 // nothing of this is code", ""},
		{"m = 'x' + \"\\\"quoted\" + `raw \\`", ""},
		{"x := \"open", ""},
		{"m /= /* anything */ other", ""},
		{"ж := m", ""},
		{"ж = m", "ж ="},
	} {
		for i := range len(tt.line) + 1 {
			got, refused := w.May(tt.line[:i], false), tt.upTo != "" && tt.upTo != tt.line && i >= len(tt.upTo)
			if got == refused {
				t.Errorf("%q may begin a line: %v", tt.line[:i], got)
				break
			}
		}
		if got := w.May(tt.line, true); got != (tt.upTo == "") {
			t.Errorf("%q may be a line: %v", tt.line, got)
		}
	}
}

// TestMayCode checks that no line that compiles is rejected, nor any beginning of it.
//
// Evidence: repair · Names that do not exist are not tried
func TestMayCode(t *testing.T) {
	lines := 0
	for _, dir := range []string{".", "../../../../agent", "../../../../router/moe", "../harness", "../train"} {
		c, w := wordsOf(t, dir) // go.work combines it with the root module
		for _, file := range c.Files() {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			fns, err := repair.Functions(file, src)
			if err != nil {
				t.Fatal(err)
			}
			for _, fn := range fns {
				if strings.Count(fn.Text, "`") > 0 { // lines may be inside a raw string
					continue
				}
				for _, l := range strings.Split(fn.Text, "\n")[1:] {
					l = strings.TrimSpace(l)
					lines++
					for i := range len(l) + 1 {
						if !w.May(l[:i], false) {
							t.Errorf("%s: %q is refused", filepath.Base(file), l[:i])
							break
						}
					}
					if !w.May(l, true) {
						t.Errorf("%s: %q is refused as a whole", filepath.Base(file), l)
					}
				}
			}
		}
	}
	if lines < 5000 {
		t.Errorf("only %d lines", lines)
	}
}

// TestEditedText checks that the line in an answer can be read while the answer is being generated.
func TestEditedText(t *testing.T) {
	const line = "if x < m { // <parameter=text>"
	answer := repair.AnswerEdit(12, line)
	began, ended := false, false
	for i := range len(answer) + 1 {
		text, whole, ok := repair.EditedText(answer[:i])
		if ok != (began || ok) || whole != (ended || whole) || !strings.HasPrefix(line, text) || whole && text != line {
			t.Fatalf("%q: %q, %v, %v", answer[:i], text, whole, ok)
		}
		began, ended = ok, whole
	}
	if !ended {
		t.Errorf("the line of %q never ends", answer)
	}
	for _, other := range []string{"", repair.AnswerRun(), repair.AnswerRead(3), repair.AnswerDone()} {
		if text, whole, ok := repair.EditedText(other); ok || whole || text != "" {
			t.Errorf("%q gives a line %q", other, text)
		}
	}
}

// FuzzMay checks that any text that begins with a rejected text is rejected, which a search relies
// on.
//
// Evidence: repair · Names that do not exist are not tried
func FuzzMay(f *testing.F) {
	for _, s := range []string{"if x < m {", "a, b := f(), \"t\\\"x\"; c", "for i := range xs { fresh := 1 }", "case a: `r`", "x /* y */ z", "'", "func(a", "é:=1", "a:b", "a: =b"} {
		f.Add(s)
	}
	_, w := wordsOf(f, writeTree(f, calc), "GOWORK=off")
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 500 {
			return
		}
		refused := false
		for i := range len(s) + 1 {
			may := w.May(s[:i], false)
			if refused && may {
				t.Fatalf("%q may begin a line, but not how it begins", s[:i])
			}
			refused = !may
		}
		if refused && w.May(s, true) {
			t.Fatalf("%q may be a line, but does not begin one", s)
		}
	})
}

func BenchmarkMay(b *testing.B) {
	_, w := wordsOf(b, writeTree(b, calc), "GOWORK=off")
	b.ReportAllocs()
	for b.Loop() {
		w.May("for _, x := range check(xs) { m = strings.ToUpper(\"x\") ", false)
	}
}
