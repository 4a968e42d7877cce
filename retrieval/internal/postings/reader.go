package postings

import (
	"errors"
	"fmt"
)

// sampleChunks is the number of chunks that share a sample of their file and line.
const sampleChunks = 32

// Reader reads an index in place. It is safe for concurrent use. Slices that it returns point into
// the index's bytes: they must not be changed, nor used after the bytes are unmapped.
type Reader struct {
	header header

	files, owner, line, skip, span column
	length                         [Fields]column
	titles                         titles
	shapes                         []byte
	blocks                         column
	dict, postings                 []byte
	data                           []byte

	common [commonShapes]uint64 // the first shapes
}

// Open checks the header of an index, its version and the checksums of its small tables, and
// returns a reader.
//
// It does not read the terms, postings and titles; [Reader.Verify] checks those. If those are
// damaged, results are wrong or empty, but no call panics, and every returned chunk and file
// exists.
func Open(data []byte) (*Reader, error) {
	if len(data) < headerSize || string(data[:len(magic)]) != magic {
		return nil, errors.New("postings: open index: not an index: build it anew")
	}
	if v := le32(data[countsAt:]); v != version {
		return nil, fmt.Errorf("postings: open index: its version is %d, this program reads %d: build it anew", v, version)
	}
	if checksum(data[:headerSum]) != le32(data[headerSum:]) {
		return nil, errors.New("postings: open index: header is damaged: build it anew")
	}
	r := &Reader{data: data}
	r.header.decode(data)
	for i := range r.header.section {
		b, err := r.section(i)
		if err != nil {
			return nil, err
		}
		if !large(i) && checksum(b) != r.header.section[i].sum {
			return nil, fmt.Errorf("postings: open index: section %d is damaged: build it anew", i)
		}
	}
	if err := r.open(); err != nil {
		return nil, err
	}
	return r, nil
}

// section returns the bytes of a section.
func (r *Reader) section(i int) ([]byte, error) {
	e, size := r.header.section[i], uint64(len(r.data))
	if e.at > size || e.size > size-e.at {
		return nil, fmt.Errorf("postings: open index: section %d ends behind the file: build it anew", i)
	}
	return r.data[e.at : e.at+e.size : e.at+e.size], nil
}

// open finds the tables in the sections and checks that they are consistent.
func (r *Reader) open() error {
	ok := true
	col := func(section int, n uint64) column {
		data, _ := r.section(section)
		c, fits := openColumn(data, n)
		ok = ok && fits
		return c
	}
	h := &r.header
	chunks := uint64(h.chunks)
	r.files = col(secFiles, uint64(h.files)+1)
	samples := (chunks + sampleChunks - 1) / sampleChunks
	r.owner, r.line = col(secOwner, samples), col(secLine, samples)
	r.skip, r.span = col(secSkip, chunks), col(secSpan, chunks)
	for f := range r.length {
		r.length[f] = col(secLength+f, chunks)
	}
	r.titles.n = uint32((chunks + titleBlock - 1) / titleBlock)
	r.titles.index = col(secTitleIndex, uint64(r.titles.n))
	r.blocks = col(secBlocks, 2*((uint64(h.terms)+dictBlock-1)/dictBlock))
	r.titles.data, _ = r.section(secTitles)
	r.shapes, _ = r.section(secShapes)
	r.findCommon()
	r.dict, _ = r.section(secDict)
	r.postings, _ = r.section(secPostings)
	ok = ok && chunks < 1<<31 // so that nothing overflows below
	// Each file, chunk and term takes at least a byte, so that no loop or allocation depends on a
	// number without data behind it.
	ok = ok && uint64(len(r.titles.data)) >= chunks && len(r.dict)/3 >= int(h.terms) && r.files.width > 0
	if !ok || !r.filesAscend() || !r.titles.fit() {
		return errors.New("postings: open index: tables do not fit together: build it anew")
	}
	return nil
}

// filesAscend reports whether the files partition the chunks, and the samples of the chunks' files
// are correct.
func (r *Reader) filesAscend() bool {
	last, sample := uint32(0), uint32(0)
	for f := range r.header.files {
		first, end := r.files.at(f), r.files.at(f+1)
		if first != last || end < first || end > r.header.chunks {
			return false
		}
		for ; sample*sampleChunks < end; sample++ {
			if r.owner.at(sample) != f {
				return false
			}
		}
		last = end
	}
	return last == r.header.chunks && r.files.at(0) == 0
}

// Verify checks all checksums that Open does not: those of terms, postings and titles. It reads the
// whole index.
func (r *Reader) Verify() error {
	for i := range r.header.section {
		b, err := r.section(i)
		if err != nil {
			return err
		}
		if checksum(b) != r.header.section[i].sum {
			return fmt.Errorf("postings: verify index: section %d is damaged: build it anew", i)
		}
	}
	return nil
}

// Files returns the number of files.
func (r *Reader) Files() int { return int(r.header.files) }

// Chunks returns the number of chunks.
func (r *Reader) Chunks() int { return int(r.header.chunks) }

// NumTerms returns the number of distinct terms.
func (r *Reader) NumTerms() int { return int(r.header.terms) }

// ChunksOf returns the chunks of a file: the first, and one after the last. For a file that does
// not exist the range is empty.
func (r *Reader) ChunksOf(file uint32) (first, end uint32) {
	if file >= r.header.files {
		return 0, 0
	}
	return r.files.at(file), r.files.at(file + 1)
}

// FileOf returns the file of a chunk, or 0 if the chunk does not exist.
func (r *Reader) FileOf(chunk uint32) uint32 {
	if chunk >= r.header.chunks {
		return 0
	}
	sample := chunk / sampleChunks
	low, high := r.owner.at(sample), r.header.files
	if next := sample + 1; next*sampleChunks < r.header.chunks {
		high = r.owner.at(next) + 1
	}
	for high-low > 1 { // the chunk is in a file of [low, high)
		middle := low + (high-low)/2
		if r.files.at(middle) <= chunk {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// Lines returns the first and last line of a chunk, or zeros if the chunk does not exist.
func (r *Reader) Lines(chunk uint32) (start, end uint32) {
	if chunk >= r.header.chunks {
		return 0, 0
	}
	first, _ := r.ChunksOf(r.FileOf(chunk))
	if sampled := chunk / sampleChunks * sampleChunks; sampled >= first {
		first, end = sampled, r.line.at(sampled/sampleChunks)
	}
	for c := first; c <= chunk; c++ {
		start = end + 1 + unzigzag(r.skip.at(c))
		end = start + r.span.at(c)
	}
	return start, end
}

// Title returns the title of a chunk.
func (r *Reader) Title(chunk uint32) []byte {
	if chunk >= r.header.chunks {
		return nil
	}
	return r.titles.at(chunk)
}

// Length returns the length of a chunk in a field: the number of its terms and stop words there.
func (r *Reader) Length(chunk uint32, field Field) uint32 { return r.Lengths(field).At(chunk) }

// Lengths holds the lengths of all chunks in one field.
type Lengths struct{ column }

// Lengths returns the lengths of all chunks in one field, for loops that score.
func (r *Reader) Lengths(field Field) Lengths { return Lengths{r.length[field]} }

// At returns the length of a chunk, which must exist.
func (l Lengths) At(chunk uint32) uint32 { return l.at(chunk) }

// Totals returns the sum of the lengths of all chunks in each field.
func (r *Reader) Totals() [Fields]uint64 { return r.header.totals }
