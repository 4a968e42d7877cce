package edit

import (
	"fmt"
	"slices"
	"strings"
)

// hunk replaces lines a to b (from 0, end excluded) of a base with the given lines.
type hunk struct {
	a, b int
	text []line
}

// Merge applies the difference between base and theirs to ours, line by line: a three-way merge. It
// is for a file that was changed (ours) between being read (base) and being written (theirs).
//
// Changes in different places are both kept, and so are changes in adjacent lines. Merge fails with
// an [*Error] of kind [Conflict] that names the lines of ours if both sides changed the same lines,
// if they inserted different lines at one place, or if one side deleted the lines next to which the
// other inserts. If both sides made the same change, it is made once. Line endings do not count as
// changes: ours keeps its own.
func Merge(base, ours, theirs string) (string, error) {
	ours, mark := cutBOM(ours)
	base, _ = cutBOM(base)
	theirs, _ = cutBOM(theirs)
	if onlyCR(ours) {
		merged, err := Merge(crToLF(base), crToLF(ours), crToLF(theirs))
		return mark + withCR(merged), err
	}
	b, o := splitLines(base), splitLines(ours)
	out, err := mergeHunks("merge", b, o, diffHunks(b, splitLines(theirs)))
	if err != nil {
		return "", err
	}
	return mark + joinMerged(out, mainEOL(o), base, ours, theirs), nil
}

// numberExactly numbers lines by their text.
func (in interner) numberExactly(ls []line) []int32 {
	out := make([]int32, len(ls))
	for i, l := range ls {
		out[i] = in.number(l.text)
	}
	return out
}

// diffHunks returns the difference between two texts as hunks.
func diffHunks(base, other []line) []hunk {
	head := 0
	for head < len(base) && head < len(other) && base[head].text == other[head].text {
		head++
	}
	b, o := base[head:], other[head:]
	for len(b) > 0 && len(o) > 0 && b[len(b)-1].text == o[len(o)-1].text {
		b, o = b[:len(b)-1], o[:len(o)-1]
	}
	in := interner{}
	kept := diff(in.numberExactly(b), in.numberExactly(o))
	var out []hunk
	ib, io := 0, 0
	for _, p := range append(kept, pair{len(b), len(o)}) {
		if p.a > ib || p.b > io {
			out = append(out, hunk{head + ib, head + p.a, o[io:p.b]})
		}
		ib, io = p.a+1, p.b+1
	}
	return out
}

// clashes reports whether two hunks of one base cannot both be applied.
func clashes(m, t hunk) bool {
	if m.a == m.b && t.a == t.b {
		return m.a == t.a
	}
	if m.a == m.b || t.a == t.b { // one inserts: that is fine next to changed lines, but not next to deleted ones
		ins, other := m, t
		if t.a == t.b {
			ins, other = t, m
		}
		if len(other.text) == 0 {
			return other.a <= ins.a && ins.a <= other.b
		}
		return other.a < ins.a && ins.a < other.b
	}
	return m.a < t.b && t.a < m.b
}

func (h hunk) equal(o hunk) bool {
	return h.a == o.a && h.b == o.b && slices.EqualFunc(h.text, o.text, func(x, y line) bool { return x.text == y.text })
}

// mergeHunks applies theirs, hunks of base, to ours.
func mergeHunks(op string, base, ours []line, theirs []hunk) ([]line, error) {
	mine := diffHunks(base, ours)
	eol := mainEOL(ours)
	var out []line
	var clash []int
	at, shift := 0, 0 // at: the next line of ours; shift: number of lines that ours is ahead of base here
	for _, t := range theirs {
		for len(mine) > 0 && mine[0].b <= t.a && !clashes(mine[0], t) {
			shift += len(mine[0].text) - (mine[0].b - mine[0].a)
			mine = mine[1:]
		}
		if len(mine) > 0 && clashes(mine[0], t) {
			if !mine[0].equal(t) {
				clash = append(clash, mine[0].a+shift+1)
			}
			continue
		}
		out = append(out, ours[at:t.a+shift]...)
		for _, l := range t.text {
			if l.eol != "" {
				l.eol = eol
			}
			out = append(out, l)
		}
		at = t.b + shift
	}
	if len(clash) > 0 {
		return nil, &Error{Op: op, Kind: Conflict, Lines: clash,
			Detail: fmt.Sprintf("the file was changed since it was read, in the lines that the edit changes: %s as the file is now", places(clash)),
			Advice: "Read the file again and make the edit on what it says now"}
	}
	return append(out, ours[at:]...), nil
}

// joinMerged joins merged lines. The last line has the same ending as in ours, unless theirs
// changed it.
func joinMerged(merged []line, eol string, base, ours, theirs string) string {
	ends := strings.HasSuffix(ours, lf)
	if was, is := strings.HasSuffix(base, lf), strings.HasSuffix(theirs, lf); was != is || ours == "" {
		ends = is
	}
	for i := range merged {
		last := i == len(merged)-1
		switch {
		case last && !ends:
			merged[i].eol = ""
		case merged[i].eol == "":
			merged[i].eol = eol
		}
	}
	return join(merged)
}
