package retrieval_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/retrieval"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// bigTree returns the tree of the benchmarks: LUTHIER_TREE, or Go's own source.
func bigTree() string {
	if dir := os.Getenv("LUTHIER_TREE"); dir != "" {
		return dir
	}
	return filepath.Join(runtime.GOROOT(), "src")
}

// linesOf counts the lines and bytes of the files worth indexing.
func linesOf(b *testing.B, dir string) (lines, size int64) {
	t, err := worktree.Scan(b.Context(), dir, worktree.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range t.Files {
		raw, err := os.ReadFile(filepath.Join(dir, f.Path))
		if err != nil {
			b.Fatal(err)
		}
		lines += int64(bytes.Count(raw, []byte("\n")))
		size += int64(len(raw))
	}
	return lines, size
}

// BenchmarkOpen builds the index of a large tree from nothing. It reports CPU seconds and heap per
// million lines, and the index size relative to the source.
func BenchmarkOpen(b *testing.B) {
	dir := bigTree()
	lines, size := linesOf(b, dir)
	million := float64(lines) / 1e6
	b.ReportMetric(million, "Mlines")
	b.ReportAllocs()
	for b.Loop() {
		cache := b.TempDir()
		before := cpuTime()
		x, err := retrieval.Open(b.Context(), dir, retrieval.Config{CacheDir: cache, NoHistory: true, WordsOnly: true})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric((cpuTime()-before).Seconds()/million, "cpu-s/Mline")
		var held runtime.MemStats
		runtime.ReadMemStats(&held)
		b.ReportMetric(float64(held.HeapInuse)/1e6/million, "heapMB/Mline")
		for _, l := range x.Status().Layers {
			if l.Name == "index" {
				b.ReportMetric(float64(l.Bytes)/float64(size), "index/source")
			}
		}
		x.Close()
	}
}

var benchQueries = []string{
	"where is the Retry-After header honoured",
	"ReadFrom",
	"panic: runtime error: slice bounds out of range in net/http/transfer.go:123 when the body is closed twice",
	"how are goroutines scheduled when a system call blocks",
	"json decoder does not report the offset of a syntax error\n\nWhen I decode a stream with unknown fields the error has no position. " +
		"It should tell the line like encoding/xml does.\n```go\ndec := json.NewDecoder(r)\ndec.DisallowUnknownFields()\nerr := dec.Decode(&v)\n```\nI expect a *json.SyntaxError with Offset set.",
}

// BenchmarkSearch runs queries on a large tree; p50 and p95 are of single searches.
func BenchmarkSearch(b *testing.B) {
	x, err := retrieval.Open(b.Context(), bigTree(), retrieval.Config{CacheDir: b.TempDir(), NoHistory: true, WordsOnly: true})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	var took []time.Duration
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		if _, err := x.Search(b.Context(), retrieval.Query{Text: benchQueries[i%len(benchQueries)]}); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
}

// BenchmarkUpdate indexes one edited file of a large tree.
func BenchmarkUpdate(b *testing.B) {
	dir := b.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(runtime.GOROOT(), "src", "net"))); err != nil {
		b.Fatal(err)
	}
	x, err := retrieval.Open(b.Context(), dir, retrieval.Config{CacheDir: b.TempDir(), NoHistory: true})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	name := filepath.Join(dir, "http", "server.go")
	text, err := os.ReadFile(name)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		text = append(text, "\n// another line\n"...)
		if err := os.WriteFile(name, text, 0o644); err != nil {
			b.Fatal(err)
		}
		if err := x.Update(b.Context(), "http/server.go"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMap outlines a large tree: the first time, which builds the graph of uses, and again.
func BenchmarkMap(b *testing.B) {
	cache := b.TempDir()
	open := func() *retrieval.Index {
		x, err := retrieval.Open(b.Context(), bigTree(), retrieval.Config{CacheDir: cache, NoHistory: true})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := x.Outline(b.Context(), "x"); err != nil { // waits for symbols
			b.Fatal(err)
		}
		return x
	}
	outline := func(b *testing.B, x *retrieval.Index) {
		if _, err := x.MapFor(b.Context(), retrieval.MapQuery{Text: "where is the Retry-After header honoured"}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		var cpu time.Duration
		for b.Loop() {
			b.StopTimer()
			x := open()
			b.StartTimer()
			before := cpuTime()
			outline(b, x)
			cpu += cpuTime() - before
			b.StopTimer()
			x.Close()
			b.StartTimer()
		}
		b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s")
	})
	b.Run("again", func(b *testing.B) {
		x := open()
		defer x.Close()
		outline(b, x)
		b.ReportAllocs()
		for b.Loop() {
			outline(b, x)
		}
	})
}
