package postings

import "hash/maphash"

// Fields is the maximum number of fields of a chunk.
const Fields = 8

// MaxTerm is the maximum length of a term in bytes. Longer terms are cut when they are added and
// when they are looked up.
const MaxTerm = 255

// Field is the number that the caller gives to a part of a chunk, such as its comments. It is less
// than [Fields].
type Field uint8

// Builder collects the terms of files and encodes them as an index.
//
// Files are numbered from 0 in the order of StartFile, chunks from 0 over the whole index. A
// Builder holds up to 2^32-1 chunks and about 4 GB of postings; it is not safe for concurrent use.
type Builder struct {
	seed   maphash.Seed
	files  []uint32 // first chunk of each file
	chunks []chunkInfo
	titles titleWriter

	current uint32          // number of the open chunk
	length  *[Fields]uint32 // its lengths; nil if no chunk is open

	slots  []uint64 // open addressing: upper half of the hash, and the term's number plus one
	used   uint32
	terms  pages[termState]
	names  arena // the terms' bytes
	lists  arena // blocks of the terms' postings
	listed int   // bytes used in lists
	shapes shapeSet
}

// chunkInfo holds the data of a chunk other than its terms.
type chunkInfo struct {
	start, end, file uint32
	length           [Fields]uint32
}

// termState is the builder's state for a term. The newest posting is not written yet: its counts
// may still grow, and the many terms with one posting need no block.
type termState struct {
	counts uint64 // of the newest posting, one byte per field
	name   uint32 // in names
	chunk  uint32 // of the newest posting
	after  uint32 // last chunk written, plus one; 0 if nothing is written
	head   uint32 // first block of the chain, in lists
	tail   uint32 // position where the next byte goes
	room   uint16 // bytes left in the newest block
	level  uint8  // size of the newest block
	size   uint8  // length of the name
}

// NewBuilder returns an empty builder.
func NewBuilder() *Builder {
	return &Builder{seed: maphash.MakeSeed(), slots: make([]uint64, 1<<10)}
}

// StartFile begins the next file. The chunks that follow belong to it.
func (b *Builder) StartFile() {
	b.files = append(b.files, uint32(len(b.chunks)))
	b.length = nil
}

// StartChunk begins the next chunk of the current file: its first and last line and a title, such
// as the name of the function that contains it, which is stored unchanged. It panics before the
// first StartFile.
func (b *Builder) StartChunk(startLine, endLine uint32, title []byte) {
	if len(b.files) == 0 {
		panic("postings: start chunk: no file is open: call StartFile first")
	}
	b.current = uint32(len(b.chunks))
	b.chunks = append(b.chunks, chunkInfo{start: startLine, end: max(startLine, endLine), file: uint32(len(b.files) - 1)})
	b.length = &b.chunks[b.current].length
	b.titles.add(title)
}

// Add counts one occurrence of a term in a field of the current chunk. Counts stop at 255. Add
// keeps no reference to term. It panics if no chunk was started since the last StartFile, or if the
// field is [Fields] or more.
func (b *Builder) Add(term []byte, field Field) {
	if b.length == nil {
		panic("postings: add term: no chunk is open: call StartChunk first")
	}
	b.length[field]++
	t := b.term(term)
	if t.chunk != b.current {
		b.write(t)
		t.chunk, t.counts = b.current, 0
	}
	shift := 8 * (field & (Fields - 1))
	if byte(t.counts>>shift) != 255 {
		t.counts += 1 << shift
	}
}

// Count adds n to the length of a field of the current chunk without adding a term, as for stop
// words. It panics like [Builder.Add].
func (b *Builder) Count(field Field, n int) {
	if b.length == nil {
		panic("postings: count: no chunk is open: call StartChunk first")
	}
	b.length[field] += uint32(n)
}

// term returns the state of a term. A new term's state has the current chunk and no counts.
func (b *Builder) term(name []byte) *termState {
	if len(name) > MaxTerm {
		name = name[:MaxTerm]
	}
	hash := maphash.Bytes(b.seed, name) >> 32
	mask := uint64(len(b.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		slot := b.slots[i]
		if slot == 0 {
			return b.newTerm(i, hash, name)
		}
		if slot>>32 != hash {
			continue
		}
		t := b.terms.at(uint32(slot) - 1)
		if string(b.name(t)) == string(name) {
			return t
		}
	}
}

// name returns a term's bytes.
func (b *Builder) name(t *termState) []byte { return b.names.bytes(t.name, int(t.size)) }

// newTerm adds a term at the empty slot i.
func (b *Builder) newTerm(i, hash uint64, name []byte) *termState {
	id := b.used
	b.used++
	b.slots[i] = hash<<32 | uint64(id+1)
	if uint64(b.used)*4 > uint64(len(b.slots))*3 {
		b.grow()
	}
	t := b.terms.add()
	t.chunk = b.current
	t.name = b.names.put(name)
	t.size = uint8(len(name))
	return t
}

// grow doubles the slots.
func (b *Builder) grow() {
	old := b.slots
	b.slots = make([]uint64, 2*len(old))
	mask := uint64(len(b.slots) - 1)
	for _, slot := range old {
		if slot == 0 {
			continue
		}
		i := slot >> 32 & mask
		for b.slots[i] != 0 {
			i = (i + 1) & mask
		}
		b.slots[i] = slot
	}
}

// write appends the newest posting of a term, which is complete, to those already written.
func (b *Builder) write(t *termState) {
	b.append(t, t.chunk-t.after, b.shapes.number(t.counts))
	t.after = t.chunk + 1
}
