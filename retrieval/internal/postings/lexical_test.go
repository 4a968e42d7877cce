package postings

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/luthier-dev/luthier/internal/tier"
)

// naive is an index made of plain maps, with the same methods as a builder.
type naive struct {
	Files  []naiveFile
	Terms  map[string]map[uint32][Fields]uint8
	Totals [Fields]uint64
	chunks []*naiveChunk
}

type naiveFile struct{ Chunks []*naiveChunk }

type naiveChunk struct {
	Start, End uint32
	Title      string
	Length     [Fields]uint32
	file       uint32
}

func newNaive() *naive { return &naive{Terms: map[string]map[uint32][Fields]uint8{}} }

func (n *naive) StartFile() { n.Files = append(n.Files, naiveFile{}) }

func (n *naive) StartChunk(start, end uint32, title []byte) {
	c := &naiveChunk{Start: start, End: end, Title: string(title), file: uint32(len(n.Files) - 1)}
	f := &n.Files[len(n.Files)-1]
	f.Chunks = append(f.Chunks, c)
	n.chunks = append(n.chunks, c)
}

func (n *naive) Count(f Field, k int) {
	n.chunks[len(n.chunks)-1].Length[f] += uint32(k)
	n.Totals[f] += uint64(k)
}

func (n *naive) Add(term []byte, f Field) {
	n.Count(f, 1)
	name := string(term[:min(len(term), MaxTerm)])
	if n.Terms[name] == nil {
		n.Terms[name] = map[uint32][Fields]uint8{}
	}
	c := uint32(len(n.chunks) - 1)
	tf := n.Terms[name][c]
	if tf[f] < 255 {
		tf[f]++
	}
	n.Terms[name][c] = tf
}

// indexer is implemented by both the builder and the naive index.
type indexer interface {
	StartFile()
	StartChunk(start, end uint32, title []byte)
	Add(term []byte, f Field)
	Count(f Field, n int)
}

// fill adds random files to an index. keep selects the files to add; its decisions do not change
// the contents of the others.
func fill(rng *rand.Rand, files int, keep func(file int) bool, to indexer) {
	fillWith(rng, randomTerms(rng, 2000), files, keep, to)
}

func fillWith(rng *rand.Rand, vocabulary [][]byte, files int, keep func(file int) bool, to indexer) {
	zipf := rand.NewZipf(rng, 1.2, 1, uint64(len(vocabulary)-1))
	fieldsUsed := 1 + rng.IntN(Fields)
	for file := range files {
		drop := !keep(file)
		if !drop {
			to.StartFile()
		}
		line, title := uint32(1), []byte("")
		for range rng.IntN(8) {
			if rng.IntN(2) == 0 {
				title = fmt.Appendf(nil, "title%d", rng.IntN(1000)*rng.IntN(2))
			}
			line += uint32(rng.IntN(2) * rng.IntN(2000) * rng.IntN(2))
			end := line + uint32(rng.IntN(60))
			if !drop {
				to.StartChunk(line, end, title)
			}
			line = end - min(end-1, uint32(rng.IntN(4)/3*rng.IntN(300)))
			for range rng.IntN(1 << rng.IntN(10)) {
				term, field := vocabulary[zipf.Uint64()], Field(min(rng.IntN(8), rng.IntN(fieldsUsed)))
				if !drop {
					to.Add(term, field)
				}
			}
			if n := rng.IntN(100); !drop {
				to.Count(Field(n%fieldsUsed), n*n)
			}
		}
	}
}

// randomTerms makes words with common prefixes, some of them long, empty or with unusual bytes.
func randomTerms(rng *rand.Rand, n int) [][]byte {
	terms := [][]byte{{}, {0}, {0, 0}, {0xff}, bytes.Repeat([]byte("x"), 254), bytes.Repeat([]byte("x"), 255), bytes.Repeat([]byte("x"), 300)}
	for range 1 + rng.IntN(n) {
		var t []byte
		if len(terms) > 10 && rng.IntN(3) > 0 {
			t = append(t, terms[rng.IntN(len(terms))]...)
		}
		for range 1 + rng.IntN(6) {
			t = append(t, byte('a'+rng.IntN(1+rng.IntN(26))))
		}
		terms = append(terms, t)
	}
	rng.Shuffle(len(terms), func(i, j int) { terms[i], terms[j] = terms[j], terms[i] })
	return terms
}

// read makes a naive index of everything in a reader.
func read(r *Reader) *naive {
	n := newNaive()
	for f := range uint32(r.Files()) {
		n.StartFile()
		first, end := r.ChunksOf(f)
		for c := first; c < end; c++ {
			start, last := r.Lines(c)
			n.StartChunk(start, last, r.Title(c))
			for field := range Field(Fields) {
				n.Count(field, int(r.Length(c, field)))
			}
		}
	}
	n.Totals = r.Totals()
	for name, term := range r.Terms(nil) {
		n.Terms[string(name)] = readPostings(r, term, 7)
	}
	return n
}

// readPostings reads a term's postings, a few at a time.
func readPostings(r *Reader, t Term, batch int) map[uint32][Fields]uint8 {
	all := map[uint32][Fields]uint8{}
	it := r.Postings(t)
	buf := make([]Posting, batch)
	for n := it.Next(buf); n > 0; n = it.Next(buf) {
		for _, p := range buf[:n] {
			all[p.Chunk] = p.TF
		}
	}
	return all
}

func open(t testing.TB, data []byte) *Reader {
	t.Helper()
	r, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Verify(); err != nil {
		t.Fatal(err)
	}
	return r
}

// diff describes the difference between two indexes.
func diff(want, got *naive) string {
	if reflect.DeepEqual(want, got) { // much faster than diff
		return ""
	}
	return cmp.Diff(want, got, cmp.AllowUnexported(naiveChunk{}), cmp.FilterPath(func(p cmp.Path) bool {
		return p.Last().String() == ".chunks"
	}, cmp.Ignore()))
}

func all(int) bool { return true }

func TestRoundTrip(t *testing.T) {
	tier.Normal(t)
	for seed := range uint64(60) {
		files := int(seed*seed) % 97
		b, want := NewBuilder(), newNaive()
		fill(rand.New(rand.NewPCG(seed, 0)), files, all, b)
		fill(rand.New(rand.NewPCG(seed, 0)), files, all, want)
		data := b.Bytes()
		r := open(t, data)
		if d := diff(want, read(r)); d != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, d)
		}
		checkLookup(t, r, want)
		if again := b.Bytes(); !bytes.Equal(data, again) {
			t.Fatalf("seed %d: encoding a second time gives other bytes", seed)
		}
	}
}

// checkLookup looks up every term, and many that do not exist.
func checkLookup(t *testing.T, r *Reader, want *naive) {
	t.Helper()
	if r.NumTerms() != len(want.Terms) {
		t.Fatalf("%d terms, want %d", r.NumTerms(), len(want.Terms))
	}
	for name, postings := range want.Terms {
		term, ok := r.Lookup([]byte(name))
		if !ok {
			t.Fatalf("term %q is missing", name)
		}
		files := map[uint32]bool{}
		for c := range postings {
			files[want.chunks[c].file] = true
			if r.FileOf(c) != want.chunks[c].file {
				t.Fatalf("chunk %d is of file %d, want %d", c, r.FileOf(c), want.chunks[c].file)
			}
		}
		if int(term.DocFreq) != len(postings) || int(term.FileFreq) != len(files) {
			t.Fatalf("term %q stands in %d chunks and %d files, want %d and %d", name, term.DocFreq, term.FileFreq, len(postings), len(files))
		}
		if got := readPostings(r, term, 256); !maps.Equal(postings, got) {
			t.Fatalf("term %q (-want +got):\n%s", name, cmp.Diff(postings, got))
		}
		for _, other := range []string{name + "\x00", name + "q", "q" + name} {
			_, want := want.Terms[other[:min(len(other), MaxTerm)]]
			if _, got := r.Lookup([]byte(other)); got != want {
				t.Fatalf("term %q: found %v, want %v", other, got, want)
			}
		}
	}
}

func TestPrefix(t *testing.T) {
	b, want := NewBuilder(), newNaive()
	fill(rand.New(rand.NewPCG(1, 2)), 40, all, b)
	fill(rand.New(rand.NewPCG(1, 2)), 40, all, want)
	r := open(t, b.Bytes())
	names := slices.Sorted(maps.Keys(want.Terms))
	for _, prefix := range append(slices.Clone(names[:300]), "", "a", "zz", "\xff\xff", "xxxxxxxxxxxx") {
		var want, got []string
		for _, n := range names {
			if bytes.HasPrefix([]byte(n), []byte(prefix)) {
				want = append(want, n)
			}
		}
		for n := range r.Terms([]byte(prefix)) {
			got = append(got, string(n))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("prefix %q (-want +got):\n%s", prefix, d)
		}
	}
}

// TestParallel reads one index from many goroutines.
func TestParallel(t *testing.T) {
	b, want := NewBuilder(), newNaive()
	fill(rand.New(rand.NewPCG(4, 2)), 20, all, b)
	fill(rand.New(rand.NewPCG(4, 2)), 20, all, want)
	r := open(t, b.Bytes())
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if d := diff(want, read(r)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	wait.Wait()
}

// TestMisuse checks that calls of a builder in a wrong order panic.
func TestMisuse(t *testing.T) {
	for want, fn := range map[string]func(b *Builder){
		"call StartFile first":   func(b *Builder) { b.StartChunk(1, 2, nil) },
		"add term: no chunk":     func(b *Builder) { b.StartFile(); b.Add([]byte("a"), 0) },
		"count: no chunk":        func(b *Builder) { b.StartFile(); b.StartChunk(1, 2, nil); b.StartFile(); b.Count(0, 1) },
		"index out of range [8]": func(b *Builder) { b.StartFile(); b.StartChunk(1, 2, nil); b.Add([]byte("a"), Fields) },
	} {
		t.Run(want, func(t *testing.T) {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("it panics with %q, want %q", got, want)
				}
			}()
			fn(NewBuilder())
		})
	}
}

// TestSaturation counts a term more often than fits into a byte.
func TestSaturation(t *testing.T) {
	b := NewBuilder()
	b.StartFile()
	b.StartChunk(3, 9, []byte("title"))
	for range 70_000 {
		b.Add([]byte("a"), 1)
	}
	b.Add([]byte("a"), 2)
	r := open(t, b.Bytes())
	term, _ := r.Lookup([]byte("a"))
	want := map[uint32][Fields]uint8{0: {1: 255, 2: 1}}
	if d := cmp.Diff(want, readPostings(r, term, 1)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if n := r.Length(0, 1); n != 70_000 {
		t.Errorf("length %d, want 70000", n)
	}
}

// TestVersion opens bytes that are not an index, and an index of another version.
func TestVersion(t *testing.T) {
	data := small(1, 2)
	data[countsAt] = version + 1
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":   {nil, "not an index"},
		"foreign": {bytes.Repeat([]byte("no index"), 100), "not an index"},
		"version": {data, "its version is 2, this program reads 1"},
	} {
		if _, err := Open(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that says %q", name, err, c.want)
		}
	}
}

// TestBytesBetween checks that encoding before everything is added does not change a later
// encoding.
func TestBytesBetween(t *testing.T) {
	add := func(b *Builder, n int) {
		for range n {
			b.Add([]byte("a"), 0)
			b.Add([]byte("b"), 1)
		}
	}
	once, twice := NewBuilder(), NewBuilder()
	for _, b := range []*Builder{once, twice} {
		b.StartFile()
		b.StartChunk(1, 2, nil)
		add(b, 3)
		if b == twice {
			b.Bytes()
		}
		add(b, 4)
	}
	if !bytes.Equal(once.Bytes(), twice.Bytes()) {
		t.Error("it shows")
	}
}

// TestArena fills pages with pieces that do not fit exactly.
func TestArena(t *testing.T) {
	var a arena
	var places []uint32
	for i := range 1000 {
		places = append(places, a.put(bytes.Repeat([]byte{byte(i)}, i%256)))
	}
	for i, at := range places {
		if got := a.bytes(at, i%256); !bytes.Equal(got, bytes.Repeat([]byte{byte(i)}, i%256)) {
			t.Fatalf("piece %d has changed", i)
		}
	}
}
