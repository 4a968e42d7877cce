package scheduler

import "slices"

// editDrafter proposes the rest of a text that is being rewritten with changes. It follows the
// generated text through the reference. If they diverge, it searches for the place in the reference
// at which the generated text continues: the longest match of the last generated tokens, near the
// point of divergence.
type editDrafter struct {
	refs  []editRef
	start int // position where the generated text begins
	done  int

	ref, pos int  // the next token is expected to be refs[ref].tokens[pos]
	run      int  // number of matching tokens before pos; 0 means that pos is a guess
	anchor   int  // position in refs[ref] where the texts diverged
	drift    int  // number of tokens generated since then
	placed   bool // the text has been followed successfully for a while
}

// editRef is a reference with its positions grouped by token, ascending within a group.
type editRef struct {
	tokens []int32
	order  []int32
	spans  map[int32][2]int32 // token: start and end of its group in order
}

const (
	editTrust  = 4   // number of consecutive matching tokens after which a place is trusted
	editWindow = 256 // distance in tokens from the point of divergence within which a match of two is trusted
	editSkip   = 48  // distance after that point within which a match of one is trusted, as after a deletion
	editGuess  = 6   // number of replaced tokens up to which the reference is still expected to continue in step
	editTries  = 512 // maximum number of places tried on either side
)

func newEditDrafter(references [][]int32, start int) *editDrafter {
	d := &editDrafter{start: start, done: start}
	for _, r := range references {
		if len(r) > 0 {
			d.refs = append(d.refs, newEditRef(r))
		}
	}
	return d
}

func newEditRef(tokens []int32) editRef {
	r := editRef{tokens: tokens, order: make([]int32, len(tokens)), spans: map[int32][2]int32{}}
	for _, t := range tokens {
		s := r.spans[t]
		s[1]++
		r.spans[t] = s
	}
	from := int32(0)
	for t, s := range r.spans {
		r.spans[t] = [2]int32{from, from} // the end grows as the group is filled
		from += s[1]
	}
	for i, t := range tokens {
		s := r.spans[t]
		r.order[s[1]] = int32(i)
		s[1]++
		r.spans[t] = s
	}
	return r
}

// Name returns "edit".
func (d *editDrafter) Name() string { return "edit" }

// Draft implements Drafter.
func (d *editDrafter) Draft(tokens []int32, max int, dst []int32) []int32 {
	dst, _ = d.draftScored(tokens, max, dst)
	return dst
}

func (d *editDrafter) draftScored(tokens []int32, max int, dst []int32) ([]int32, int) {
	if len(d.refs) == 0 {
		return dst, 0
	}
	for ; d.done < len(tokens); d.done++ {
		d.follow(tokens[d.start : d.done+1])
	}
	r := d.refs[d.ref].tokens
	if d.run == 0 && d.drift > editGuess || d.pos >= len(r) {
		return dst, 0
	}
	return append(dst, r[d.pos:min(len(r), d.pos+max)]...), d.class()
}

func (d *editDrafter) class() int {
	switch {
	case d.run >= 16:
		return 4
	case d.run >= editTrust:
		return 3
	case d.run >= 2:
		return 2
	case d.run == 1 || d.drift == 1:
		return 1
	}
	return 0
}

// follow processes the last token of the parameter text, the text generated so far.
func (d *editDrafter) follow(text []int32) {
	t := text[len(text)-1]
	r := d.refs[d.ref].tokens
	if d.pos < len(r) && r[d.pos] == t {
		d.pos++
		if d.run++; d.run >= editTrust {
			d.anchor, d.drift, d.placed = d.pos, 0, true
		} else if d.drift > 0 {
			d.drift++
		}
		return
	}
	if d.drift == 0 {
		d.anchor = d.pos
	}
	d.drift++
	if ref, pos, back := d.find(text); back > 0 {
		if ref != d.ref {
			d.ref, d.anchor, d.drift = ref, pos, 0
		}
		d.pos, d.run = pos, back
		return
	}
	d.pos, d.run = d.anchor+d.drift, 0 // assume that the same number of tokens was replaced
}

// find searches for the place from which the references continue like text: the place with the
// longest match before it, or the nearest of several. The result back is the number of matching
// tokens before the place; 0 means that there is no such place.
func (d *editDrafter) find(text []int32) (ref, pos, back int) {
	bestFar := 0
	for i := range d.refs {
		d.refs[i].near(text[len(text)-1], d.anchor, func(c int) {
			n := matchBack(d.refs[i].tokens, c, text, len(text)-1, 2*maxBack)
			far := c - d.anchor
			if !d.plausible(i, n, c, far) {
				return
			}
			if far < 0 {
				far = -2 * far // text is omitted more often than repeated
			}
			if n > back || n == back && far < bestFar {
				ref, pos, back, bestFar = i, c+1, n, far
			}
		})
	}
	return ref, pos, back
}

// plausible reports whether to trust a match of n tokens that ends at a place far tokens after the
// point of divergence.
func (d *editDrafter) plausible(ref, n, at, far int) bool {
	if !d.placed && (n > 1 || at == 0) {
		return true
	}
	if ref != d.ref {
		return n >= editTrust
	}
	switch n {
	case 1:
		return far >= 0 && far < editSkip
	case 2, 3:
		return far > -editWindow && far < editWindow
	}
	return true
}

// near calls f with the positions of a token: at most editTries positions before the given one, and
// as many after it.
func (r *editRef) near(token int32, at int, f func(int)) {
	span, ok := r.spans[token]
	if !ok {
		return
	}
	places := r.order[span[0]:span[1]]
	i, _ := slices.BinarySearch(places, int32(at))
	for _, p := range places[max(0, i-editTries):min(len(places), i+editTries)] {
		f(int(p))
	}
}
