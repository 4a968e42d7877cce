package edit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// similarFunctions returns a file of functions that hardly differ except in their number.
func similarFunctions(rnd *rand.Rand, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("func handle%d(r *Request) error {\n\tif err := r.check(); err != nil {\n\t\treturn err\n\t}\n\treturn r.send(\"code %d\", %d)\n}\n", i, i, rnd.IntN(3))
	}
	rnd.Shuffle(n, func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// TestSimilarFunctions edits one of many nearly identical functions. Only that one may change, and
// none if it is gone.
func TestSimilarFunctions(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	views := map[string]func(string) string{
		"exact":    strings.Clone,
		"dedented": func(s string) string { return strings.ReplaceAll(s, "\n\t", "\n") },
		"spaces":   func(s string) string { return strings.ReplaceAll(s, "\t", "    ") },
		"trailing": func(s string) string { return strings.ReplaceAll(s, "{\n", "{  \n") },
		"escaped":  func(s string) string { return strings.ReplaceAll(s, `"`, `\"`) },
		"spelled":  func(s string) string { return strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", `\n`) },
		"blank":    func(s string) string { return "\n" + s + "\n" },
		"numbered": func(s string) string {
			return numberWith("%5d\t%s", 1, strings.Split(strings.TrimSuffix(s, "\n"), "\n"))
		},
	}
	for round := range 60 {
		fs := similarFunctions(rnd, 40)
		k := rnd.IntN(len(fs))
		content := strings.Join(fs, "\n")
		was := fs[k]
		is := strings.Replace(was, "\treturn r.send", "\tr.log()\n\treturn r.send", 1)
		fs[k] = is
		want := strings.Join(fs, "\n")
		gone := strings.Join(slices.Delete(slices.Clone(fs), k, k+1), "\n")
		for name, view := range views {
			r := Replacement{Old: view(was), New: view(is)}
			res, err := Replace(content, r)
			if res.Content != want && (err == nil || name != "dedented") { // texts without indentation may be refused
				t.Fatalf("round %d, %s: %v\n%s", round, name, err, wrongness(edited{r: r}, res.Content, want))
			}
			if res, err := Replace(gone, r); err == nil {
				t.Fatalf("round %d, %s: made by %s though the function is gone", round, name, res.Strategy)
			}
		}
	}
}

// TestPatchCorpus applies real edits as patches: with a view of the text that is sometimes wrong,
// and in most cases with too little context to be certain.
func TestPatchCorpus(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	right, refused := 0, map[Kind]int{}
	for _, src := range sources(t, rnd, 120) {
		for range 8 {
			in, ok := pick(rnd, src)
			if !ok {
				break
			}
			f := func(l string) string { return l }
			switch rnd.IntN(4) {
			case 0:
				f = func(l string) string { return swapIndent(l, src.unit) }
				if commonIndent(in.old) == "" || !slices.ContainsFunc(in.old, func(l string) bool { return f(l) != l }) {
					continue // if such a hunk matches unchanged, it is meant that way
				}
			case 1:
				f = func(l string) string { return l + " " }
			}
			patch := envelope(append([]string{"*** Update File: f", "@@"}, hunkOf(in, 1+rnd.IntN(3), f)...)...)
			cs, err := ApplyPatch(files{"f": src.text}.read, patch)
			switch {
			case err != nil:
				refused[KindOf(err)]++
			case string(cs[0].Content) != in.result(src.lines) && !sameBut(string(cs[0].Content), in.result(src.lines)):
				t.Errorf("%s:%d: wrong:\n%s\n%s", src.path, in.from+1, patch, wrongness(edited{}, string(cs[0].Content), in.result(src.lines)))
			default:
				right++
			}
		}
	}
	t.Logf("right %d, refused %v", right, refused)
	if n := refused[Ambiguous] + right; right < 500 || n < 700 {
		t.Errorf("%d right of %d", right, n)
	}
}

// sameBut compares texts without trailing white space, which the patch's view may have introduced.
func sameBut(a, b string) bool {
	return slices.EqualFunc(strings.Split(a, "\n"), strings.Split(b, "\n"), func(x, y string) bool { return trimRight(x) == trimRight(y) })
}

// hunkOf formats an intent as the lines of a hunk, with the given number of context lines.
func hunkOf(in intent, context int, f func(string) string) []string {
	kept, _ := alignments(in.old, in.new)
	var out []string
	changed := map[int]bool{}
	steps := script(kept, len(in.old), len(in.new))
	for i, s := range steps {
		if s.old < 0 || s.new < 0 {
			for j := i - context; j <= i+context; j++ {
				changed[j] = true
			}
		}
	}
	first, last := len(steps), 0
	for i := range steps {
		if changed[i] {
			first, last = min(first, i), max(last, i)
		}
	}
	view := func(op, l string) string {
		if blank(l) {
			return op + l
		}
		return op + f(l)
	}
	for _, s := range steps[first : last+1] {
		switch {
		case s.old >= 0 && s.new >= 0:
			out = append(out, view(" ", in.old[s.old]))
		case s.old >= 0:
			out = append(out, view("-", in.old[s.old]))
		default:
			out = append(out, view("+", in.new[s.new]))
		}
	}
	return out
}

// TestHugeInputs is slow if anything is quadratic: then it fails by the time limit of the test run.
func TestHugeInputs(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const n = 50_000
	same, minified := strings.Repeat("same line\n", n), strings.Repeat("f(x);", n)
	numbered := numberWith("line %d %s", 0, make([]string, n))
	for name, r := range map[string]Replacement{
		"all lines alike, last one not": {Old: strings.Repeat("same line\n", n-1) + "other", New: "x"},
		"all lines alike but for space": {Old: strings.Repeat(" same line\n", n/2), New: "x"},
		"all of them":                   {Old: "same line \n", New: "x\n", All: true},
		"half a line":                   {Old: strings.Repeat("f(x);", n/2), New: "x"},
		"a long line, off":              {Old: strings.Repeat("f(x);", n/2) + "g(x);", New: "x"},
		"all lines, last one not":       {Old: numbered + "x", New: "x"},
		"escaped":                       {Old: strings.ReplaceAll(numbered, "\n", `\n`) + "x", New: "x"},
		"new is long":                   {Old: "line 7 ", New: numbered},
		"a slip":                        {Old: strings.Replace(numbered, "line 777 ", "lin 777 ", 1), New: numbered + "\nmore"},
		"base":                          {Old: "line 7 \n", New: "x\n", Base: strings.Replace(numbered, "line 9 \n", "", 1)},
	} {
		for _, content := range []string{same, minified, numbered} {
			if _, err := Replace(content, r); err != nil && KindOf(err) == "" {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := Merge(same, numbered, minified); KindOf(err) != Conflict {
		t.Error(err)
	}
	var hunks []string
	for i := range 2000 {
		hunks = append(hunks, "@@", fmt.Sprintf("-line %d ", i*20), "+changed")
	}
	if _, err := ApplyPatch(files{"f": numbered}.read, envelope(append([]string{"*** Update File: f"}, hunks...)...)); err != nil {
		t.Error(err)
	}
	if _, err := ApplyPatch(files{"f": same}.read, envelope("*** Update File: f", "@@ same line", "@@ same line", "-same line", "+x", "@@", "-same line", "+y")); KindOf(err) != Ambiguous {
		t.Error(err)
	}
}
