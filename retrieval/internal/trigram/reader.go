package trigram

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sort"
)

// Reader answers queries from an index. It is safe for concurrent use.
type Reader struct {
	docs    []uint32
	n       uint32 // number of documents
	grams   uint32
	anchors []byte
	dir     []byte
	checks  []byte
	lists   []byte
}

var errNotIndex = errors.New("trigram: open index: these bytes are none; build it anew")

// Open reads an index in place: data must not change while the reader is used. It checks header and
// tables, but not the lists. A list is checked when a query reads it; a damaged list counts as if
// it contained every document.
func Open(data []byte) (*Reader, error) {
	if len(data) < headerSize || string(data[:len(magic)]) != magic {
		return nil, errNotIndex
	}
	u32 := func(at int) uint32 { return binary.LittleEndian.Uint32(data[at:]) }
	if v := u32(8); v != version {
		return nil, fmt.Errorf("trigram: open index: its version is %d, this program's %d; build it anew", v, version)
	}
	if u32(12) != foldVersion() {
		return nil, errors.New("trigram: open index: it was made with another version of Unicode; build it anew")
	}
	h := header{docs: u32(16), grams: u32(20), docBytes: u32(24), dirBytes: u32(28), listBytes: binary.LittleEndian.Uint64(data[32:])}
	if h.listBytes > uint64(len(data)) {
		return nil, cut(h.listBytes, len(data))
	}
	groups := (uint64(h.grams) + groupSize - 1) / groupSize
	sizes := []uint64{headerSize, uint64(h.docBytes), groups * anchorSize, uint64(h.dirBytes), uint64(checksSize(h.listBytes)), h.listBytes}
	var parts [6][]byte
	rest := data
	for i, size := range sizes {
		if size > uint64(len(rest)) {
			return nil, cut(size, len(rest))
		}
		parts[i], rest = rest[:size], rest[size:]
	}
	if tableSum(data[:uint64(len(data)-len(rest))-h.listBytes]) != u32(sumOffset) {
		return nil, errors.New("trigram: open index: checksum of the tables differs: the data is damaged; build it anew")
	}
	r := &Reader{n: h.docs, grams: h.grams, anchors: parts[2], dir: parts[3], checks: parts[4], lists: parts[5]}
	return r, r.readDocs(parts[1])
}

func cut(want uint64, have int) error {
	return fmt.Errorf("trigram: open index: %d bytes expected, %d there: the data was cut off; build it anew", want, have)
}

// readDocs reads the numbers of the documents. Each takes at least a byte, so an incorrect header
// cannot cause a large allocation.
func (r *Reader) readDocs(b []byte) error {
	if uint64(r.n) > uint64(len(b)) {
		return errNotIndex
	}
	r.docs = make([]uint32, r.n)
	last := uint64(0)
	for i := range r.docs {
		d, n := binary.Uvarint(b)
		if n <= 0 || d > 1<<32 || last+d >= 1<<32 || i > 0 && d == 0 {
			return errNotIndex
		}
		last += d
		r.docs[i] = uint32(last)
		b = b[n:]
	}
	return nil
}

// Docs returns the numbers of all documents, ascending. The slice must not be changed.
func (r *Reader) Docs() []uint32 { return r.docs }

// list locates the documents of one trigram.
type list struct {
	count uint32
	at    uint64
	size  uint64
	bad   bool // the directory cannot be read here: any document may contain the trigram
}

// find looks up a trigram. A count of 0 means that no document contains it.
func (r *Reader) find(key uint32) list {
	groups := len(r.anchors) / anchorSize
	g := sort.Search(groups, func(i int) bool { return binary.LittleEndian.Uint32(r.anchors[i*anchorSize:]) > key }) - 1
	if g < 0 {
		return list{}
	}
	a := r.anchors[g*anchorSize:]
	k, off, l := uint64(binary.LittleEndian.Uint32(a)), binary.LittleEndian.Uint32(a[4:]), list{at: binary.LittleEndian.Uint64(a[8:])}
	if uint64(off) > uint64(len(r.dir)) {
		return list{bad: true}
	}
	dir := directory{b: r.dir[off:]}
	for i := range min(groupSize, int(r.grams)-g*groupSize) {
		if i > 0 {
			k += dir.number()
		}
		l.count = uint32(dir.number())
		l.size = 0
		if l.count != r.n {
			l.size = dir.number()
		}
		if dir.bad || l.count == 0 || l.count > r.n {
			return list{bad: true}
		}
		if k >= uint64(key) {
			if k > uint64(key) {
				return list{}
			}
			return l
		}
		l.at += l.size
	}
	return list{}
}

// directory reads numbers, and records whether one was missing.
type directory struct {
	b   []byte
	bad bool
}

func (d *directory) number() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 || v >= 1<<32 {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return v
}

// read appends the positions of a list's documents in the table of documents. It reports false if
// the data is damaged.
func (r *Reader) read(dst []uint32, l list) ([]uint32, bool) {
	if l.bad || !r.intact(l) {
		return dst, false
	}
	at := len(dst)
	dst = append(dst, make([]uint32, l.count)...)
	br := bitReader{data: r.lists[l.at:], pos: 0}
	br.list(dst[at:], 0, r.n)
	return dst, true
}

// intact verifies the checksums of the blocks that contain a list.
func (r *Reader) intact(l list) bool {
	end := l.at + l.size
	if end < l.at || end > uint64(len(r.lists)) {
		return false
	}
	for block := l.at / blockSize; block*blockSize < end; block++ {
		data := r.lists[block*blockSize : min((block+1)*blockSize, uint64(len(r.lists)))]
		if crc32.Checksum(data, castagnoli) != binary.LittleEndian.Uint32(r.checks[block*checkSize:]) {
			return false
		}
	}
	return true
}
