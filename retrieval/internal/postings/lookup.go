package postings

import (
	"bytes"
	"encoding/binary"
	"iter"
)

func le32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }

// Term is an entry of the dictionary.
type Term struct {
	DocFreq  uint32 // chunks that contain it
	FileFreq uint32 // files that contain it

	postings []byte
	counts   uint64 // of its only posting, if it has just one
	chunk    uint32
	single   bool
}

// Lookup finds a term.
func (r *Reader) Lookup(name []byte) (Term, bool) {
	if len(name) > MaxTerm {
		name = name[:MaxTerm]
	}
	c := cursor{r: r}
	c.block(c.blockOf(name))
	same := 0 // number of bytes that the previous term shares with name
	for c.at < c.r.header.terms {
		shared, more, ok := c.readLengths()
		if !ok || shared < same {
			break // later terms that differ here sort after name
		}
		rest := c.data[:more]
		c.data = c.data[more:]
		if !c.readTerm() {
			break
		}
		c.at++
		if shared > same {
			continue
		}
		k := commonPrefix(rest, name[same:])
		same += k
		if k == len(rest) && same == len(name) {
			return c.term, true
		}
		if k < len(rest) && (same == len(name) || rest[k] > name[same]) {
			break
		}
	}
	return Term{}, false
}

// commonPrefix returns the length of the common prefix of a and b.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// Terms yields all terms with a prefix, sorted by their bytes. A name is valid until the next one.
func (r *Reader) Terms(prefix []byte) iter.Seq2[[]byte, Term] {
	return func(yield func([]byte, Term) bool) {
		c := cursor{r: r}
		for ok := c.seek(prefix); ok; ok = c.next() {
			if !bytes.HasPrefix(c.name, prefix) || !yield(c.name, c.term) {
				return
			}
		}
	}
}

// cursor is a position at a term of the dictionary.
type cursor struct {
	r    *Reader
	at   uint32 // number of the next term
	data []byte // rest of the dictionary
	list uint64 // position of the next list in postings
	name []byte
	term Term

	chunk uint32 // of the last single posting of the block
}

// seek moves to the first term that is not less than name, and reports whether there is one.
func (c *cursor) seek(name []byte) bool {
	c.block(c.blockOf(name))
	for c.next() {
		if bytes.Compare(c.name, name) >= 0 {
			return true
		}
	}
	return false
}

// blockOf returns the last block whose first term is not greater than name, or the first block.
func (c *cursor) blockOf(name []byte) int {
	low, high := 0, (int(c.r.header.terms)+dictBlock-1)/dictBlock
	for high-low > 1 {
		middle := int(uint(low+high) / 2)
		c.block(middle)
		_, more, ok := c.readLengths()
		if !ok || bytes.Compare(c.data[:more], name) > 0 {
			high = middle
		} else {
			low = middle
		}
	}
	return low
}

// block moves before the first term of a block.
func (c *cursor) block(i int) {
	c.at = uint32(i * dictBlock)
	c.data, c.name, c.chunk = nil, c.name[:0], 0
	if c.at >= c.r.header.terms {
		return
	}
	if from := int(c.r.blocks.at(uint32(2 * i))); from <= len(c.r.dict) {
		c.data = c.r.dict[from:]
	}
	c.list = uint64(c.r.blocks.at(uint32(2*i + 1)))
}

// next moves to the next term, and reports whether there is one.
func (c *cursor) next() bool {
	if c.at%dictBlock == 0 {
		c.chunk = 0
	}
	if c.at >= c.r.header.terms || !c.readName() || !c.readTerm() {
		c.at = c.r.header.terms
		return false
	}
	c.at++
	return true
}

func (c *cursor) readName() bool {
	shared, more, ok := c.readLengths()
	if !ok || shared > len(c.name) || shared+more > MaxTerm {
		return false
	}
	c.name = append(c.name[:shared], c.data[:more]...)
	c.data = c.data[more:]
	return true
}

// readLengths reads the number of bytes that the next name shares with the previous one, and the
// number of bytes that follow. It checks that they exist.
func (c *cursor) readLengths() (shared, more int, ok bool) {
	if len(c.data) == 0 {
		return 0, 0, false
	}
	s, m := uint64(c.data[0]>>4), uint64(c.data[0]&15)
	c.data = c.data[1:]
	if s == 15 {
		s += min(c.uvarint(), MaxTerm)
	}
	if m == 15 {
		m += min(c.uvarint(), MaxTerm)
	}
	return int(s), int(m), m <= uint64(len(c.data))
}

func (c *cursor) readTerm() bool {
	if len(c.data) == 0 {
		return false
	}
	pair := pairs[c.data[0]]
	c.term = Term{DocFreq: uint32(pair[0]), FileFreq: uint32(pair[1])}
	c.data = c.data[1:]
	if pair[0] == 0 {
		chunks := c.uvarint()
		c.term.DocFreq, c.term.FileFreq = uint32(chunks), uint32(chunks-c.uvarint())
	}
	if pair[0] == 1 {
		return c.readSingle()
	}
	size, all := c.uvarint(), c.r.postings
	if c.list > uint64(len(all)) || size > uint64(len(all))-c.list {
		return false
	}
	c.term.postings = all[c.list : c.list+size]
	c.list += size
	return true
}

func (c *cursor) readSingle() bool {
	gap, shape, size := decodePosting(c.data)
	if size == 0 || shape >= uint64(len(c.r.shapes)/8) {
		return false
	}
	c.data = c.data[size:]
	c.chunk += unzigzag(uint32(gap))
	c.term.single, c.term.chunk, c.term.counts = true, c.chunk, c.r.shape(shape)
	return c.chunk < c.r.header.chunks
}

// uvarint reads a number. It returns 2^64-1 if there is none.
func (c *cursor) uvarint() uint64 {
	v, n := binary.Uvarint(c.data)
	if n <= 0 {
		c.data = nil
		return 1<<64 - 1
	}
	c.data = c.data[n:]
	return v
}
