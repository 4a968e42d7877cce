package postings

import "encoding/binary"

// The format of a term in the dictionary:
//
//	a byte: the number of bytes shared with the previous term (upper four bits), and the number of further bytes (lower four);
//	if either is 15, a varint of the excess over 15 follows
//	the further bytes
//	a byte for the pair of the numbers of chunks and files with the term, see pairCode; if 255, varints of chunks and of
//	chunks minus files
//	if it has one posting, that posting, with a gap of twice the distance to the chunk of the last such term of the block (or to chunk
//	0), minus one if its chunk lies before; else a varint of the size of its list
//
// The first term of a block shares no bytes. The postings section contains the lists in the order
// of the terms. Neighbours in the dictionary that occur in only one place are often neighbours in
// the text, so such distances are short.

// dictBlock is the number of terms that share an entry of the sparse index.
const dictBlock = 16

const (
	maxPair   = 21  // maximum number of chunks of a pair in one byte
	otherPair = 255 // the byte for all other pairs
)

// pairCode numbers the pairs (1,1), (2,1), (2,2), (3,1), ... of chunks and files.
func pairCode(chunks, files uint32) byte { return byte(chunks*(chunks-1)/2 + files - 1) }

// pairs lists the pairs by code.
var pairs = func() (p [otherPair + 1][2]uint8) {
	for chunks := uint32(1); chunks <= maxPair; chunks++ {
		for files := uint32(1); files <= chunks; files++ {
			p[pairCode(chunks, files)] = [2]uint8{uint8(chunks), uint8(files)}
		}
	}
	return p
}()

// dictWriter encodes a dictionary.
type dictWriter struct {
	data   []byte
	blocks []uint32 // position of each block in data and in postings
	last   []byte
	chunk  uint32 // of the last single posting of the block
	n      int
}

// startTerm writes a term's name. The lists of this term and of all following ones begin in the
// postings section at the given position or later.
func (d *dictWriter) startTerm(name []byte, postings int) {
	shared := 0
	if d.n%dictBlock == 0 {
		d.blocks = append(d.blocks, uint32(len(d.data)), uint32(postings))
		d.chunk = 0
	} else {
		for shared < len(name) && shared < len(d.last) && name[shared] == d.last[shared] {
			shared++
		}
	}
	d.n++
	more := len(name) - shared
	d.data = append(d.data, byte(min(shared, 15)<<4|min(more, 15)))
	if shared >= 15 {
		d.data = binary.AppendUvarint(d.data, uint64(shared-15))
	}
	if more >= 15 {
		d.data = binary.AppendUvarint(d.data, uint64(more-15))
	}
	d.data = append(d.data, name[shared:]...)
	d.last = append(d.last[:0], name...)
}

// endTerm writes the numbers of chunks and files that contain the term, and the size of its list.
func (d *dictWriter) endTerm(chunks, files, size int) {
	if chunks <= maxPair {
		d.data = append(d.data, pairCode(uint32(chunks), uint32(files)))
	} else {
		d.data = append(d.data, otherPair)
		d.data = binary.AppendUvarint(d.data, uint64(chunks))
		d.data = binary.AppendUvarint(d.data, uint64(chunks-files))
	}
	d.data = binary.AppendUvarint(d.data, uint64(size))
}

// addSingle writes a term with one posting.
func (d *dictWriter) addSingle(name []byte, postings int, p rankedPosting) {
	d.startTerm(name, postings)
	d.data = append(d.data, pairCode(1, 1))
	d.data = appendPosting(d.data, zigzag(p.chunk-d.chunk), p.shape)
	d.chunk = p.chunk
}
