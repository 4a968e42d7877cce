package postings

import (
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func eachTree(b *testing.B, fn func(b *testing.B, c *corpus)) {
	for _, dir := range trees() {
		c := readCorpus(b, dir, 1_000_000)
		b.Run(filepath.Base(filepath.Dir(dir))+"_"+filepath.Base(dir), func(b *testing.B) { fn(b, c) })
	}
}

// BenchmarkBuild measures everything from the first Add to Bytes, without the tokeniser. The metric
// bytes/source is the size of the index relative to the source.
func BenchmarkBuild(b *testing.B) {
	eachTree(b, func(b *testing.B, c *corpus) {
		b.ReportAllocs()
		var data []byte
		var adding, encoding time.Duration
		for b.Loop() {
			start := cpuTime()
			x := NewBuilder()
			c.replay(x)
			middle := cpuTime()
			data = x.Bytes()
			adding += middle - start
			encoding += cpuTime() - middle
		}
		adds := 0
		for _, o := range c.ops {
			if o.kind == opAdd {
				adds++
			}
		}
		b.ReportMetric(float64(len(data))/float64(c.bytes), "bytes/source")
		b.ReportMetric((adding+encoding).Seconds()/float64(b.N)/float64(c.lines)*1e6, "cpu-s/Mline")
		b.ReportMetric(float64(encoding.Nanoseconds())/float64(b.N)/1e6, "ms-encoding")
		b.ReportMetric(float64(adding.Nanoseconds())/float64(b.N)/float64(adds), "ns/add")
		b.ReportMetric(float64(c.bytes)/float64(adds), "source/add")
		b.ReportMetric(heapWhileBuilding(c)/1e6/float64(c.lines)*1e6, "heapMB/Mline")
	})
}

// heapWhileBuilding returns the bytes of memory that a builder and its result use, after garbage
// collection.
func heapWhileBuilding(c *corpus) float64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	x := NewBuilder()
	c.replay(x)
	data := x.Bytes()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(x)
	runtime.KeepAlive(data)
	return float64(after.HeapAlloc) - float64(before.HeapAlloc)
}

func build(c *corpus) []byte {
	x := NewBuilder()
	c.replay(x)
	return x.Bytes()
}

func BenchmarkMerge(b *testing.B) {
	eachTree(b, func(b *testing.B, c *corpus) {
		r := open(b, build(c))
		start := cpuTime()
		for b.Loop() {
			Merge([]*Reader{r}, nil).Bytes()
		}
		b.ReportMetric((cpuTime()-start).Seconds()/float64(b.N)/float64(c.lines)*1e6, "cpu-s/Mline")
	})
}

func BenchmarkOpen(b *testing.B) {
	eachTree(b, func(b *testing.B, c *corpus) {
		data := build(c)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Open(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkLookup(b *testing.B) {
	eachTree(b, func(b *testing.B, c *corpus) {
		r := open(b, build(c))
		var names [][]byte
		for _, o := range c.ops {
			if o.kind == opAdd && len(names) < 100_000 {
				names = append(names, c.text[o.at:][:o.size])
			}
		}
		b.ReportAllocs()
		i, start := 0, cpuTime()
		for b.Loop() {
			if _, ok := r.Lookup(names[i%len(names)]); !ok {
				b.Fatal("missing")
			}
			i += 7919
		}
		b.ReportMetric(float64((cpuTime()-start).Nanoseconds())/float64(b.N), "cpu-ns/op")
	})
}

// BenchmarkPostings decodes all lists, those of the most common terms, and one of a term that
// occurs once in about every tenth chunk.
func BenchmarkPostings(b *testing.B) {
	eachTree(b, func(b *testing.B, c *corpus) {
		r := open(b, build(c))
		var every, long []Term
		for _, t := range r.Terms(nil) {
			every = append(every, t)
			if t.DocFreq >= 256 {
				long = append(long, t)
			}
		}
		b.Run("all", func(b *testing.B) { decode(b, r, every) })
		b.Run("long", func(b *testing.B) { decode(b, r, long) })
	})
	x := NewBuilder()
	x.StartFile()
	rng := rand.New(rand.NewPCG(1, 1))
	for range 500_000 {
		x.StartChunk(1, 1, nil)
		if rng.IntN(10) == 0 {
			x.Add([]byte("once"), 0)
		}
	}
	r := open(b, x.Bytes())
	once, _ := r.Lookup([]byte("once"))
	b.Run("once", func(b *testing.B) { decode(b, r, []Term{once}) })
}

func decode(b *testing.B, r *Reader, terms []Term) {
	b.ReportAllocs()
	var buf [256]Posting
	n := 0
	start := cpuTime()
	for b.Loop() {
		for _, t := range terms {
			it := r.Postings(t)
			for k := it.Next(buf[:]); k > 0; k = it.Next(buf[:]) {
				n += k
			}
		}
	}
	b.ReportMetric(float64((cpuTime()-start).Nanoseconds())/float64(n), "cpu-ns/posting")
}

// TestSize checks that an index of real code is at most 0.15 times the size of the source, and
// prints the sizes of its parts.
func TestSize(t *testing.T) {
	if testing.Short() {
		t.Skip("reads the standard library")
	}
	names := [sections]string{"files", "owner", "line", "skip", "span", "length 0", "length 1", "length 2", "length 3", "length 4",
		"length 5", "length 6", "length 7", "title index", "titles", "shapes", "blocks", "dict", "postings"}
	for _, dir := range trees() {
		c := readCorpus(t, dir, 500_000)
		data := build(c)
		r := open(t, data)
		ratio := float64(len(data)) / float64(c.bytes)
		t.Logf("%s: %d bytes, %d lines, %d files, %d chunks, %d terms: %.4f", dir, c.bytes, c.lines, r.Files(), r.Chunks(), r.NumTerms(), ratio)
		for i, s := range r.header.section {
			t.Logf("%12s %9d %.4f", names[i], s.size, float64(s.size)/float64(c.bytes))
		}
		if ratio > 0.15 {
			t.Errorf("%s: the index takes %.4f of the source, want 0.15 at most", dir, ratio)
		}
	}
}
