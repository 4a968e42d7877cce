package charset

import (
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

// A span of the old text is replaced by text.
type span struct {
	start, end int
	text       string
}

// changes returns the spans of old whose replacement gives now, in order. Equal lines are outside
// of them, and so is what changed lines have in common at their beginnings and ends.
func changes(old, now string) []span {
	var out []span
	a, b := splitLines(old), splitLines(now)
	at := 0
	for _, h := range hunks(a, b) {
		at += length(a[h.skipped:h.a0])
		olds, news := strings.Join(a[h.a0:h.a1], ""), strings.Join(b[h.b0:h.b1], "")
		if h.a1-h.a0 == h.b1-h.b0 { // probably the same lines, changed
			pos := at
			for i := h.a0; i < h.a1; i++ {
				out = append(out, within(a[i], b[h.b0+i-h.a0], pos)...)
				pos += len(a[i])
			}
		} else {
			out = append(out, within(olds, news, at)...)
		}
		at += len(olds)
	}
	return out
}

// within returns the spans that differ between two short texts; at is the place of the old one.
func within(old, now string, at int) []span {
	if old == now {
		return nil
	}
	p := 0
	for p < len(old) && p < len(now) && old[p] == now[p] {
		p++
	}
	for p > 0 && !(p == len(old) || utf8.RuneStart(old[p])) || p > 0 && !(p == len(now) || utf8.RuneStart(now[p])) {
		p--
	}
	e := 0
	for e < len(old)-p && e < len(now)-p && old[len(old)-1-e] == now[len(now)-1-e] {
		e++
	}
	for e > 0 && !utf8.RuneStart(old[len(old)-e]) {
		e--
	}
	old, now = old[p:len(old)-e], now[p:len(now)-e]
	if old == "" || now == "" || len(old) > 4096 || len(now) > 4096 {
		return []span{{at + p, at + p + len(old), now}}
	}
	var out []span
	for _, d := range udiff.Strings(old, now) {
		out = append(out, span{at + p + d.Start, at + p + d.End, d.New})
	}
	return out
}

func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func length(lines []string) (n int) {
	for _, l := range lines {
		n += len(l)
	}
	return n
}

// A hunk replaces the lines a0 to a1 of the old text by the lines b0 to b1 of the new one. skipped
// is the end of the hunk before.
type hunk struct{ skipped, a0, a1, b0, b1 int }

// hunks compares two texts line by line: common beginnings and ends, then the lines that both have
// exactly once, then what lies between these.
func hunks(a, b []string) []hunk {
	var out []hunk
	diffLines(a, b, 0, 0, &out)
	end := 0
	for i := range out {
		out[i].skipped = end
		end = out[i].a1
	}
	return out
}

func diffLines(a, b []string, a0, b0 int, out *[]hunk) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b, a0, b0 = a[1:], b[1:], a0+1, b0+1
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) == 0 && len(b) == 0 {
		return
	}
	pairs := anchors(a, b)
	if len(pairs) == 0 {
		*out = append(*out, hunk{a0: a0, a1: a0 + len(a), b0: b0, b1: b0 + len(b)})
		return
	}
	i, j := 0, 0
	for _, p := range pairs {
		diffLines(a[i:p[0]], b[j:p[1]], a0+i, b0+j, out)
		i, j = p[0]+1, p[1]+1
	}
	diffLines(a[i:], b[j:], a0+i, b0+j, out)
}

// anchors returns the pairs of lines that occur exactly once in a and in b and are in the same
// order in both: the longest increasing sequence of such pairs.
func anchors(a, b []string) [][2]int {
	type place struct{ na, nb, ia, ib int }
	seen := map[string]*place{}
	for i, l := range a {
		p := seen[l]
		if p == nil {
			p = &place{}
			seen[l] = p
		}
		p.na, p.ia = p.na+1, i
	}
	for j, l := range b {
		if p := seen[l]; p != nil {
			p.nb, p.ib = p.nb+1, j
		}
	}
	var tops []int // index into chain of the smallest end of a sequence of each length
	type link struct{ a, b, prev int }
	var chain []link
	for i, l := range a {
		p := seen[l]
		if p.na != 1 || p.nb != 1 {
			continue
		}
		lo, hi := 0, len(tops)
		for lo < hi {
			if mid := (lo + hi) / 2; chain[tops[mid]].b < p.ib {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		prev := -1
		if lo > 0 {
			prev = tops[lo-1]
		}
		chain = append(chain, link{i, p.ib, prev})
		if lo == len(tops) {
			tops = append(tops, len(chain)-1)
		} else {
			tops[lo] = len(chain) - 1
		}
	}
	if len(tops) == 0 {
		return nil
	}
	out := make([][2]int, len(tops))
	for k, at := len(tops)-1, tops[len(tops)-1]; k >= 0; k-- {
		out[k] = [2]int{chain[at].a, chain[at].b}
		at = chain[at].prev
	}
	return out
}
