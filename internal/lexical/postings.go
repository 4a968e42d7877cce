package lexical

import "encoding/binary"

// Posting says that a term stands in a chunk, and how often in each field, up to 255 times.
type Posting struct {
	Chunk uint32
	TF    [Fields]uint8
}

// Iterator gives the postings of a term, by ascending chunk. Every chunk it gives is less than [Reader.Chunks].
type Iterator struct {
	data   []byte // what is left of the list, with some bytes of what follows it as capacity
	common [commonShapes]uint64
	first  uint32 // the list's commonest shape
	shapes []byte
	next   uint64 // the least chunk that can follow
	chunks uint64
	run    uint32 // postings left of a run
}

// Postings returns the postings of a term of this index.
func (r *Reader) Postings(t Term) Iterator {
	it := Iterator{data: t.postings, common: r.common, shapes: r.shapes, chunks: uint64(r.header.chunks)}
	if t.DocFreq < manyPostings {
		return it
	}
	first, n := binary.Uvarint(it.data)
	if n <= 0 || first >= uint64(len(r.shapes)/8) {
		it.data = nil
		return it
	}
	it.data = it.data[n:]
	it.first = uint32(first)
	if first > 0 {
		copy(it.common[1:min(first+1, commonShapes)], r.common[:])
		it.common[0] = binary.LittleEndian.Uint64(r.shapes[8*first:])
	}
	return it
}

// Next fills buf with the postings that follow, and returns how many there were; 0 at the end.
func (it *Iterator) Next(buf []Posting) int {
	if it.run > 0 {
		return it.fillRun(buf)
	}
	data, end, next := it.data[:cap(it.data)], len(it.data), it.next
	i, n := 0, 0
	for n < len(buf) && i < end && i+longestCode <= len(data) {
		word := binary.LittleEndian.Uint32(data[i:])
		c := &codes[byte(word)]
		i += int(c.size)
		gap, counts := uint64(c.gap+word>>8&c.mask), it.common[c.shape&(commonShapes-1)]
		if c.kind != kindGap {
			if c.kind == kindRun {
				it.next, it.run = next, c.gap
				n += it.fillRun(buf[n:])
				next = it.next
				continue
			}
			var ok bool
			if gap, counts, i, ok = it.special(c, data[:end], i); !ok {
				i = end
				break
			}
		}
		next += gap
		if next >= it.chunks {
			i = end
			break
		}
		p := &buf[n]
		p.Chunk = uint32(next)
		binary.LittleEndian.PutUint64(p.TF[:], counts)
		next++
		n++
	}
	it.next = next
	it.data = it.data[min(i, end):]
	return n
}

// fillRun gives what is left of a run.
func (it *Iterator) fillRun(buf []Posting) int {
	n := min(uint64(it.run), uint64(len(buf)), it.chunks-it.next)
	for i := range buf[:n] {
		buf[i].Chunk = uint32(it.next) + uint32(i)
		binary.LittleEndian.PutUint64(buf[i].TF[:], it.common[0])
	}
	it.next += n
	it.run -= uint32(n)
	if it.next == it.chunks {
		it.run = 0
	}
	return int(n)
}

// special decodes a posting with a rare shape or a large gap, whose code ends at i. It returns where the posting ends.
func (it *Iterator) special(c *code, data []byte, i int) (gap, counts uint64, end int, ok bool) {
	var shape uint64
	if c.kind == kindRare {
		if i > len(data) {
			return 0, 0, 0, false
		}
		gap, shape = uint64(c.gap), uint64(data[i-1])+commonShapes
	} else {
		var n, m int
		gap, n = binary.Uvarint(data[i:])
		if n <= 0 || gap > it.chunks {
			return 0, 0, 0, false
		}
		shape, m = binary.Uvarint(data[i+n:])
		if m <= 0 {
			return 0, 0, 0, false
		}
		i += n + m
	}
	switch {
	case shape == 0:
		shape = uint64(it.first)
	case shape <= uint64(it.first):
		shape--
	}
	if shape >= uint64(len(it.shapes)/8) {
		return 0, 0, 0, false
	}
	return gap, binary.LittleEndian.Uint64(it.shapes[8*shape:]), i, true
}
