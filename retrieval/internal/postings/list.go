package postings

import "encoding/binary"

// A term's postings are collected in a chain of blocks of growing size; the last four bytes of each
// block hold the position of the next. The postings are encoded as in the index, except that there
// are no runs, and shapes are numbered by their first appearance: the most frequent ones are known
// only at the end.

// blockSizes are the sizes of the blocks of a chain; the last applies to all further blocks.
var blockSizes = [...]uint16{12, 20, 36, 68, 132, 260, 516}

const linkSize = 4

// append writes a posting at the end of a term's chain.
func (b *Builder) append(t *termState, gap, shape uint32) {
	var buf [longestPosting]byte
	code := appendPosting(buf[:0], gap, shape)
	b.listed += len(code)
	for _, c := range code {
		if t.room == 0 {
			b.link(t)
		}
		b.lists.pages[t.tail>>pageBits][t.tail&(1<<pageBits-1)] = c
		t.tail++
		t.room--
	}
}

// link adds a block to a term's chain.
func (b *Builder) link(t *termState) {
	size := blockSizes[t.level]
	at := b.lists.alloc(int(size))
	if t.level == 0 {
		t.head = at
	} else {
		binary.LittleEndian.PutUint32(b.lists.bytes(t.tail, linkSize), at)
	}
	t.tail, t.room = at, size-linkSize
	if int(t.level) < len(blockSizes)-1 {
		t.level++
	}
}

// written returns the bytes of a term's chain, appended to dst.
func (b *Builder) written(t *termState, dst []byte) []byte {
	if t.after == 0 {
		return dst
	}
	at := t.head
	for level := 0; ; level = min(level+1, len(blockSizes)-1) {
		n := int(blockSizes[level]) - linkSize
		if t.tail-at <= uint32(n) {
			return append(dst, b.lists.bytes(at, int(t.tail-at))...)
		}
		dst = append(dst, b.lists.bytes(at, n)...)
		at = binary.LittleEndian.Uint32(b.lists.bytes(at+uint32(n), linkSize))
	}
}
