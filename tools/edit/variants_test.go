package edit

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var editFiles = flag.String("edits", "", "files of recorded edits for TestEditVariants, separated by commas")

// variant changes the two sides of a real edit as models do. ok is false if it does not apply.
type variant struct {
	name string
	kind string // A1 to A4 of the list of slips, or "both": old and new slipped alike
	made bool   // the edit should be made
	make func(rnd *rand.Rand, e realEdit) (old, new []string, ok bool)
}

func oldOnly(f func(ls []string, e realEdit) []string) func(*rand.Rand, realEdit) ([]string, []string, bool) {
	return func(_ *rand.Rand, e realEdit) ([]string, []string, bool) {
		was := e.old()
		old := f(slices.Clone(was), e)
		return old, e.new(), old != nil && !slices.Equal(old, was)
	}
}

func bothSides(f func(ls []string, e realEdit) []string) func(*rand.Rand, realEdit) ([]string, []string, bool) {
	return func(_ *rand.Rand, e realEdit) ([]string, []string, bool) {
		was := e.old()
		old, new := f(slices.Clone(was), e), f(e.new(), e)
		return old, new, old != nil && new != nil && !slices.Equal(old, was)
	}
}

func unitOfEdit(e realEdit) string {
	u := unitOf(splitLines(e.Content))
	switch {
	case u.char == '\t':
		return "\t"
	case u.char == ' ' && u.width > 1:
		return strings.Repeat(" ", u.width)
	}
	return "    "
}

// dedentAll removes the indentation that all lines of both sides share.
func dedentAll(ls []string, e realEdit) []string {
	cut := commonIndent(append(e.old(), e.new()...))
	return mapLines(ls, func(l string) string { return strings.TrimPrefix(l, cut) })
}

func dedentOwn(ls []string, _ realEdit) []string {
	cut := commonIndent(ls)
	return mapLines(ls, func(l string) string { return strings.TrimPrefix(l, cut) })
}

func dedentStep(ls []string, e realEdit) []string {
	u := unitOfEdit(e)
	if !strings.HasPrefix(commonIndent(append(e.old(), e.new()...)), u) {
		return nil
	}
	return mapLines(ls, func(l string) string { return strings.TrimPrefix(l, u) })
}

func indentStep(ls []string, e realEdit) []string {
	return mapLines(ls, func(l string) string { return unitOfEdit(e) + l })
}

func stripEach(ls []string, _ realEdit) []string { return mapLines(ls, trimLeft) }

func stripFirst(ls []string, _ realEdit) []string {
	if len(ls) > 0 {
		ls[0] = trimLeft(ls[0])
	}
	return ls
}

func swapChar(ls []string, e realEdit) []string {
	u := unitOfEdit(e)
	return mapLines(ls, func(l string) string { return swapIndent(l, u) })
}

var variants = []variant{
	{"as it is", "exact", true, func(_ *rand.Rand, e realEdit) ([]string, []string, bool) { return e.old(), e.new(), true }},
	{"old dedented", "A1", true, oldOnly(dedentOwn)},
	{"old dedented one step", "A1", true, oldOnly(dedentStep)},
	{"old stripped line by line", "A1", true, oldOnly(stripEach)},
	{"old stripped in its first line", "A1", true, oldOnly(stripFirst)},
	{"old too deep", "A1", true, oldOnly(indentStep)},
	{"old with the other indent character", "A1", true, oldOnly(swapChar)},
	{"old with the other character, dedented", "A1", true, oldOnly(func(ls []string, e realEdit) []string { return swapChar(dedentOwn(ls, e), e) })},
	{"both dedented", "both", false, bothSides(dedentAll)},
	{"both dedented one step", "both", false, bothSides(dedentStep)},
	{"both too deep", "both", false, bothSides(indentStep)},
	{"both stripped in the first line", "both", false, func(_ *rand.Rand, e realEdit) ([]string, []string, bool) {
		old, new := e.old(), e.new()
		if len(new) == 0 || indentOf(old[0]) != indentOf(new[0]) || indentOf(old[0]) == "" {
			return nil, nil, false
		}
		return stripFirst(old, e), stripFirst(new, e), true
	}},
	{"both with the other indent character", "both", false, bothSides(swapChar)},
}

// TestEditVariants makes edits of real commits with the slips of models in them. None may come out
// wrong.
func TestEditVariants(t *testing.T) {
	if *editFiles == "" {
		t.Skip()
	}
	for name := range strings.SplitSeq(*editFiles, ",") {
		edits := loadEdits(t, name)
		rnd := rand.New(rand.NewPCG(1, 2))
		for _, v := range variants {
			runVariant(t, rnd, edits, v)
		}
		for _, v := range patchVariants {
			runPatchVariant(t, rnd, edits, v)
		}
		for _, v := range textVariants {
			a, b := v.run(t, rnd, edits)
			for i, c := range []tally{a, b} {
				t.Logf("%-5s %-42s %6d made %6d (%.1f%%) refused %6d wrong %4d", v.kind, []string{"", "patch: "}[i]+v.name, c.n(), c.right, 100*float64(c.right)/float64(max(1, c.n())), c.refused, c.wrong)
			}
		}
	}
}

func runVariant(t *testing.T, rnd *rand.Rand, edits []realEdit, v variant) {
	var c tally
	kinds := map[Kind]int{}
	for _, full := range edits {
		e := full.withContext(rnd.IntN(4))
		if !e.distinct() {
			continue
		}
		old, new, ok := v.make(rnd, e)
		if !ok {
			continue
		}
		r := Replacement{Old: join2(old), New: join2(new)}
		if rnd.IntN(2) == 0 && len(new) > 0 {
			r.Old, r.New = r.Old+"\n", r.New+"\n"
		} else if len(new) == 0 {
			r.Old += "\n"
		}
		if r.Old == r.New {
			continue
		}
		res, err := Replace(e.Content, r)
		switch want := e.truth(); {
		case err != nil:
			c.refused++
			kinds[KindOf(err)]++
			if *showRefused != "" && strings.Contains(v.name, *showRefused) && rnd.IntN(10) == 0 {
				t.Logf("%s: %s:%d %v\nold:\n%s\nnew:\n%s", v.name, e.Path, e.Start+1, err, r.Old, r.New)
			}
		case res.Content == want:
			c.right++
		case sameBut(res.Content, want):
			c.right++
			kinds["trailing space"]++
		default:
			c.wrong++
			if c.wrong < *showWrong {
				t.Errorf("%s: %s:%d by %s\n%s", v.name, e.Path, e.Start+1, res.Strategy, wrongness(edited{r: r}, res.Content, want))
			}
		}
	}
	t.Logf("%-5s %-42s %6d made %6d (%.1f%%) refused %6d wrong %4d %v", v.kind, v.name, c.n(), c.right, 100*float64(c.right)/float64(max(1, c.n())), c.refused, c.wrong, kinds)
	if c.wrong > 0 {
		t.Fail()
	}
}

var (
	showRefused = flag.String("refused", "", "show refused")
	showWrong   = flag.Int("wrong", 3, "show wrong")
)

// patchVariant changes the lines of a hunk.
type patchVariant struct {
	name, kind string
	make       func(e realEdit) ([]string, bool)
}

func hunkLines(ops string, f func(l string, e realEdit) string) func(e realEdit) ([]string, bool) {
	return func(e realEdit) ([]string, bool) {
		out := slices.Clone(e.Hunk)
		changed := false
		for i, l := range out {
			if strings.IndexByte(ops, l[0]) >= 0 && !blank(l[1:]) {
				out[i] = l[:1] + f(l[1:], e)
				changed = changed || out[i] != l && l[0] != '+'
			}
		}
		return out, changed
	}
}

var patchVariants = []patchVariant{
	{"as it is", "exact", func(e realEdit) ([]string, bool) { return e.Hunk, true }},
	{"old lines dedented", "A1", hunkLines(" -", func(l string, e realEdit) string { return strings.TrimPrefix(l, commonIndent(e.old())) })},
	{"old lines stripped", "A1", hunkLines(" -", func(l string, e realEdit) string { return trimLeft(l) })},
	{"context stripped", "A1", hunkLines(" ", func(l string, e realEdit) string { return trimLeft(l) })},
	{"context lacks a space", "A1", hunkLines(" ", func(l string, e realEdit) string { return strings.TrimPrefix(l, " ") })},
	{"old lines dedented one step", "A1", hunkLines(" -", func(l string, e realEdit) string { return strings.TrimPrefix(l, unitOfEdit(e)) })},
	{"old lines with the other indent character", "A1", hunkLines(" -", func(l string, e realEdit) string { return swapIndent(l, unitOfEdit(e)) })},
	{"all dedented", "both", hunkLines(" -+", func(l string, e realEdit) string {
		return strings.TrimPrefix(l, commonIndent(append(e.old(), e.new()...)))
	})},
	{"all too deep", "both", hunkLines(" -+", func(l string, e realEdit) string { return " " + l })},
}

func runPatchVariant(t *testing.T, rnd *rand.Rand, edits []realEdit, v patchVariant) {
	var c tally
	kinds := map[Kind]int{}
	for _, full := range edits {
		e := full.withContext(rnd.IntN(4))
		if !e.distinct() || slices.Equal(e.old(), e.new()) {
			continue
		}
		lines, ok := v.make(e)
		if !ok {
			continue
		}
		patch := envelope(append([]string{"*** Update File: f", "@@"}, lines...)...)
		cs, err := ApplyPatch(files{"f": e.Content}.read, patch)
		switch want := e.truth(); {
		case err != nil:
			c.refused++
			kinds[KindOf(err)]++
			if *showRefused != "" && strings.Contains("patch "+v.name, *showRefused) && rnd.IntN(10) == 0 {
				t.Logf("%s: %s:%d %v\n%s", v.name, e.Path, e.Start+1, err, patch)
			}
		case string(cs[0].Content) == want:
			c.right++
		case sameBut(string(cs[0].Content), want):
			c.right++
			kinds["trailing space"]++
		default:
			c.wrong++
			if c.wrong < *showWrong {
				t.Errorf("patch %s: %s:%d\n%s\n%s", v.name, e.Path, e.Start+1, patch, wrongness(edited{}, string(cs[0].Content), want))
			}
		}
	}
	t.Logf("%-5s %-42s %6d made %6d (%.1f%%) refused %6d wrong %4d %v", v.kind, "patch: "+v.name, c.n(), c.right, 100*float64(c.right)/float64(max(1, c.n())), c.refused, c.wrong, kinds)
	if c.wrong > 0 {
		t.Fail()
	}
}

var _ = fmt.Sprint
