package edit

import "slices"

// pair says that line a of one text and line b of another are the same line.
type pair struct{ a, b int }

// maxCells limits the table of the quadratic part of a diff. A larger stretch without a line that
// is unique on both sides is treated as completely replaced, which can only make a merge refuse
// more.
const maxCells = 1 << 20

// diff aligns two texts, in which equal numbers stand for equal lines. The resulting pairs increase
// in both members.
//
// It is a patience diff (Bram Cohen): after the common beginning and end, lines that occur once on
// each side are the fixed points, and only the stretches between them are compared line by line.
// Fixed points keep unrelated braces and blank lines from being matched across functions. Among
// equally good alignments the one that matches earlier lines wins.
func diff(a, b []int32) []pair {
	return diffInto(nil, a, b, 0, 0)
}

// diffLate is diff preferring later lines among equally good alignments.
func diffLate(a, b []int32) []pair {
	ra, rb := slices.Clone(a), slices.Clone(b)
	slices.Reverse(ra)
	slices.Reverse(rb)
	out := diff(ra, rb)
	slices.Reverse(out)
	for i, p := range out {
		out[i] = pair{len(a) - 1 - p.a, len(b) - 1 - p.b}
	}
	return out
}

func diffInto(out []pair, a, b []int32, offA, offB int) []pair {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		out = append(out, pair{offA, offB})
		a, b, offA, offB = a[1:], b[1:], offA+1, offB+1
	}
	tail := 0
	for tail < len(a) && tail < len(b) && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	endA, endB := offA+len(a)-tail, offB+len(b)-tail
	a, b = a[:len(a)-tail], b[:len(b)-tail]
	if len(a) > 0 && len(b) > 0 {
		if fixed := fixedPoints(a, b); len(fixed) > 0 {
			ia, ib := 0, 0
			for _, p := range append(fixed, pair{len(a), len(b)}) {
				out = diffInto(out, a[ia:p.a], b[ib:p.b], offA+ia, offB+ib)
				if p.a < len(a) {
					out = append(out, pair{offA + p.a, offB + p.b})
				}
				ia, ib = p.a+1, p.b+1
			}
		} else {
			out = longest(out, a, b, offA, offB)
		}
	}
	for i := range tail {
		out = append(out, pair{endA + i, endB + i})
	}
	return out
}

// fixedPoints returns the lines that occur once in a and once in b, reduced to the longest sequence
// that increases in both.
func fixedPoints(a, b []int32) []pair {
	type seen struct{ na, nb, ia, ib int }
	count := make(map[int32]seen, len(a))
	for i, x := range a {
		s := count[x]
		s.na, s.ia = s.na+1, i
		count[x] = s
	}
	for i, x := range b {
		if s, ok := count[x]; ok {
			s.nb, s.ib = s.nb+1, i
			count[x] = s
		}
	}
	var ps []pair
	for _, x := range a {
		if s := count[x]; s.na == 1 && s.nb == 1 {
			ps = append(ps, pair{s.ia, s.ib})
		}
	}
	return rising(ps)
}

// rising returns the longest subsequence of ps (which increases in a) that also increases in b, by
// patience sorting.
func rising(ps []pair) []pair {
	if len(ps) == 0 {
		return nil
	}
	prev := make([]int, len(ps))
	var tops []int // index into ps of the top card of each pile
	for i, p := range ps {
		n, _ := slices.BinarySearchFunc(tops, p.b, func(t, b int) int { return ps[t].b - b })
		prev[i] = -1
		if n > 0 {
			prev[i] = tops[n-1]
		}
		if n == len(tops) {
			tops = append(tops, i)
		} else {
			tops[n] = i
		}
	}
	out := make([]pair, len(tops))
	for i, k := tops[len(tops)-1], len(tops)-1; i >= 0; i, k = prev[i], k-1 {
		out[k] = ps[i]
	}
	return out
}

// longest appends a longest common subsequence, found with the textbook table.
func longest(out []pair, a, b []int32, offA, offB int) []pair {
	n, m := len(a), len(b)
	if n*m > maxCells {
		return out
	}
	w := m + 1
	t := make([]int32, (n+1)*w)
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if a[i] == b[j] {
				t[i*w+j] = t[(i+1)*w+j+1] + 1
			} else {
				t[i*w+j] = max(t[(i+1)*w+j], t[i*w+j+1])
			}
		}
	}
	for i, j := 0, 0; i < n && j < m; {
		switch {
		case a[i] == b[j]:
			out = append(out, pair{offA + i, offB + j})
			i, j = i+1, j+1
		case t[(i+1)*w+j] >= t[i*w+j+1]:
			i++
		default:
			j++
		}
	}
	return out
}

// interner assigns equal numbers to equal lines.
type interner map[string]int32

func (in interner) number(s string) int32 {
	n, ok := in[s]
	if !ok {
		n = int32(len(in))
		in[s] = n
	}
	return n
}

// numberLines numbers lines by their text without trailing white space.
func (in interner) numberLines(ls []string) []int32 {
	out := make([]int32, len(ls))
	for i, l := range ls {
		out[i] = in.number(trimRight(l))
	}
	return out
}
