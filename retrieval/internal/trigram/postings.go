package trigram

import (
	"encoding/binary"
	"math/bits"
)

// postings holds the growing lists: for each trigram the documents that contain it. A list is its
// first document and the distances to the next ones, as variable-length bytes in pieces of an
// arena. No list is a separate allocation.
type postings struct {
	table []uint32 // open addressing: index of the entry + 1
	shift uint
	lists []posting
	arena []byte
}

type posting struct {
	key   uint32
	count uint32
	first uint32
	last  uint32
	head  uint32 // first piece in arena; 0 if there is none
	pos   uint32 // position of the next byte
	end   uint32 // end of the piece, whose last four bytes will hold the position of the next one
	size  uint32 // size of the piece
}

func newPostings() postings {
	p := postings{arena: make([]byte, 4, 1<<16)}
	p.grow(1 << 12)
	return p
}

func (p *postings) grow(size int) {
	p.table = make([]uint32, size)
	p.shift = uint(32 - bits.TrailingZeros(uint(size)))
	for i := range p.lists {
		*p.slot(p.lists[i].key) = uint32(i) + 1
	}
}

// slot returns the slot of the table that holds the list of a trigram, or would hold it.
func (p *postings) slot(key uint32) *uint32 {
	mask := uint32(len(p.table) - 1)
	for i := key * 0x9e3779b1 >> p.shift; ; i++ {
		s := &p.table[i&mask]
		if *s == 0 || p.lists[*s-1].key == key {
			return s
		}
	}
}

// add adds doc to the lists of the keys.
func (p *postings) add(doc uint32, keys []uint32) {
	for _, key := range keys {
		s := p.slot(key)
		if *s == 0 {
			p.lists = append(p.lists, posting{key: key, count: 1, first: doc, last: doc})
			*s = uint32(len(p.lists))
			if len(p.lists)*2 > len(p.table) {
				p.grow(2 * len(p.table))
			}
			continue
		}
		l := &p.lists[*s-1]
		if l.last == doc {
			continue
		}
		p.push(l, doc-l.last)
		l.last = doc
		l.count++
	}
}

// push appends a number to a list.
func (p *postings) push(l *posting, v uint32) {
	for ; v >= 0x80; v >>= 7 {
		p.pushByte(l, byte(v)|0x80)
	}
	p.pushByte(l, byte(v))
}

func (p *postings) pushByte(l *posting, c byte) {
	if l.pos+linkBytes >= l.end {
		at := uint32(len(p.arena))
		if l.head == 0 {
			l.head = at
		} else {
			binary.LittleEndian.PutUint32(p.arena[l.pos:], at)
		}
		l.size = nextPiece(l.size)
		p.arena = append(p.arena, make([]byte, l.size)...)
		l.pos, l.end = at, at+l.size
	}
	p.arena[l.pos] = c
	l.pos++
}

const linkBytes = 4

// nextPiece returns the size of the piece after one of the given size; 0 stands for none.
func nextPiece(size uint32) uint32 {
	if size == 0 {
		return 12
	}
	return min(2*size, 192)
}

// read appends the documents of a list.
func (p *postings) read(dst []uint32, l *posting) []uint32 {
	doc := l.first
	dst = append(dst, doc)
	size := nextPiece(0)
	pos, end := l.head, l.head+size
	for n := l.count; n > 1; n-- {
		var v uint32
		for shift := 0; ; shift += 7 {
			if pos+linkBytes >= end {
				pos = binary.LittleEndian.Uint32(p.arena[pos:])
				size = nextPiece(size)
				end = pos + size
			}
			c := p.arena[pos]
			pos++
			v |= uint32(c&0x7f) << shift
			if c < 0x80 {
				break
			}
		}
		doc += v
		dst = append(dst, doc)
	}
	return dst
}
