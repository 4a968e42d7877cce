package edit

import (
	"fmt"
	"html"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// textVariant changes the texts of a real edit, and the file, as models and files do.
type textVariant struct {
	name, kind string
	made       bool // the edit should be made
	make       func(rnd *rand.Rand, e realEdit) (textCase, bool)
}

// textCase is one edit and the check of its result.
type textCase struct {
	content string
	r       Replacement
	hunk    []string // the same edit as lines of a hunk, or nil
	right   func(got string) bool
}

// plainText returns an edit as it is.
func plainText(e realEdit) textCase {
	want := e.truth()
	return textCase{e.Content, Replacement{Old: join2(e.old()), New: join2(e.new())}, e.Hunk, func(got string) bool { return got == want }}
}

func toCRLFText(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
func toCRText(s string) string   { return strings.ReplaceAll(s, "\n", "\r") }

// eachLine applies f to the text of the lines of a hunk with one of the markers.
func eachLine(hunk []string, ops string, f func(string) string) []string {
	out := slices.Clone(hunk)
	for i, l := range out {
		if strings.IndexByte(ops, l[0]) >= 0 {
			out[i] = l[:1] + f(l[1:])
		}
	}
	return out
}

// endings makes a variant of line endings: of the file, the old and the new text.
func endings(file, old, new func(string) string) func(*rand.Rand, realEdit) (textCase, bool) {
	return func(_ *rand.Rand, e realEdit) (textCase, bool) {
		c := plainText(e)
		want := file(e.truth())
		c.content, c.r.Old, c.r.New = file(c.content), old(c.r.Old), new(c.r.New)
		cr := func(f func(string) string) func(string) string {
			return func(l string) string { return strings.TrimSuffix(f(l+"\n"), "\n") }
		}
		c.hunk = eachLine(eachLine(e.Hunk, " -", cr(old)), "+", cr(new))
		c.right = func(got string) bool { return got == want }
		if strings.HasSuffix(new("x"), "\r") {
			c.hunk = nil
		}
		return c, len(e.old()) > 1 && len(e.new()) > 1 && toLF(c.r.Old) != toLF(c.r.New)
	}
}

func same1(s string) string { return s }

// escaping makes a variant with the characters of markup escaped.
func escaping(old, new func(string) string) func(*rand.Rand, realEdit) (textCase, bool) {
	return func(_ *rand.Rand, e realEdit) (textCase, bool) {
		c := plainText(e)
		o, n := old(c.r.Old), new(c.r.New)
		ok := (o != c.r.Old || n != c.r.New) && len(entities(e.Content)) == 0
		c.r.Old, c.r.New = o, n
		c.hunk = eachLine(eachLine(e.Hunk, " -", old), "+", new)
		return c, ok
	}
}

func escapeWith(form string) func(string) string {
	return func(s string) string {
		var b strings.Builder
		for _, r := range s {
			if strings.ContainsRune(markup, r) {
				fmt.Fprintf(&b, form, r)
			} else {
				b.WriteRune(r)
			}
		}
		return b.String()
	}
}

var (
	angles = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace
	byName = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;").Replace
	twice  = func(s string) string { return html.EscapeString(html.EscapeString(s)) }
)

// fancy replaces punctuation in the lines of the window in the file by what a word processor makes
// of it. The edit stays as it is, without seeing that.
func fancy(rnd *rand.Rand, e realEdit) (textCase, bool) {
	lines := strings.Split(e.Content, "\n")
	old := e.old()
	changed := false
	for i := range old {
		if rnd.IntN(2) == 0 {
			l := &lines[e.Start+i]
			was := *l
			*l = indentOf(was) + prettify(rnd, was[len(indentOf(was)):])
			changed = changed || *l != was
		}
	}
	content := join2(lines)
	c := textCase{content: content, r: Replacement{Old: join2(old), New: join2(e.new())}, hunk: e.Hunk}
	window := lines[e.Start : e.Start+len(old)]
	c.right = func(got string) bool { return unspliced(e, window, lines, got) }
	return c, changed && isASCII(join2(old)+join2(e.new())) && len(occurrences(content, c.r.Old)) == 0
}

func prettify(rnd *rand.Rand, s string) string {
	for _, p := range [][2]string{{" - ", " — "}, {"-", "–"}, {"-", "\u2011"}, {`"`, "“"}, {"'", "’"}, {"...", "…"}, {" ", "\u00a0"}} {
		if rnd.IntN(3) == 0 {
			s = strings.Replace(s, p[0], p[1], 1+rnd.IntN(3))
		}
	}
	if rnd.IntN(6) == 0 && len(s) > 3 && isASCII(s) {
		s = s[:2] + "\u200b" + s[2:]
	}
	return s
}

// unspliced reports whether a result is the intended one except for the punctuation of lines that
// changed, and every word there with typographic punctuation is a word of the file.
func unspliced(e realEdit, window, lines []string, got string) bool {
	out := strings.Split(got, "\n")
	n := len(e.new())
	if len(out) != len(lines)-len(window)+n || !slices.Equal(out[:e.Start], lines[:e.Start]) || !slices.Equal(out[e.Start+n:], lines[e.Start+len(window):]) {
		return false
	}
	words := map[string]bool{}
	for _, l := range window {
		for w := range strings.FieldsFuncSeq(l, func(r rune) bool { return r == ' ' || r == '\t' }) {
			words[w] = true
		}
	}
	j := e.Start
	for _, h := range e.Hunk {
		switch h[0] {
		case ' ', '+': // which of several equal lines are the old ones, nobody can say
			if trimRight(fold(out[j])) != trimRight(h[1:]) {
				return false
			}
			for w := range strings.FieldsFuncSeq(out[j], func(r rune) bool { return r == ' ' || r == '\t' }) {
				if !isASCII(w) && !words[w] {
					return false
				}
			}
			j++
		}
	}
	return true
}

// mixedFile writes the lines of a file with random line endings. The lines outside the edit and
// those it keeps must stay as they are.
func mixedFile(rnd *rand.Rand, e realEdit) (textCase, bool) {
	lines := strings.SplitAfter(e.Content, "\n")
	for i := range lines {
		if rnd.IntN(2) == 0 {
			lines[i] = toCRLFText(lines[i])
		}
	}
	c := plainText(e)
	c.content = strings.Join(lines, "")
	before, after := strings.Join(lines[:e.Start], ""), strings.Join(lines[e.Start+len(e.old()):], "")
	want := e.truth()
	c.right = func(got string) bool {
		return toLF(got) == want && strings.HasPrefix(got, before) && strings.HasSuffix(got, after) && !strings.Contains(got, "\r\r")
	}
	return c, true
}

var textVariants = []textVariant{
	{"CR LF in new", "A2", true, endings(same1, same1, toCRLFText)},
	{"CR LF in old", "A2", true, endings(same1, toCRLFText, same1)},
	{"CR LF in both", "A2", true, endings(same1, toCRLFText, toCRLFText)},
	{"CR in new", "A2", false, endings(same1, same1, toCRText)},
	{"CR in old", "A2", false, endings(same1, toCRText, same1)},
	{"CR in both", "A2", false, endings(same1, toCRText, toCRText)},
	{"half a CR LF at the end of new", "A2", false, endings(same1, same1, func(s string) string { return s + "\r" })},
	{"file with CR LF", "A2", true, endings(toCRLFText, same1, same1)},
	{"file with CR LF, CR LF in old", "A2", true, endings(toCRLFText, toCRLFText, same1)},
	{"file with CR LF, CR LF in new", "A2", true, endings(toCRLFText, same1, toCRLFText)},
	{"file with CR", "A2", true, endings(toCRText, same1, same1)},
	{"file with CR, CR LF in new", "A2", true, endings(toCRText, same1, toCRLFText)},
	{"file with CR, CR in both", "A2", true, endings(toCRText, toCRText, toCRText)},
	{"file with both", "A2", true, mixedFile},
	{"typographic file", "A3", false, fancy},
	{"both escaped for HTML", "A4", true, escaping(html.EscapeString, html.EscapeString)},
	{"both with < > & escaped", "A4", true, escaping(angles, angles)},
	{"both with named entities", "A4", true, escaping(byName, byName)},
	{"both with decimal entities", "A4", true, escaping(escapeWith("&#%d;"), escapeWith("&#%d;"))},
	{"both with hexadecimal entities", "A4", true, escaping(escapeWith("&#x%X;"), escapeWith("&#x%X;"))},
	{"both escaped twice", "A4", true, escaping(twice, twice)},
	{"old escaped", "A4", true, escaping(html.EscapeString, same1)},
	{"old with < > & escaped", "A4", true, escaping(angles, same1)},
	{"old escaped twice", "A4", true, escaping(twice, same1)},
	{"new escaped", "A4", false, escaping(same1, html.EscapeString)},
	{"new with < > & escaped", "A4", false, escaping(same1, angles)},
	{"new escaped twice", "A4", false, escaping(same1, twice)},
	{"file with entities", "A4", true, func(_ *rand.Rand, e realEdit) (textCase, bool) {
		c := plainText(e)
		want := html.EscapeString(e.truth())
		c.content, c.r.Old, c.r.New = html.EscapeString(c.content), html.EscapeString(c.r.Old), html.EscapeString(c.r.New)
		c.hunk = eachLine(e.Hunk, " -+", html.EscapeString)
		c.right = func(got string) bool { return got == want }
		return c, true
	}},
	{"file with entities, edit without", "A4", false, func(_ *rand.Rand, e realEdit) (textCase, bool) {
		c := plainText(e)
		c.content = html.EscapeString(c.content)
		if html.EscapeString(c.r.Old) == c.r.Old {
			return c, false
		}
		c.right = func(string) bool { return false }
		return c, true
	}},
}

// run makes the edits of a variant, as replacements and as patches.
func (v textVariant) run(t *testing.T, rnd *rand.Rand, edits []realEdit) (asText, asPatch tally) {
	for _, full := range edits {
		e := full.withContext(rnd.IntN(4))
		if !e.distinct() || slices.Equal(e.old(), e.new()) {
			continue
		}
		c, ok := v.make(rnd, e)
		if !ok || len(windows(levelTrimPunct, splitLines(crToLF(c.content)), e.old())) > 1 {
			continue
		}
		if c.r.Old != c.r.New && len(e.new()) > 0 {
			res, err := Replace(c.content, c.r)
			asText.count(t, v, "", c, res.Content, err)
		}
		if c.hunk == nil {
			continue
		}
		cs, err := ApplyPatch(files{"f": c.content}.read, envelope(append([]string{"*** Update File: f", "@@"}, c.hunk...)...))
		got := ""
		if err == nil {
			got = string(cs[0].Content)
		}
		asPatch.count(t, v, "patch: ", c, got, err)
	}
	return asText, asPatch
}

func (k *tally) count(t *testing.T, v textVariant, how string, c textCase, got string, err error) {
	switch {
	case err != nil:
		k.refused++
		if *showRefused != "" && strings.Contains(how+v.name, *showRefused) {
			t.Logf("%s%s: %v\n%q\n%q", how, v.name, err, c.r.Old, c.r.New)
		}
	case c.right(got):
		k.right++
	default:
		if k.wrong++; k.wrong <= *showWrong {
			t.Logf("%s%s: wrong\nold: %q\nnew: %q\ngot: %+q\n%s", how, v.name, c.r.Old, c.r.New, snip(got, c.content), wrongness(edited{}, got, c.content))
		}
	}
}

func snip(got, was string) string {
	h := commonPrefix(got, was)
	return got[max(0, h-200):min(len(got), h+400)] + "|||" + was[max(0, h-200):min(len(was), h+400)]
}
