package vectors

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// BenchmarkSearch searches 200,000 vectors of 384 components in a mapped file for the ten nearest.
// For comparison, after each search it reads the same number of bytes of memory on all processors
// with the standard library's vectorised search for a byte. The metric limit-ratio is the time of
// the fastest search divided by that of the fastest read; exact-rows is the number of rows computed
// in float32.
func BenchmarkSearch(b *testing.B) {
	const n, dim = 200_000, 384
	path := filepath.Join(b.TempDir(), "bench.vectors")
	fillFile(b, path, n, dim)
	s := open(b, path)
	r := random(9)
	queries := cloud(r, 64, dim)
	search(b, s, queries[0], 10) // verifies the blocks
	memory := make([]byte, n*dim)
	for i := range memory {
		memory[i] = byte(i) | 1
	}
	var limits, times []time.Duration
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		b.StopTimer()
		begin := time.Now()
		readAll(memory)
		limits = append(limits, time.Since(begin))
		b.StartTimer()
		begin = time.Now()
		search(b, s, queries[i%len(queries)], 10)
		times = append(times, time.Since(begin))
		i++
	}
	limit, best := slices.Min(limits), slices.Min(times)
	b.ReportMetric(limit.Seconds()*1e3, "limit-ms")
	b.ReportMetric(best.Seconds()*1e3, "best-ms")
	b.ReportMetric(best.Seconds()/limit.Seconds(), "limit-ratio")
	b.ReportMetric(float64(exactRows(b, s, queries)), "exact-rows")
}

// readAll searches for a zero byte, which does not occur.
func readAll(memory []byte) {
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wg.Go(func() {
			if bytes.IndexByte(memory[w*len(memory)/workers:(w+1)*len(memory)/workers], 0) >= 0 {
				panic("found what is not there")
			}
		})
	}
	wg.Wait()
}

// exactRows returns the average number of rows that a search computes in float32.
func exactRows(b *testing.B, s *Store, queries [][]float32) (rows int) {
	for _, v := range queries {
		q, err := newQuery(v)
		if err != nil {
			b.Fatal(err)
		}
		x := scanner{st: s.st, q: q, k: 10, rows: s.st.live}
		if err := x.scan(b.Context()); err != nil {
			b.Fatal(err)
		}
		best, _, _ := x.rescore()
		for _, c := range x.near {
			if c.top >= best[len(best)-1].score {
				rows++
			}
		}
	}
	return rows / len(queries)
}

// fillFile writes a store of n vectors.
func fillFile(b *testing.B, path string, n, dim int) {
	s, err := Open(path, Config{Model: "test 1"})
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(7, 7))
	topics := cloud(r, 2000, dim)
	for lo := 0; lo < n; lo += 4096 {
		hi := min(n, lo+4096)
		var rows [][]float32
		for range hi - lo {
			v := make([]float32, dim)
			for j, x := range topics[r.IntN(len(topics))] {
				v[j] = x + float32(r.Uint32()>>8)/(1<<24)*2 - 1
			}
			rows = append(rows, v)
		}
		add(b, s, keys(lo, hi), rows)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkOpen opens the file of 50,000 vectors.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "bench.vectors")
	fillFile(b, path, 50_000, 384)
	b.ReportAllocs()
	for b.Loop() {
		s, err := Open(path, Config{Model: "test 1"})
		if err != nil || s.Status().Rows != 50_000 {
			b.Fatal(err, s.Status())
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSelect looks up 50,000 keys.
func BenchmarkSelect(b *testing.B) {
	path := filepath.Join(b.TempDir(), "bench.vectors")
	fillFile(b, path, 50_000, 64)
	s, chosen := open(b, path), keys(0, 50_000)
	b.ReportAllocs()
	for b.Loop() {
		if missing, err := s.Select(chosen).Missing(); err != nil || len(missing) > 0 {
			b.Fatal(len(missing), err)
		}
	}
}

// BenchmarkAppend appends batches of the size that embedders return, each of which is on the disk
// when Append returns.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{16, 256} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "bench.vectors"))
			rows := cloud(random(5), n, 384)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				add(b, s, keys(i*n, (i+1)*n), rows)
				i++
			}
			b.ReportMetric(float64(i*n)/math.Max(b.Elapsed().Seconds(), 1e-9), "rows/s")
		})
	}
}
