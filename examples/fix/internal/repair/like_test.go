package repair

import (
	"slices"
	"strings"
	"testing"
)

const likeSource = `package p

func (s Style) GetBold() bool {
	return s.getAsBool(boldKey, false)
}

func (s Style) GetItalic() bool {
	return s.getAsBool(italicKey, false) // as others
}

func (s Style) GetUnderline() bool {
	return s.getAsBool(underlineKey, false)
}

func (s Style) Width() int {
	for i := range s.lines {
		s.count += i
	}
	return s.count
}
`

// TestLike checks that lines that are similar to a line of a broken function are found in other
// functions, where they are right and suggest the repair.
//
// Evidence: repair · Near names and similar lines are offered
func TestLike(t *testing.T) {
	n, fns := namesOf(t, "p.go", likeSource)
	f := fns["Style.GetUnderline"]
	f.Text = strings.Replace(f.Text, "underlineKey", "boldKey", 1)
	want := []string{"GetItalic\treturn s.getAsBool(italicKey, false)"} // GetBold's line also occurs in the broken function
	if got := n.Like(f, nil); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	f.Text = strings.Replace(f.Text, "boldKey", "blinkKey", 1)
	got := n.Like(f, []Mark{Run, Run, NotRun})
	if len(got) != 2 || !slices.Contains(got, want[0]) || !slices.Contains(got, "GetBold\treturn s.getAsBool(boldKey, false)") {
		t.Errorf("got %q, want the lines of both others", got)
	}
	if got := n.Like(f, []Mark{Run, NotRun, Run}); len(got) > 0 {
		t.Errorf("%q are like lines that failing tests did not run", got)
	}
}

// TestLikeTellsNothingOfTheFunctionItself checks that the right line of the function itself is not
// returned.
func TestLikeTellsNothingOfTheFunctionItself(t *testing.T) {
	n, fns := namesOf(t, "p.go", likeSource)
	for _, f := range fns {
		for i, l := range strings.Split(f.Text, "\n") {
			broken := f
			broken.Text = f.Edited(i+1, strings.TrimSpace(strings.Replace(l, "s.", "t.", 1)))
			for _, got := range n.Like(broken, nil) {
				if _, text, _ := strings.Cut(got, "\t"); text == bare(l) {
					t.Errorf("%s: %q is its own line", f.Name, got)
				}
			}
		}
	}
}

func TestLikeLimits(t *testing.T) {
	var b strings.Builder
	b.WriteString("package p\n\nfunc f() {\n")
	for i := range 20 {
		b.WriteString("\tx.call(alpha, y.first, y.second, beta" + strings.Repeat("x", i) + ")\n")
	}
	b.WriteString("}\n\nfunc g() {\n")
	for i := range 20 {
		b.WriteString("\tx.call(alpha, y.first, y.second, gamma" + strings.Repeat("y", i) + ")\n\tcall(" + strings.Repeat("z", 100) + ", alpha)\n")
	}
	b.WriteString("}\n")
	n, fns := namesOf(t, "p.go", b.String())
	got := n.Like(fns["f"], nil)
	if size := len(strings.Join(got, "\n")) + 1; len(got) < maxLike-1 || len(got) > maxLike || size > maxLikeBytes {
		t.Errorf("%d lines of %d bytes", len(got), size)
	}
	shown := withPackage("func 1 p.go\n1\tfunc f() {", Ranked{Names: []string{"a"}, Like: got})
	if !strings.Contains(shown, "\nnames a\nlike\ng\tx.call(") || Shows(shown, 2) {
		t.Errorf("%q", shown)
	}
}
