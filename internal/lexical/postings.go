package lexical

import "encoding/binary"

// A list of postings is for each chunk, in ascending order, a varint of gap<<2|shape, where gap is how many chunks lie
// between it and the one before (or the beginning); and where shape is 3 another varint, of the shape less 3.

const (
	shapeBits = 2
	shapeMore = 1<<shapeBits - 1
)

// appendPostings encodes a list.
func appendPostings(dst []byte, list []rankedPosting) []byte {
	next := uint32(0)
	for _, p := range list {
		dst = binary.AppendUvarint(dst, uint64(p.chunk-next)<<shapeBits|uint64(min(p.shape, shapeMore)))
		if p.shape >= shapeMore {
			dst = binary.AppendUvarint(dst, uint64(p.shape-shapeMore))
		}
		next = p.chunk + 1
	}
	return dst
}

// Posting says that a term stands in a chunk, and how often in each field, up to 255 times.
type Posting struct {
	Chunk uint32
	TF    [Fields]uint8
}

// Iterator gives the postings of a term, by ascending chunk. Every chunk it gives is less than [Reader.Chunks].
type Iterator struct {
	data   []byte
	shapes []byte
	next   uint32 // the least chunk that can follow
	chunks uint32
}

// Postings returns the postings of a term of this index.
func (r *Reader) Postings(t Term) Iterator {
	return Iterator{data: t.postings, shapes: r.shapes, chunks: r.header.chunks}
}

// Next fills buf with the postings that follow, and returns how many there were; 0 at the end.
func (it *Iterator) Next(buf []Posting) int {
	data, shapes, next := it.data, it.shapes, uint64(it.next)
	n := 0
	for n < len(buf) && len(data) > 0 {
		v, size := uint64(data[0]), 1
		if v >= 0x80 {
			if v, size = binary.Uvarint(data); size <= 0 {
				data = nil
				break
			}
		}
		data = data[size:]
		shape := v & shapeMore
		if shape == shapeMore {
			more, size := binary.Uvarint(data)
			if size <= 0 {
				data = nil
				break
			}
			data = data[size:]
			shape += more
		}
		chunk := next + v>>shapeBits
		if chunk >= uint64(it.chunks) || shape >= uint64(len(shapes)/8) {
			data = nil
			break
		}
		p := &buf[n]
		p.Chunk = uint32(chunk)
		binary.LittleEndian.PutUint64(p.TF[:], binary.LittleEndian.Uint64(shapes[8*shape:]))
		next = chunk + 1
		n++
	}
	it.data, it.next = data, uint32(next)
	return n
}

// postingSize returns the size of the posting that data begin with, 0 if they do not.
func postingSize(data []byte) int {
	v, size := binary.Uvarint(data)
	if size <= 0 {
		return 0
	}
	if v&shapeMore == shapeMore {
		_, n := binary.Uvarint(data[size:])
		if n <= 0 {
			return 0
		}
		size += n
	}
	return size
}
