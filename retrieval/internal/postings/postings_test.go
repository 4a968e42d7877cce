package postings

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// many returns a reader that claims the given numbers of chunks and shapes and has nothing else.
func many(chunks uint32, shapes int) *Reader {
	r := &Reader{}
	r.header.chunks = chunks
	for i := range shapes {
		r.shapes = binary.LittleEndian.AppendUint64(r.shapes, uint64(i+1)*0x0101)
	}
	r.findCommon()
	return r
}

// edges returns the numbers at which the encoding of a posting changes, and their neighbours.
func edges() (gaps []uint32) {
	for s := range commonShapes {
		plain := plainGaps[s]
		short := plain + shortGaps[s]<<8
		for _, edge := range []uint32{0, 1, plain, plain + 256, short, short + 0xffff, rareGaps, 1 << 20} {
			gaps = append(gaps, max(edge, 1)-1, edge, edge+1)
		}
	}
	return gaps
}

// randomList makes postings with gaps at the edges, runs, and shapes among which one may be the
// most frequent.
func randomList(rng *rand.Rand, gaps []uint32, shapes int) []rankedPosting {
	var list []rankedPosting
	next, favourite := uint32(0), uint32(rng.IntN(shapes))
	for range 1 + rng.IntN(1<<rng.IntN(9)) {
		gap, shape := gaps[rng.IntN(len(gaps))], uint32(rng.IntN(min(shapes, 1<<rng.IntN(11))))
		if rng.IntN(3) == 0 {
			shape = favourite
		}
		for range 1 + rng.IntN(2)*rng.IntN(3*longestRun) {
			list = append(list, rankedPosting{next + gap, shape})
			next += gap + 1
			gap = 0
		}
	}
	return list
}

func TestPostings(t *testing.T) {
	const shapes = 1000
	gaps := edges()
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 3))
		list := randomList(rng, gaps, shapes)
		r := many(list[len(list)-1].chunk+1, shapes)
		data := appendPostings(nil, list)
		var want []Posting
		for _, p := range list {
			posting := Posting{Chunk: p.chunk}
			binary.LittleEndian.PutUint64(posting.TF[:], r.shape(uint64(p.shape)))
			want = append(want, posting)
		}
		for _, batch := range []int{1, 2, 13, 256} {
			if got := decodeAll(r, data, len(list), batch); !slices.Equal(want, got) {
				t.Fatalf("seed %d, %d at a time (-want +got):\n%s", seed, batch, cmp.Diff(want, got))
			}
		}
		for range 10 { // a truncated list yields a prefix of it
			end := rng.IntN(len(data))
			got := decodeAll(r, data[:end:end], len(list), 64)
			if len(got) > len(want) || !slices.Equal(want[:len(got)], got) {
				t.Fatalf("seed %d: %d of %d bytes give %d postings that are not the first ones", seed, end, len(data), len(got))
			}
		}
		short := many(list[len(list)/2].chunk, shapes) // chunks beyond the last one do not exist
		if got := decodeAll(short, data, len(list), 64); !slices.Equal(want[:len(list)/2], got) {
			t.Fatalf("seed %d: %d postings in half the chunks, want %d", seed, len(got), len(list)/2)
		}
	}
}

func decodeAll(r *Reader, data []byte, n, batch int) []Posting {
	it := r.Postings(Term{DocFreq: uint32(n), postings: data})
	var all []Posting
	buf := make([]Posting, batch)
	for k := it.Next(buf); k > 0; k = it.Next(buf) {
		all = append(all, buf[:k]...)
	}
	return all
}

// TestCodes checks the table against its description.
func TestCodes(t *testing.T) {
	if codeOf.escape != 255 {
		t.Fatalf("the last code is %d, not 255", codeOf.escape)
	}
	for s := range uint32(commonShapes) {
		for _, gap := range edges() {
			data := appendPosting(nil, gap, s)
			gotGap, gotShape, size := decodePosting(data)
			if gotGap != uint64(gap) || gotShape != uint64(s) || size != len(data) {
				t.Fatalf("gap %d, shape %d: % x gives %d, %d of %d bytes", gap, s, data, gotGap, gotShape, size)
			}
		}
	}
}
