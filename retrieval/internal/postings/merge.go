package postings

// Merge returns a builder with the files of several indexes, in order, without those for which keep
// returns false (nil keeps all). The builder equals one to which all kept files were added again,
// and more files can be added to it.
func Merge(readers []*Reader, keep func(reader int, file uint32) bool) *Builder {
	b := NewBuilder()
	var buf [256]Posting
	for i, r := range readers {
		moved := b.takeChunks(r, func(file uint32) bool { return keep == nil || keep(i, file) })
		for name, term := range r.Terms(nil) {
			b.takeTerm(r, name, term, moved, buf[:])
		}
	}
	b.length = nil
	return b
}

// gone replaces the new number of a dropped chunk.
const gone = ^uint32(0)

// takeChunks adds the kept files of an index and their chunks. It returns the new numbers of the
// chunks.
func (b *Builder) takeChunks(r *Reader, keep func(file uint32) bool) []uint32 {
	moved := make([]uint32, r.Chunks())
	for file := range r.header.files {
		first, end := r.ChunksOf(file)
		kept := keep(file)
		if kept {
			b.StartFile()
		}
		for c := first; c < end; c++ {
			moved[c] = gone
			if !kept {
				continue
			}
			start, last := r.Lines(c)
			b.StartChunk(start, last, r.Title(c))
			for f := range b.length {
				b.length[f] = r.Length(c, Field(f))
			}
			moved[c] = b.current
		}
	}
	return moved
}

// takeTerm adds the kept postings of a term.
func (b *Builder) takeTerm(r *Reader, name []byte, term Term, moved []uint32, buf []Posting) {
	var t *termState
	it := r.Postings(term)
	for n := it.Next(buf); n > 0; n = it.Next(buf) {
		for _, p := range buf[:n] {
			chunk := moved[p.Chunk]
			if chunk == gone {
				continue
			}
			if t == nil {
				b.current = chunk // for a new term
				t = b.term(name)
			}
			if t.counts != 0 {
				b.write(t)
			}
			t.chunk, t.counts = chunk, counts(&p)
		}
	}
}
