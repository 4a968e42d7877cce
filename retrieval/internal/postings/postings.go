package postings

import "encoding/binary"

// Posting records that a chunk contains a term, and how often in each field, up to 255 times.
type Posting struct {
	Chunk uint32
	TF    [Fields]uint8
}

// Iterator iterates over the postings of a term, by ascending chunk. Every chunk is less than
// [Reader.Chunks].
type Iterator struct {
	r      *Reader
	data   []byte // rest of the list
	next   uint64 // the lowest chunk that can follow
	counts uint64 // of shape 0
	first  uint32 // rank of shape 0 in the index; shapes that rank before it have numbers higher by one in this list
	run    uint32 // remaining postings of a run
}

// Postings returns the postings of a term of this index.
func (r *Reader) Postings(t Term) Iterator {
	it := Iterator{r: r, data: t.postings, counts: r.common[0]}
	switch {
	case t.single:
		it.counts, it.next, it.run = t.counts, uint64(t.chunk), 1
		return it
	case t.DocFreq < manyPostings:
		return it
	}
	first, n := binary.Uvarint(it.data)
	if n <= 0 || first >= uint64(len(r.shapes)/8) {
		it.data = nil
		return it
	}
	it.data = it.data[n:]
	it.first = uint32(first)
	it.counts = r.shape(first)
	return it
}

// shape returns the counts of a shape by its rank in the index, which must exist.
func (r *Reader) shape(rank uint64) uint64 { return binary.LittleEndian.Uint64(r.shapes[8*rank:]) }

// findCommon stores the counts of the most frequent shapes.
func (r *Reader) findCommon() {
	for i := range min(commonShapes, len(r.shapes)/8) {
		r.common[i] = r.shape(uint64(i))
	}
}

// Next fills buf with the next postings and returns their number, 0 at the end.
func (it *Iterator) Next(buf []Posting) int {
	n := it.fillRun(buf)
	data, next, chunks := it.data, it.next, uint64(it.r.header.chunks)
	common, first, zero := &it.r.common, int64(it.first), it.counts
	i := 0
	for n < len(buf) && i < len(data) {
		c := codes[data[i]]
		i++
		gap := uint64(c.gap)
		// Most branch predictors predict the length of the next posting better than a table would.
		switch c.kind {
		case kindPlain:
		case kindShort:
			if i >= len(data) {
				gap = chunks // the list is truncated: no posting follows
				break
			}
			gap += uint64(data[i])
			i++
		case kindWide:
			if i+1 >= len(data) {
				gap = chunks
				break
			}
			gap += uint64(data[i]) | uint64(data[i+1])<<8
			i += 2
		default:
			it.next = next
			n, i = it.special(c, i, buf, n)
			next = it.next
			continue
		}
		next += gap
		if next >= chunks {
			i = len(data)
			break
		}
		rank := int64(c.shape)
		rank += (first-rank)>>63 ^ -1 // one less for ranks up to first; done with arithmetic, because a branch would be unpredictable
		counts := common[rank&(commonShapes-1)]
		if c.shape == 0 {
			counts = zero
		}
		p := &buf[n]
		p.Chunk = uint32(next)
		binary.LittleEndian.PutUint64(p.TF[:], counts)
		next++
		n++
	}
	it.next = next
	it.data = data[i:]
	return n
}

// special decodes a code that is neither plain nor followed by a gap, into buf starting at index n.
// The code ends at i. It returns the number of postings in buf after that, and the position in the
// list where decoding continues.
func (it *Iterator) special(c code, i int, buf []Posting, n int) (filled, end int) {
	if c.kind == kindRun {
		it.run = uint32(c.gap)
		return n + it.fillRun(buf[n:]), i
	}
	gap, shape, size := decodeRare(c, it.data[i:])
	rank := shape
	switch {
	case shape == 0:
		rank = uint64(it.first)
	case shape <= uint64(it.first):
		rank--
	}
	if size == 0 || gap >= uint64(it.r.header.chunks)-it.next || rank >= uint64(len(it.r.shapes)/8) {
		return n, len(it.data)
	}
	chunk := it.next + gap
	buf[n].Chunk = uint32(chunk)
	binary.LittleEndian.PutUint64(buf[n].TF[:], it.r.shape(rank))
	it.next = chunk + 1
	return n + 1, i + size
}

// fillRun fills buf with the rest of a run.
func (it *Iterator) fillRun(buf []Posting) int {
	if it.run == 0 {
		return 0
	}
	left := uint64(it.r.header.chunks) - it.next
	n := min(uint64(it.run), uint64(len(buf)), left)
	for i := range buf[:n] {
		buf[i].Chunk = uint32(it.next) + uint32(i)
		binary.LittleEndian.PutUint64(buf[i].TF[:], it.counts)
	}
	it.next += n
	it.run -= uint32(n)
	if n == left {
		it.run = 0
	}
	return int(n)
}
