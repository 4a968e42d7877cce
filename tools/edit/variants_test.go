package edit

import (
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
)

// Flags for measuring with other edits.
var (
	editFiles   = flag.String("edits", "", "files of recorded edits for TestEditVariants, separated by commas")
	editRepos   = flag.String("repos", "", "git repositories whose commits TestEditVariants takes, separated by commas")
	showRefused = flag.String("refused", "", "show refusals of the variants of this name")
	showWrong   = flag.Int("wrong", 3, "how many wrong edits of a variant are shown")
)

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

// TestEditVariants makes edits of real commits with the slips of models in them: old texts without
// the file's indentation while the new text has it (A1), other line endings (A2), files with
// typographic punctuation (A3) and texts escaped for HTML (A4), as replacements and as patches.
// None may come out wrong, and nearly all of A1 must be made. The sample in testdata is from this
// project and written for the purpose. The long tier takes 2,000 hunks from the history of the
// checkout; other repositories are named by -args -repos DIR,DIR, recorded hunks by -edits
// FILE,FILE.
//
// Evidence: edit · An old text without the file's indentation does not make an edit go wrong
func TestEditVariants(t *testing.T) {
	sets := map[string][]realEdit{"testdata/edits.jsonl": loadEdits(t, "testdata/edits.jsonl")}
	if tier.Long() && *editFiles == "" && *editRepos == "" {
		sets["."] = historyEdits(t, ".", 2500)
	}
	for name := range strings.FieldsFuncSeq(*editFiles, isComma) {
		sets[name] = loadEdits(t, name)
	}
	for name := range strings.FieldsFuncSeq(*editRepos, isComma) {
		sets[name] = historyEdits(t, name, 2500)
	}
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		t.Run(strings.ReplaceAll(name, "/", "_"), func(t *testing.T) {
			if len(sets[name]) == 0 {
				t.Skip("no history")
			}
			t.Logf("%d edits", len(sets[name]))
			makeVariants(t, sets[name])
		})
	}
}

func isComma(r rune) bool { return r == ',' }

// Percentages of the edits of kind A1 that must be made. In a few edits a single one counts much.
const (
	minMade         = 95
	minMadeOfSample = 92
)

func makeVariants(t *testing.T, edits []realEdit) {
	rnd := rand.New(rand.NewPCG(1, 2))
	sum := map[string]*tally{"exact": {}, "A1": {}, "both": {}, "A2": {}, "A3": {}, "A4": {}}
	add := func(kind, name string, c tally) {
		t.Logf("%-5s %-46s %6d made %6d (%.1f%%) refused %6d wrong %4d", kind, name, c.n(), c.right, percent(c), c.refused, c.wrong)
		s := sum[kind]
		s.right, s.refused, s.wrong = s.right+c.right, s.refused+c.refused, s.wrong+c.wrong
	}
	for _, v := range variants {
		add(v.kind, v.name, runVariant(t, rnd, edits, v))
	}
	for _, v := range patchVariants {
		add(v.kind, "patch: "+v.name, runPatchVariant(t, rnd, edits, v))
	}
	for _, v := range textVariants {
		asText, asPatch := v.run(t, rnd, edits)
		add(v.kind, v.name, asText)
		add(v.kind, "patch: "+v.name, asPatch)
	}
	for _, kind := range slices.Sorted(maps.Keys(sum)) {
		c := *sum[kind]
		t.Logf("%-5s %-46s %6d made %6d (%.1f%%) refused %6d wrong %4d", kind, "all", c.n(), c.right, percent(c), c.refused, c.wrong)
		if allowed := c.n() * unclearPer10000[kind] / 10_000; c.wrong > allowed {
			t.Errorf("%s: %d of %d edits went wrong, %d may", kind, c.wrong, c.n(), allowed)
		}
	}
	want := minMade
	if len(edits) < 1000 {
		want = minMadeOfSample
	}
	if c := *sum["A1"]; percent(c) < float64(want) {
		t.Errorf("%.1f%% of the edits of A1 were made, want at least %d%%", percent(c), want)
	}
}

// unclearPer10000 holds how many of 10,000 edits may go wrong, by kind. Nothing in such an edit
// tells what it means: the commit itself moves lines by exactly the indentation that the slip takes
// from the old text, and the wrong reading is the natural one.
var unclearPer10000 = map[string]int{"A1": 3, "both": 8}

func percent(c tally) float64 { return 100 * float64(c.right) / float64(max(1, c.n())) }

// runVariant makes the edits of a variant as replacements.
func runVariant(t *testing.T, rnd *rand.Rand, edits []realEdit, v variant) (c tally) {
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
			if *showRefused != "" && strings.Contains(v.name, *showRefused) && rnd.IntN(10) == 0 {
				t.Logf("%s: %s:%d %v\nold:\n%s\nnew:\n%s", v.name, e.Path, e.Start+1, err, r.Old, r.New)
			}
		case res.Content == want, sameBut(res.Content, want):
			c.right++
		default:
			if c.wrong++; c.wrong <= *showWrong {
				t.Logf("%s: %s:%d by %s\n%s", v.name, e.Path, e.Start+1, res.Strategy, wrongness(edited{r: r}, res.Content, want))
			}
		}
	}
	return c
}

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

// runPatchVariant makes the edits of a variant as patches.
func runPatchVariant(t *testing.T, rnd *rand.Rand, edits []realEdit, v patchVariant) (c tally) {
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
			if *showRefused != "" && strings.Contains("patch "+v.name, *showRefused) && rnd.IntN(10) == 0 {
				t.Logf("%s: %s:%d %v\n%s", v.name, e.Path, e.Start+1, err, patch)
			}
		case string(cs[0].Content) == want, sameBut(string(cs[0].Content), want):
			c.right++
		default:
			if c.wrong++; c.wrong <= *showWrong {
				t.Logf("patch %s: %s:%d\n%s\n%s", v.name, e.Path, e.Start+1, patch, wrongness(edited{}, string(cs[0].Content), want))
			}
		}
	}
	return c
}
