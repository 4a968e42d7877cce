package edit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// mutation turns an intended edit into the edit that a model requests; ok is false if the mutation
// does not apply.
type mutation struct {
	name  string
	apply bool // the edit should be made
	make  func(rnd *rand.Rand, in intent) (e edited, ok bool)
}

// mutations lists typical mistakes in the edits of models, and peculiarities of files.
var mutations = []mutation{
	{"exact", true, same2(nil)},
	{"trailing space in old", true, func(rnd *rand.Rand, in intent) (edited, bool) {
		e := plainCase(in)
		e.r.Old = join2(in.old[:1]) + "  \n" + join2(in.old[1:]) + " \t"
		return e, true
	}},
	{"trailing space in file", true, func(rnd *rand.Rand, in intent) (edited, bool) {
		lines := slices.Clone(in.src.lines)
		for i := in.from; i < in.to; i++ {
			lines[i] += strings.Repeat(" ", rnd.IntN(3))
		}
		lines[in.from] += " "
		return fileCase(in, lines)
	}},
	{"dedented", true, func(_ *rand.Rand, in intent) (edited, bool) {
		cut := commonIndent(in.old)
		if c := commonIndent(in.new); len(c) < len(cut) {
			cut = c
		}
		return same2(func(l string) string { return l[len(cut):] })(nil, in)
	}},
	{"over-indented", true, func(_ *rand.Rand, in intent) (edited, bool) {
		return same2(func(l string) string { return in.src.unit + l })(nil, in)
	}},
	{"tabs for spaces", true, func(_ *rand.Rand, in intent) (edited, bool) {
		return same2(func(l string) string { return swapIndent(l, in.src.unit) })(nil, in)
	}},
	{"tabs for spaces, dedented", true, func(_ *rand.Rand, in intent) (edited, bool) {
		cut := commonIndent(append(slices.Clone(in.old), in.new...))
		return same2(func(l string) string { return swapIndent(l[len(cut):], in.src.unit) })(nil, in)
	}},
	{"first line dedented", true, func(_ *rand.Rand, in intent) (edited, bool) {
		e := plainCase(in)
		e.r.Old, e.r.New = trimLeft(e.r.Old), trimLeft(e.r.New)
		return e, indentOf(in.old[0]) == indentOf(in.new[0])
	}},
	{"first line dedented, trailing space", true, func(_ *rand.Rand, in intent) (edited, bool) {
		e := plainCase(in)
		e.r.Old, e.r.New = trimLeft(e.r.Old)+" ", trimLeft(e.r.New)
		return e, indentOf(in.old[0]) == indentOf(in.new[0])
	}},
	{"blank lines around", true, func(rnd *rand.Rand, in intent) (edited, bool) {
		e := plainCase(in)
		head, tail := strings.Repeat("\n", rnd.IntN(3)), strings.Repeat("\n", 1+rnd.IntN(2))
		e.r.Old, e.r.New = head+e.r.Old+tail, head+e.r.New+tail
		return e, true
	}},
	{"blank lines around, dedented", true, func(_ *rand.Rand, in intent) (edited, bool) {
		cut := commonIndent(append(slices.Clone(in.old), in.new...))
		e, ok := same2(func(l string) string { return l[len(cut):] })(nil, in)
		e.r.Old, e.r.New = "\n"+e.r.Old+"\n", "\n"+e.r.New+"\n"
		return e, ok
	}},
	{"typographic punctuation", true, func(_ *rand.Rand, in intent) (edited, bool) {
		return typographic(in, func(l string) string { return l })
	}},
	{"typographic punctuation, dedented", true, func(_ *rand.Rand, in intent) (edited, bool) {
		cut := commonIndent(append(slices.Clone(in.old), in.new...))
		return typographic(in, func(l string) string { return l[len(cut):] })
	}},
	{"crlf file", true, func(_ *rand.Rand, in intent) (edited, bool) { return toCRLF(plainCase(in)), true }},
	{"crlf file, dedented", true, func(_ *rand.Rand, in intent) (edited, bool) {
		cut := commonIndent(append(slices.Clone(in.old), in.new...))
		e, ok := same2(func(l string) string { return l[len(cut):] })(nil, in)
		return toCRLF(e), ok
	}},
	{"crlf edit", true, func(_ *rand.Rand, in intent) (edited, bool) {
		e := plainCase(in)
		e.r.Old, e.r.New = strings.ReplaceAll(e.r.Old, "\n", "\r\n"), strings.ReplaceAll(e.r.New, "\n", "\r\n")
		return e, true
	}},
	{"byte order mark", true, func(_ *rand.Rand, in intent) (edited, bool) {
		e := plainCase(in)
		e.content, e.right = bom+e.content, []string{bom + e.right[0]}
		return e, true
	}},
	{"no final newline", true, func(_ *rand.Rand, in intent) (edited, bool) {
		lines := in.src.lines[:in.to]
		e, ok := fileCase(in, lines)
		e.content, e.right = strings.TrimSuffix(e.content, "\n"), []string{strings.TrimSuffix(e.right[0], "\n")}
		e.r.Old, e.r.New = e.r.Old+"\n", e.r.New+"\n"
		return e, ok
	}},
	{"line numbers", true, func(rnd *rand.Rand, in intent) (edited, bool) {
		form := []string{"%6d\t%s", "%6d→%s", "%d | %s", "%d: %s", "L%d: %s"}[rnd.IntN(5)]
		e := plainCase(in)
		e.r.Old, e.r.New = numberWith(form, in.from+1, in.old), numberWith(form, in.from+1, in.new)
		return e, true
	}},
	{"spelled line breaks", true, func(_ *rand.Rand, in intent) (edited, bool) {
		e := plainCase(in)
		e.r.Old, e.r.New = strings.ReplaceAll(e.r.Old, "\n", `\n`), strings.ReplaceAll(e.r.New, "\n", `\n`)
		return e, true
	}},
	{"escaped quotes", true, func(_ *rand.Rand, in intent) (edited, bool) {
		e := plainCase(in)
		ok := strings.Contains(e.r.Old, `"`)
		e.r.Old, e.r.New = strings.ReplaceAll(e.r.Old, `"`, `\"`), strings.ReplaceAll(e.r.New, `"`, `\"`)
		return e, ok
	}},
	{"escaped throughout", true, func(_ *rand.Rand, in intent) (edited, bool) {
		e := plainCase(in)
		esc := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)
		e.r.Old, e.r.New = esc.Replace(e.r.Old), esc.Replace(e.r.New)
		return e, true
	}},
	{"dollars", true, func(_ *rand.Rand, in intent) (edited, bool) {
		in.new = append(slices.Clone(in.new), in.src.comment+" $& $1 $$ $` ${x} \\1 \\g<0> %s %d")
		return plainCase(in), true
	}},
	{"deleted block", true, func(_ *rand.Rand, in intent) (edited, bool) {
		in.new = nil
		e := plainCase(in)
		e.r.Old, e.r.New = join2(in.old)+"\n", ""
		return e, true
	}},
	{"deleted block, trailing space", true, func(_ *rand.Rand, in intent) (edited, bool) {
		in.new = nil
		e := plainCase(in)
		e.r.Old, e.r.New = join2(in.old)+" \n", ""
		return e, true
	}},
	{"slip that the new text sets right", true, func(rnd *rand.Rand, in intent) (edited, bool) {
		k, bad, ok := slip(rnd, in)
		if !ok || !slices.Contains(in.new, in.old[k]) {
			return edited{}, false
		}
		e := plainCase(in)
		old := slices.Clone(in.old)
		old[k] = bad
		e.r.Old = join2(old)
		return e, len(occurrences(in.src.text, e.r.Old)) == 0
	}},
	{"changed elsewhere, with base", true, func(rnd *rand.Rand, in intent) (edited, bool) {
		e := plainCase(in)
		k := rnd.IntN(len(in.src.lines))
		if k >= in.from-1 && k <= in.to {
			return edited{}, false
		}
		return userChange(in, e, k), true
	}},
	{"changed in a kept line, with base", true, func(rnd *rand.Rand, in intent) (edited, bool) {
		e := plainCase(in)
		kept, _ := alignments(in.old, in.new)
		if len(kept) == 0 {
			return edited{}, false
		}
		k := kept[rnd.IntN(len(kept))].a
		if blank(in.old[k]) {
			return edited{}, false
		}
		e.r.Base = in.src.text
		lines := slices.Clone(in.src.lines)
		lines[in.from+k] += " user"
		e.content = join2(lines) + "\n"
		fresh := slices.Clone(in.new)
		for _, p := range kept {
			if p.a == k {
				fresh[p.b] += " user"
			}
		}
		in.new = fresh
		e.right = []string{in.result(lines)}
		return e, true
	}},
	{"all places", true, func(rnd *rand.Rand, in intent) (edited, bool) {
		lines := append(slices.Clone(in.src.lines), in.old...)
		e, ok := fileCase(in, lines)
		e.r.All = true
		e.right = []string{strings.ReplaceAll(e.content, e.r.Old, e.r.New)}
		return e, ok
	}},

	{"twice", false, func(_ *rand.Rand, in intent) (edited, bool) {
		return fileCase(in, append(slices.Clone(in.src.lines), in.old...))
	}},
	{"twice but for indentation", false, func(_ *rand.Rand, in intent) (edited, bool) {
		deeper := mapLines(in.old, func(l string) string { return in.src.unit + l })
		e, ok := fileCase(in, append(slices.Clone(in.src.lines), deeper...))
		cut := commonIndent(append(slices.Clone(in.old), in.new...))
		e.r.Old = join2(mapLines(in.old, func(l string) string { return l[len(cut):] }))
		e.r.New = join2(mapLines(in.new, func(l string) string { return l[len(cut):] }))
		return e, ok && cut != "" && len(occurrences(e.content, e.r.Old)) == 0
	}},
	{"twice but for trailing space", false, func(_ *rand.Rand, in intent) (edited, bool) {
		a := mapLines(in.old, func(l string) string { return l + " " })
		b := mapLines(in.old, func(l string) string { return l + "  " })
		lines := slices.Concat(in.src.lines[:in.from], a, in.src.lines[in.to:], b)
		return fileCase(in, lines)
	}},
	{"elided", false, func(_ *rand.Rand, in intent) (edited, bool) {
		e := plainCase(in)
		dots := indentOf(in.old[1]) + "..."
		e.r.Old = join2([]string{in.old[0], dots, in.old[len(in.old)-1]})
		e.r.New = join2([]string{in.old[0], in.src.comment + " new", dots, in.old[len(in.old)-1]})
		return e, len(occurrences(e.content, e.r.Old)) == 0
	}},
	{"a line left out", false, func(rnd *rand.Rand, in intent) (edited, bool) {
		kept, _ := alignments(in.old, in.new)
		k := 1 + rnd.IntN(len(in.old)-2)
		i := slices.IndexFunc(kept, func(p pair) bool { return p.a == k })
		if i < 0 || blank(in.old[k]) {
			return edited{}, false
		}
		e := plainCase(in)
		e.r.Old = join2(slices.Delete(slices.Clone(in.old), k, k+1))
		e.r.New = join2(slices.Delete(slices.Clone(in.new), kept[i].b, kept[i].b+1))
		return e, len(occurrences(in.src.text, e.r.Old)) == 0
	}},
	{"only a near duplicate", false, func(_ *rand.Rand, in intent) (edited, bool) {
		lines := slices.Clone(in.src.lines)
		n := 0
		for i := in.from; i < in.to; i++ {
			was := lines[i]
			lines[i] = renameWord(lines[i])
			if lines[i] != was {
				n++
			}
		}
		e, _ := fileCase(in, lines)
		return e, n > 0 && len(occurrences(e.content, e.r.Old)) == 0
	}},
	{"only first and last line", false, func(_ *rand.Rand, in intent) (edited, bool) {
		lines := slices.Clone(in.src.lines)
		for i := in.from + 1; i < in.to-1; i++ {
			lines[i] = fmt.Sprintf("%sunrelated_call_%d()", indentOf(in.old[0]), i)
		}
		return fileCase(in, lines)
	}},
	{"changed by the user", false, func(rnd *rand.Rand, in intent) (edited, bool) {
		k, bad, ok := slip(rnd, in)
		kept, _ := alignments(in.old, in.new)
		if !ok || !slices.ContainsFunc(kept, func(p pair) bool { return p.a == k }) {
			return edited{}, false
		}
		lines := slices.Clone(in.src.lines)
		lines[in.from+k] = bad
		e, _ := fileCase(in, lines)
		return e, len(occurrences(e.content, e.r.Old)) == 0
	}},
	{"changed by the user in a line that goes", false, func(rnd *rand.Rand, in intent) (edited, bool) {
		k, bad, ok := slip(rnd, in)
		if !ok || slices.Contains(in.new, in.old[k]) {
			return edited{}, false
		}
		lines := slices.Clone(in.src.lines)
		lines[in.from+k] = bad
		e, _ := fileCase(in, lines)
		return e, len(occurrences(e.content, e.r.Old)) == 0
	}},
	{"slip in both texts", false, func(rnd *rand.Rand, in intent) (edited, bool) {
		k, bad, ok := slip(rnd, in)
		kept, _ := alignments(in.old, in.new)
		i := slices.IndexFunc(kept, func(p pair) bool { return p.a == k })
		if !ok || i < 0 {
			return edited{}, false
		}
		e := plainCase(in)
		old, new := slices.Clone(in.old), slices.Clone(in.new)
		old[k], new[kept[i].b] = bad, bad
		e.r.Old, e.r.New = join2(old), join2(new)
		return e, len(occurrences(in.src.text, e.r.Old)) == 0
	}},
	{"gone, and the rest shuffled", false, func(rnd *rand.Rand, in intent) (edited, bool) {
		rest := slices.Concat(in.src.lines[:in.from], in.src.lines[in.to:])
		e := edited{content: join2(shuffleBlocks(rnd, rest)) + "\n", r: Replacement{Old: join2(in.old), New: join2(in.new)}}
		return e, len(occurrences(e.content, e.r.Old)) == 0 // shuffling may have reassembled the block from similar parts
	}},
	{"both changed one line, with base", false, func(rnd *rand.Rand, in intent) (edited, bool) {
		kept, _ := alignments(in.old, in.new)
		k := rnd.IntN(len(in.old))
		if blank(in.old[k]) || slices.ContainsFunc(kept, func(p pair) bool { return p.a == k }) {
			return edited{}, false
		}
		e := plainCase(in)
		e.r.Base = in.src.text
		lines := slices.Clone(in.src.lines)
		lines[in.from+k] += " user"
		e.content = join2(lines) + "\n"
		return e, true
	}},
}

// plainCase returns the edit as intended.
func plainCase(in intent) edited {
	return edited{content: in.src.text, r: Replacement{Old: join2(in.old), New: join2(in.new)}, right: []string{in.result(in.src.lines)}}
}

// fileCase returns the intended edit in another file. Lines that do not change stay as they are in
// that file.
func fileCase(in intent, lines []string) (edited, bool) {
	e := edited{content: join2(lines) + "\n", r: Replacement{Old: join2(in.old), New: join2(in.new)}}
	if in.to <= len(lines) {
		kept, _ := alignments(in.old, in.new)
		fresh := slices.Clone(in.new)
		for _, p := range kept {
			fresh[p.b] = lines[in.from+p.a]
		}
		in.new = fresh
		e.right = []string{in.result(lines)}
	}
	return e, true
}

// same2 changes every line of old and new in the same way.
func same2(f func(string) string) func(*rand.Rand, intent) (edited, bool) {
	return func(_ *rand.Rand, in intent) (edited, bool) {
		e := plainCase(in)
		if f == nil {
			return e, true
		}
		e.r.Old, e.r.New = join2(mapLines(in.old, f)), join2(mapLines(in.new, f))
		return e, len(occurrences(in.src.text, e.r.Old)) == 0 // otherwise it is a different edit, and an exact one
	}
}

func commonIndent(ls []string) string {
	common, first := "", true
	for _, l := range ls {
		switch {
		case blank(l):
		case first:
			common, first = indentOf(l), false
		default:
			common = common[:commonPrefix(common, indentOf(l))]
		}
	}
	return common
}

func swapIndent(l, unit string) string {
	in := indentOf(l)
	if unit == "\t" {
		return strings.ReplaceAll(in, "\t", "    ") + l[len(in):]
	}
	return strings.ReplaceAll(in, unit, "\t") + l[len(in):]
}

// typographic changes the punctuation in a line of the file to that of a word processor, which the
// model does not see.
func typographic(in intent, f func(string) string) (edited, bool) {
	lines := slices.Clone(in.src.lines)
	kept, _ := alignments(in.old, in.new)
	if len(kept) == 0 || blank(in.old[kept[0].a]) {
		return edited{}, false
	}
	k := kept[0]
	const fancy, ascii = " // it’s — “fine”\u00a0now…", ` // it's - "fine" now...`
	old, new := slices.Clone(in.old), slices.Clone(in.new)
	lines[in.from+k.a] += fancy
	old[k.a] += ascii
	new[k.b] += ascii
	literal := intent{src: in.src, from: in.from, to: in.to, new: new}.result(lines)
	kept2 := slices.Clone(new)
	kept2[k.b] = lines[in.from+k.a]
	verbatim := intent{src: in.src, from: in.from, to: in.to, new: kept2}.result(lines)
	return edited{content: join2(lines) + "\n", r: Replacement{Old: join2(mapLines(old, f)), New: join2(mapLines(new, f))}, right: []string{verbatim, literal}}, true
}

func toCRLF(e edited) edited {
	e.content, e.right = strings.ReplaceAll(e.content, "\n", "\r\n"), []string{strings.ReplaceAll(e.right[0], "\n", "\r\n")}
	return e
}

func numberWith(form string, n int, ls []string) string {
	out := make([]string, len(ls))
	for i, l := range ls {
		out[i] = fmt.Sprintf(form, n+i, l)
	}
	return join2(out)
}

// slip drops or doubles a letter in one line of the window.
func slip(rnd *rand.Rand, in intent) (k int, bad string, ok bool) {
	k = rnd.IntN(len(in.old))
	l := in.old[k]
	if letters(l) < 8 || !isASCII(l) {
		return 0, "", false
	}
	i := len(indentOf(l)) + rnd.IntN(len(l)-len(indentOf(l)))
	if l[i] == ' ' || l[i] == '\t' || i == len(l)-1 {
		return 0, "", false
	}
	if rnd.IntN(2) == 0 {
		return k, l[:i] + l[i+1:], true
	}
	return k, l[:i] + "zQ" + l[i:], true
}

// userChange changes a line that is unrelated to the edit.
func userChange(in intent, e edited, k int) edited {
	e.r.Base = in.src.text
	lines := slices.Clone(in.src.lines)
	lines[k] = "user was here"
	e.content = join2(lines) + "\n"
	e.right = []string{in.result(lines)}
	return e
}

// renameWord renames the first longer word of a line.
func renameWord(l string) string {
	for i := 0; i < len(l); i++ {
		j := i
		for j < len(l) && (l[j]|0x20 >= 'a' && l[j]|0x20 <= 'z') {
			j++
		}
		if j-i >= 4 {
			return l[:j] + "Other" + l[j:]
		}
		i = max(i, j)
	}
	return l
}

// shuffleBlocks shuffles the parts of a file that blank lines separate.
func shuffleBlocks(rnd *rand.Rand, ls []string) []string {
	var blocks [][]string
	start := 0
	for i, l := range ls {
		if blank(l) {
			blocks = append(blocks, ls[start:i+1])
			start = i + 1
		}
	}
	blocks = append(blocks, ls[start:])
	rnd.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
	return slices.Concat(blocks...)
}
