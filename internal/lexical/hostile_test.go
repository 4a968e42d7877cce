package lexical

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// small builds an index that has a bit of everything, small enough to be fuzzed.
func small(seed uint64, files int) []byte {
	b := NewBuilder()
	rng := rand.New(rand.NewPCG(seed, 7))
	fillWith(rng, randomTerms(rng, 200), files, all, b)
	return b.Bytes()
}

// reseal makes the checksums of a damaged index right again, so that what lies behind them is reached.
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

// use calls all that a reader has, and checks that what it gives exists and ends.
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

// FuzzOpen reads indexes of which bytes were changed, as they are and with checksums made right.
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

// FuzzFlip changes bytes of a good index: many more such inputs are nearly right.
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

// TestDamage changes random bytes of an index many times: it opens or not, and nothing else happens.
func TestDamage(t *testing.T) {
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

// TestChecksums changes each byte of an index: Open or Verify finds it.
func TestChecksums(t *testing.T) {
	data := small(1, 4)
	for i := range data {
		data[i] ^= 0x10
		r, err := Open(data)
		if err == nil {
			err = r.Verify()
		}
		if err == nil {
			t.Fatalf("byte %d of %d was changed, and nothing said so", i, len(data))
		}
		data[i] ^= 0x10
	}
}
