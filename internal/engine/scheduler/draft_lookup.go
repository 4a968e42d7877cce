package scheduler

// lookupDrafter proposes the tokens that followed the latest earlier occurrence of the last tokens:
// prompt lookup (Saxena 2023). Appending a token takes constant time, however long the text.
type lookupDrafter struct {
	tables [len(lookupGrams)][]int32 // by hash of an n-gram: the end of its latest occurrence, plus one
	done   int                       // number of tokens whose n-grams are in the tables
}

var lookupGrams = [...]int{8, 4, 2}

// maxBack limits how far a match is followed back in order to grade it.
const maxBack = 16

func newLookupDrafter() *lookupDrafter { return &lookupDrafter{} }

// Name returns "lookup".
func (d *lookupDrafter) Name() string { return "lookup" }

// Draft implements Drafter.
func (d *lookupDrafter) Draft(tokens []int32, max int, dst []int32) []int32 {
	dst, _ = d.draftScored(tokens, max, dst)
	return dst
}

func (d *lookupDrafter) draftScored(tokens []int32, max int, dst []int32) ([]int32, int) {
	last := len(tokens) - 1
	if 2*last > len(d.tables[0]) {
		d.resize(4 * last)
	}
	for ; d.done < last; d.done++ { // the n-grams that end with the last token are looked up before they are added
		d.enter(tokens, d.done)
	}
	for i, k := range lookupGrams {
		if last+1 < k || len(d.tables[i]) == 0 {
			continue
		}
		end := int(d.tables[i][d.slot(tokens, last, k)]) - 1
		if end < 0 || end >= last {
			continue
		}
		back := matchBack(tokens, end, tokens, last, maxBack)
		if back < k {
			continue // another n-gram with the same hash
		}
		return appendFrom(dst, tokens, end+1, max), classOf(back)
	}
	return dst, 0
}

func (d *lookupDrafter) resize(n int) {
	size := 1024
	for size < n {
		size *= 2
	}
	for i := range d.tables {
		d.tables[i] = make([]int32, size)
	}
	d.done = 0
}

func (d *lookupDrafter) enter(tokens []int32, end int) {
	for i, k := range lookupGrams {
		if end+1 >= k {
			d.tables[i][d.slot(tokens, end, k)] = int32(end) + 1
		}
	}
}

func (d *lookupDrafter) slot(tokens []int32, end, k int) int {
	h := uint64(k)
	for _, t := range tokens[end+1-k : end+1] {
		h = (h ^ uint64(uint32(t))) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return int(h) & (len(d.tables[0]) - 1)
}

// matchBack returns the number of equal tokens going back from a[i] and b[j], up to the parameter
// most.
func matchBack(a []int32, i int, b []int32, j, most int) int {
	n := 0
	for n < most && i >= 0 && j >= 0 && a[i] == b[j] {
		n, i, j = n+1, i-1, j-1
	}
	return n
}

// appendFrom appends at most max tokens from tokens[at:] to dst. When they run out, it continues
// with the tokens it appended, so that the draft of a repeating text does not end early. A negative
// token separates texts and ends the draft.
func appendFrom(dst, tokens []int32, at, max int) []int32 {
	first := len(dst)
	for i := range max {
		var t int32
		if at+i < len(tokens) {
			t = tokens[at+i]
		} else {
			t = dst[first+at+i-len(tokens)]
		}
		if t < 0 {
			break
		}
		dst = append(dst, t)
	}
	return dst
}

// classOf grades a draft by the number of matching tokens before it.
func classOf(back int) int {
	switch {
	case back >= 12:
		return 4
	case back >= 6:
		return 3
	case back >= 3:
		return 2
	}
	return 1
}
