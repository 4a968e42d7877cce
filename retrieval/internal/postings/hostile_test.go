package postings

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/luthier-dev/luthier/internal/tier"
)

// small builds an index that contains every feature and is small enough for fuzzing.
func small(seed uint64, files int) []byte {
	b := NewBuilder()
	rng := rand.New(rand.NewPCG(seed, 7))
	fillWith(rng, randomTerms(rng, 200), files, all, b)
	return b.Bytes()
}

// reseal corrects the checksums of a damaged index, so that the code behind the checks is reached.
func reseal(data []byte) {
	if len(data) < headerSize {
		return
	}
	le := binary.LittleEndian
	copy(data, magic)
	le.PutUint32(data[countsAt:], version)
	for i := range sections {
		e := data[sectionsAt+entrySize*i:]
		at, size := le.Uint64(e), le.Uint64(e[8:])
		if at <= uint64(len(data)) && size <= uint64(len(data))-at {
			le.PutUint32(e[16:], checksum(data[at:at+size]))
		}
	}
	le.PutUint32(data[headerSum:], checksum(data[:headerSum]))
}

// use calls every method of a reader, and checks that the results are valid and finite.
func use(t *testing.T, r *Reader, names [][]byte) {
	var buf [5]Posting
	postings := func(term Term) {
		it := r.Postings(term)
		before := int64(-1)
		for n := it.Next(buf[:]); n > 0; n = it.Next(buf[:]) {
			for _, p := range buf[:n] {
				if int64(p.Chunk) <= before || int(p.Chunk) >= r.Chunks() {
					t.Fatalf("chunk %d after %d of %d", p.Chunk, before, r.Chunks())
				}
				before = int64(p.Chunk)
			}
		}
	}
	for f := range uint32(r.Files()) {
		first, end := r.ChunksOf(f)
		for c := first; c < end; c++ {
			if r.FileOf(c) != f {
				t.Fatalf("chunk %d is of file %d, not %d", c, r.FileOf(c), f)
			}
			r.Lines(c)
			r.Title(c)
			for field := range Field(Fields) {
				r.Lengths(field).At(c)
			}
		}
	}
	terms := 0
	for name, term := range r.Terms(nil) {
		if len(name) > MaxTerm {
			t.Fatalf("a term of %d bytes", len(name))
		}
		terms++
		postings(term)
	}
	if terms > r.NumTerms() {
		t.Fatalf("%d terms of %d", terms, r.NumTerms())
	}
	for _, name := range names {
		if term, ok := r.Lookup(name); ok {
			postings(term)
		}
	}
	r.Totals()
	_ = r.Verify()
	data := Merge([]*Reader{r, r}, func(_ int, file uint32) bool { return file%3 != 0 }).Bytes()
	if _, err := Open(data); err != nil {
		t.Fatalf("what merging gives does not open: %v", err)
	}
}

// FuzzOpen reads indexes with changed bytes, unchanged and with corrected checksums.
func FuzzOpen(f *testing.F) {
	base := small(1, 6)
	f.Add([]byte{}, []byte("a"))
	f.Add(base, []byte("abc"))
	f.Add(small(2, 0), []byte(""))
	rng := rand.New(rand.NewPCG(5, 5))
	for range 40 {
		data := append([]byte{}, base...)
		for range 1 + rng.IntN(4) {
			data[rng.IntN(len(data))] ^= 1 << rng.IntN(8)
		}
		f.Add(data, []byte("b"))
	}
	f.Add(base[:len(base)/2], []byte("c"))
	f.Fuzz(func(t *testing.T, data, name []byte) {
		data = append([]byte{}, data...)
		if r, err := Open(data); err == nil {
			use(t, r, [][]byte{name})
		}
		reseal(data)
		if r, err := Open(data); err == nil {
			use(t, r, [][]byte{name, {}, {0xff}})
		}
	})
}

// FuzzFlip changes bytes of a valid index: more of its inputs are nearly valid.
func FuzzFlip(f *testing.F) {
	base := small(1, 6)
	f.Add([]byte{0, 0, 0, 1})
	f.Add([]byte{0, 12, 0xff, 2, 0, 100, 7, 9})
	f.Fuzz(func(t *testing.T, flips []byte) {
		data := append([]byte{}, base...)
		for ; len(flips) >= 4; flips = flips[4:] {
			at := int(binary.LittleEndian.Uint16(flips)) * (1 + int(flips[2])) % len(data)
			data[at] ^= flips[3]
		}
		reseal(data)
		if r, err := Open(data); err == nil {
			use(t, r, [][]byte{[]byte("a"), []byte("xx")})
		}
	})
}

// TestDamage changes random bytes of an index many times. Open must either succeed or refuse the
// index, without a panic.
func TestDamage(t *testing.T) {
	tier.Normal(t)
	rng := rand.New(rand.NewPCG(9, 9))
	opened := 0
	for range 3000 {
		data := small(uint64(rng.IntN(3)), 5)
		for range 1 + rng.IntN(6) {
			at := rng.IntN(len(data))
			if rng.IntN(3) == 0 {
				at = rng.IntN(headerSize)
			}
			data[at] = byte(rng.Uint32())
		}
		data = data[:len(data)-rng.IntN(2)*rng.IntN(40)]
		reseal(data)
		if r, err := Open(data); err == nil {
			opened++
			use(t, r, [][]byte{[]byte("abc"), []byte("zz")})
		}
	}
	if opened < 100 {
		t.Fatalf("only %d of the damaged indexes were read at all", opened)
	}
}

// TestChecksums changes each byte of an index. Open must detect changes in the small tables, and
// Verify must detect all.
func TestChecksums(t *testing.T) {
	data := small(1, 4)
	good := open(t, data).header
	for i := range data {
		data[i] ^= 0x10
		if r, err := Open(data); err == nil && !inLarge(good, uint64(i)) {
			t.Errorf("byte %d of %d was changed, and Open does not say so", i, len(data))
		} else if err == nil && r.Verify() == nil {
			t.Errorf("byte %d of %d was changed, and Verify does not say so", i, len(data))
		}
		data[i] ^= 0x10
	}
}

// inLarge reports whether a byte is in a section that only Verify checks.
func inLarge(h header, at uint64) bool {
	for i, s := range h.section {
		if large(i) && at >= s.at && at < s.at+s.size {
			return true
		}
	}
	return false
}

// TestTables opens indexes with inconsistent tables but correct checksums.
func TestTables(t *testing.T) {
	b := NewBuilder()
	for range 3 {
		b.StartFile()
		for range 40 {
			b.StartChunk(1, 9, []byte("title"))
			b.Add([]byte("a"), 0)
		}
	}
	base := b.Bytes()
	section := func(data []byte, i int) []byte {
		s := open(t, base).header.section[i]
		return data[s.at : s.at+s.size]
	}
	le := binary.LittleEndian
	for name, damage := range map[string]func(data []byte){
		"section behind the end": func(data []byte) { le.PutUint64(data[sectionsAt:], uint64(len(data))+1) },
		"section of 2^64 bytes":  func(data []byte) { le.PutUint64(data[sectionsAt+8:], 1<<64-1) },
		"more files":             func(data []byte) { le.PutUint32(data[countsAt+4:], 4) },
		"more chunks":            func(data []byte) { le.PutUint32(data[countsAt+8:], 121) },
		"more terms":             func(data []byte) { le.PutUint32(data[countsAt+12:], 1000) },
		"files descend":          func(data []byte) { section(data, secFiles)[1] = 90 },
		"last file too long":     func(data []byte) { section(data, secFiles)[3] = 121 },
		"first file too late":    func(data []byte) { section(data, secFiles)[0] = 1 },
		"owner":                  func(data []byte) { section(data, secOwner)[1] = 2 },
		"titles descend":         func(data []byte) { section(data, secTitleIndex)[2] = 255 },
		"title behind the end":   func(data []byte) { section(data, secTitleIndex)[7] = 255 },
		"terms without entries": func(data []byte) {
			le.PutUint32(data[countsAt+12:], 1<<31)
			le.PutUint64(data[sectionsAt+entrySize*secBlocks+8:], 0)
		},
	} {
		data := append([]byte{}, base...)
		damage(data)
		reseal(data)
		if _, err := Open(data); err == nil {
			t.Errorf("%s: it opens", name)
		}
	}
}

// TestLongName reads a dictionary with a name longer than any that a builder writes: the dictionary
// ends there.
func TestLongName(t *testing.T) {
	r := many(10, 3)
	var d dictWriter
	d.addSingle([]byte("a"), 0, rankedPosting{chunk: 1})
	d.addSingle(bytes.Repeat([]byte("b"), MaxTerm+1), 0, rankedPosting{chunk: 1})
	d.addSingle([]byte("c"), 0, rankedPosting{chunk: 1})
	r.dict, r.header.terms = d.data, uint32(d.n)
	var names []string
	for name := range r.Terms(nil) {
		names = append(names, string(name))
	}
	if d := cmp.Diff([]string{"a"}, names); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestTitleBlocks reads a title that claims to be longer than its block, which would let a small
// index hold huge titles.
func TestTitleBlocks(t *testing.T) {
	var w titleWriter
	for i := range 2 * titleBlock {
		w.add([]byte{'a' + byte(i%2)})
	}
	last := int(w.index[1]) - 2 // length of the last title of the first block
	w.data[last] = 9
	titles := titles{data: w.data, index: column{data: []byte{0, byte(w.index[1])}, width: 1}, n: 2}
	if got := titles.at(titleBlock - 1); got != nil {
		t.Errorf("title %q, want none", got)
	}
	if got := string(titles.at(titleBlock)); got != "a" {
		t.Errorf("title of the next block %q, want a", got)
	}
}

// TestManyChunks opens an index that claims to have 1<<30 chunks but contains none.
func TestManyChunks(t *testing.T) {
	h := header{files: 1, chunks: 1 << 30}
	w := sectionWriter{header: &h, out: make([]byte, headerSize)}
	w.put(secFiles, encodeColumn(2, func(i int) uint32 { return uint32(i) << 30 }))
	h.encode(w.out)
	if _, err := Open(w.out); err == nil {
		t.Error("it opens")
	}
}
