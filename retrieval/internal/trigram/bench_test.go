package trigram

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"runtime"
	"strings"
	"testing"
)

// sourceTree returns text to measure with: Go's own source, or the trees that LUTHIER_TREES lists,
// separated as in PATH.
func sourceTree(b *testing.B) (docs [][]byte, size int) {
	b.Helper()
	roots := filepath.SplitList(os.Getenv("LUTHIER_TREES"))
	if len(roots) == 0 {
		roots = []string{filepath.Join(runtime.GOROOT(), "src")}
	}
	kinds := regexp.MustCompile(`\.(go|py|js|ts|c|h|s|svelte|md|rst)$`)
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && strings.HasPrefix(path, filepath.Join(runtime.GOROOT(), "src", "cmd")) {
				return fs.SkipDir
			}
			if !d.Type().IsRegular() || !kinds.MatchString(path) {
				return nil
			}
			text, err := os.ReadFile(path)
			if err == nil && len(text) <= 1<<20 && bytes.IndexByte(text, 0) < 0 {
				docs = append(docs, text)
				size += len(text)
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return docs, size
}

func BenchmarkBuild(b *testing.B) {
	docs, size := sourceTree(b)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	var data []byte
	cpu := ownTime()
	for b.Loop() {
		data = build(docs).Bytes()
	}
	b.ReportMetric(float64(size)*float64(b.N)/1e6/(ownTime()-cpu).Seconds(), "MB/cpu-s")
	b.ReportMetric(float64(len(data))/float64(size), "bytes/source")
	b.ReportMetric(float64(len(docs)), "docs")
}

func build(docs [][]byte) *Builder {
	bd := NewBuilder()
	for i, d := range docs {
		bd.Add(uint32(i), d)
	}
	return bd
}

// BenchmarkHeap reports the memory that a builder uses before Bytes, relative to the source.
func BenchmarkHeap(b *testing.B) {
	docs, size := sourceTree(b)
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		bd := build(docs)
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(bd)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(size), "heap/source")
}

// BenchmarkOneFile measures the minimum cost of an index.
func BenchmarkOneFile(b *testing.B) {
	text, err := os.ReadFile("reader.go")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	var data []byte
	for b.Loop() {
		data = build([][]byte{text}).Bytes()
	}
	b.ReportMetric(float64(len(data))/float64(len(text)), "bytes/source")
}

func BenchmarkOpen(b *testing.B) {
	docs, _ := sourceTree(b)
	data := build(docs).Bytes()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Open(data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCandidates reports the number of documents that a query selects for each document with a
// match.
func BenchmarkCandidates(b *testing.B) {
	docs, _ := sourceTree(b)
	r, err := Open(build(docs).Bytes())
	if err != nil {
		b.Fatal(err)
	}
	for _, pattern := range []string{
		"ErrUnexpectedEOF", "unmarshal", "(?i)unmarshal", "TODO", "func main", `func \(\w+ \*Reader\) Read`, `^import "C"`, "context|deadline|cancel",
		`err != nil`, `[a-z]+_test\.go`, `return.*fmt\.Errorf\(`, `0x[0-9a-f]{8}`, "sync.Pool", `for`, `\bif\b.*\belse\b`, "zzzyx",
	} {
		re := regexp.MustCompile("(?m)" + pattern)
		b.Run(fmt.Sprintf("%q", pattern), func(b *testing.B) {
			var got []uint32
			b.ReportAllocs()
			cpu := ownTime()
			for b.Loop() {
				q, err := Compile(pattern, syntax.Perl)
				if err != nil {
					b.Fatal(err)
				}
				got = r.Candidates(q)
			}
			b.ReportMetric(float64((ownTime()-cpu).Nanoseconds())/float64(b.N)/1000, "cpu-us")
			found := 0
			for _, d := range got {
				if re.Match(docs[d]) {
					found++
				}
			}
			b.ReportMetric(float64(len(got)), "candidates")
			b.ReportMetric(float64(found), "matching")
		})
	}
}
