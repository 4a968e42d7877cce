package postings

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"slices"
)

// Bytes encodes the data added so far as an index. The builder can still be used afterwards.
func (b *Builder) Bytes() []byte {
	h := header{files: uint32(len(b.files)), chunks: uint32(len(b.chunks)), terms: b.used}
	for i := range b.chunks {
		for f, n := range b.chunks[i].length {
			h.totals[f] += uint64(n)
		}
	}
	w := sectionWriter{header: &h, out: make([]byte, headerSize, b.estimate())}
	b.writeTerms(&w)
	b.writeChunks(&w)
	h.encode(w.out)
	return w.out
}

// WriteTo writes the bytes of the index.
func (b *Builder) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(b.Bytes())
	return int64(n), err
}

// estimate returns the approximate length of the encoded index, erring on the high side.
func (b *Builder) estimate() int {
	return headerSize + b.listed + b.dictEstimate() + 12*len(b.chunks) + 8*len(b.shapes.all) + len(b.titles.data)
}

// dictEstimate returns the approximate length of the dictionary. It assumes that sharing prefixes
// saves about as many bytes per term as the term's numbers take.
func (b *Builder) dictEstimate() int { return int(b.names.next + b.used) }

// sectionWriter concatenates sections.
type sectionWriter struct {
	header *header
	out    []byte
}

func (w *sectionWriter) put(section int, data []byte) {
	start := len(w.out)
	w.out = append(w.out, data...)
	w.end(section, start)
}

// end records that the section consists of the bytes written since the position start.
func (w *sectionWriter) end(section, start int) {
	data := w.out[start:]
	w.header.section[section] = entry{uint64(start), uint64(len(data)), checksum(data)}
}

// writeChunks writes the tables of files and chunks.
func (b *Builder) writeChunks(w *sectionWriter) {
	n := len(b.chunks)
	// At least one byte per number, so that Open can verify the number of files.
	w.put(secFiles, encodeAtLeast(1, len(b.files)+1, func(i int) uint32 {
		if i == len(b.files) {
			return uint32(n)
		}
		return b.files[i]
	}))
	samples := (n + sampleChunks - 1) / sampleChunks
	w.put(secOwner, encodeColumn(samples, func(i int) uint32 { return b.chunks[i*sampleChunks].file }))
	w.put(secLine, encodeColumn(samples, func(i int) uint32 { return b.lineBefore(i * sampleChunks) }))
	w.put(secSkip, encodeColumn(n, func(i int) uint32 { return zigzag(b.chunks[i].start - b.lineBefore(i) - 1) }))
	w.put(secSpan, encodeColumn(n, func(i int) uint32 { return b.chunks[i].end - b.chunks[i].start }))
	for f := range Fields {
		w.put(secLength+f, encodeColumn(n, func(i int) uint32 { return b.chunks[i].length[f] }))
	}
	w.put(secTitleIndex, encodeColumn(len(b.titles.index), func(i int) uint32 { return b.titles.index[i] }))
	w.put(secTitles, b.titles.data)
}

// lineBefore returns the last line of the previous chunk in the file of chunk i, or 0 if i is the
// first.
func (b *Builder) lineBefore(i int) uint32 {
	if i == 0 || b.chunks[i-1].file != b.chunks[i].file {
		return 0
	}
	return b.chunks[i-1].end
}

// writeTerms writes postings, dictionary and shapes.
func (b *Builder) writeTerms(w *sectionWriter) {
	shapes, rank := b.rankShapes()
	d := dictWriter{data: make([]byte, 0, b.dictEstimate())}
	start := len(w.out)
	var chain []byte
	var list []rankedPosting
	for _, t := range b.sortedTerms() {
		chain = b.written(t, chain[:0])
		list = b.list(t, chain, rank, list[:0])
		name := b.name(t)
		if len(list) == 1 {
			d.addSingle(name, len(w.out)-start, list[0])
			continue
		}
		before := len(w.out)
		d.startTerm(name, before-start)
		w.out = appendPostings(w.out, list)
		d.endTerm(len(list), b.countFiles(list), len(w.out)-before)
	}
	w.end(secPostings, start)
	w.put(secDict, d.data)
	w.put(secBlocks, encodeColumn(len(d.blocks), func(i int) uint32 { return d.blocks[i] }))
	w.put(secShapes, encodeShapes(shapes))
}

// rankShapes returns the shapes of all postings by frequency, including the newest, unwritten
// postings, and the rank of each shape number.
func (b *Builder) rankShapes() (shapes []shape, rank []uint32) {
	written := slices.Clone(b.shapes.all)
	for i := range b.used {
		b.shapes.number(b.terms.at(i).counts)
	}
	shapes, rank = b.shapes.ranked()
	for i := range b.shapes.all { // the newest posting may still change: its shape is counted when it is written
		b.shapes.all[i].uses = 0
	}
	copy(b.shapes.all, written)
	return shapes, rank
}

// sortedTerms returns the terms in order of their names.
func (b *Builder) sortedTerms() []*termState {
	type entry struct {
		key uint64 // the first eight bytes
		id  uint32
	}
	entries := make([]entry, b.used)
	for i := range entries {
		t := b.terms.at(uint32(i))
		var key [8]byte
		copy(key[:], b.name(t))
		entries[i] = entry{binary.BigEndian.Uint64(key[:]), uint32(i)}
	}
	name := func(id uint32) []byte {
		t := b.terms.at(id)
		return b.name(t)
	}
	slices.SortFunc(entries, func(x, y entry) int {
		if x.key != y.key {
			return cmp.Compare(x.key, y.key)
		}
		return bytes.Compare(name(x.id), name(y.id))
	})
	terms := make([]*termState, len(entries))
	for i, e := range entries {
		terms[i] = b.terms.at(e.id)
	}
	return terms
}

// rankedPosting is a posting with its shape's rank.
type rankedPosting struct {
	chunk, shape uint32
}

// list decodes the chain of a term, and adds its newest posting.
func (b *Builder) list(t *termState, chain []byte, rank []uint32, dst []rankedPosting) []rankedPosting {
	chunk := uint32(0)
	for len(chain) > 0 {
		gap, shape, n := decodePosting(chain)
		chain = chain[n:]
		chunk += uint32(gap)
		dst = append(dst, rankedPosting{chunk, rank[shape]})
		chunk++
	}
	return append(dst, rankedPosting{t.chunk, rank[b.shapes.look(t.counts)]})
}

// countFiles returns the number of files that contain a term.
func (b *Builder) countFiles(list []rankedPosting) int {
	n, last := 0, ^uint32(0)
	for _, p := range list {
		if f := b.chunks[p.chunk].file; f != last {
			n, last = n+1, f
		}
	}
	return n
}
