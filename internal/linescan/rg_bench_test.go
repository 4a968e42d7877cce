package linescan

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/trigram"
)

// tree is the Go files of a directory, indexed: Go's own commands (1.3 million lines), or what LUTHIER_TREE names.
type tree struct {
	root  string
	paths []string
	lines int
	index *trigram.Reader
}

func openTree(b *testing.B) *tree {
	b.Helper()
	t := &tree{root: os.Getenv("LUTHIER_TREE")}
	if t.root == "" {
		t.root = filepath.Join(runtime.GOROOT(), "src", "cmd")
	}
	build := trigram.NewBuilder()
	err := filepath.WalkDir(t.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || bytes.IndexByte(text, 0) >= 0 {
			return err
		}
		build.Add(uint32(len(t.paths)), text)
		t.paths = append(t.paths, path)
		t.lines += bytes.Count(text, newline)
		return nil
	})
	if err == nil {
		t.index, err = trigram.Open(build.Bytes())
	}
	if err != nil {
		b.Fatal(err)
	}
	return t
}

func (t *tree) read(doc uint32) ([]byte, error) { return os.ReadFile(t.paths[doc]) }

// counter counts what comes out of a pipe.
func counter(r io.Reader) <-chan int64 {
	out := make(chan int64, 1)
	go func() {
		n, _ := io.Copy(struct{ io.Writer }{io.Discard}, r)
		out <- n
	}()
	return out
}

// search prints what ripgrep prints, into a pipe, and returns how many bytes that were.
func (t *tree) search(b *testing.B, pattern string) int64 {
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	total := counter(r)
	q, err := trigram.Compile(pattern, trigram.Options{})
	if err != nil {
		b.Fatal(err)
	}
	p, err := Compile(pattern, Options{})
	if err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 0, 64<<10)
	for m, err := range Search(context.Background(), t.index.Candidates(q), t.read, p, SearchOptions{}) {
		if err != nil {
			b.Fatal(err)
		}
		if len(buf)+len(m.Text)+len(t.paths[m.Doc])+24 > cap(buf) {
			w.Write(buf)
			buf = buf[:0]
		}
		buf = append(buf, t.paths[m.Doc]...)
		buf = append(buf, ':')
		buf = strconv.AppendInt(buf, int64(m.Number), 10)
		buf = append(buf, ':')
		buf = append(buf, m.Text...)
		buf = append(buf, '\n')
	}
	w.Write(buf)
	w.Close()
	return <-total
}

func (t *tree) ripgrep(b *testing.B, pattern string) int64 {
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	total := counter(r)
	cmd := exec.Command("rg", "--no-config", "-n", "-uu", "-g", "*.go", "-e", pattern, t.root)
	cmd.Stdout = w
	err = cmd.Run()
	w.Close()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		b.Fatal(err)
	}
	return <-total
}

// BenchmarkRipgrep searches by index and automaton and by ripgrep in turns, both into a pipe, and prints medians. The same
// bytes must come out of both.
func BenchmarkRipgrep(b *testing.B) {
	if _, err := exec.LookPath("rg"); err != nil {
		b.Skip("there is no rg here")
	}
	t := openTree(b)
	b.Logf("%d lines in %d files", t.lines, len(t.paths))
	for _, kind := range []struct {
		name     string
		patterns []string
	}{
		{"selective", []string{
			`ErrUnexpectedEOF`, `func \(\w+ \*Reader\) Read`, `zzzyx`, `(?i)deprecated: use`, `sync\.Pool`, `^type \w+Visitor struct`, `context\.WithTimeout|errgroup\.`,
			`TODO\(gri\)`, `"[a-z]+_test\.go"`,
		}},
		{"unselective", []string{`e`, `[a-z]+`, `func`, `.*`, `return`, `\w+\s*:=\s*\w+`, `^\s*//`, `[0-9]{4,}`, `(?i)error`, `if|for|switch`, `\bx\b`, `[A-Z]{12,}`}},
	} {
		for _, pattern := range kind.patterns {
			b.Run(fmt.Sprintf("%s/%q", kind.name, strings.ReplaceAll(pattern, "/", "|")), func(b *testing.B) {
				var own, rg []time.Duration
				var n, m int64
				for b.Loop() {
					start := time.Now()
					n = t.search(b, pattern)
					middle := time.Now()
					m = t.ripgrep(b, pattern)
					own = append(own, middle.Sub(start))
					rg = append(rg, time.Since(middle))
				}
				if n != m {
					b.Errorf("%d bytes came out, %d of ripgrep", n, m)
				}
				slices.Sort(own)
				slices.Sort(rg)
				o, r := own[len(own)/2], rg[len(rg)/2]
				b.ReportMetric(float64(o.Microseconds())/1000, "own-ms")
				b.ReportMetric(float64(r.Microseconds())/1000, "rg-ms")
				b.ReportMetric(float64(r)/float64(o), "times-faster")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
