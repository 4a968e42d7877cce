//go:build unix

package grep

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp/syntax"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/retrieval/internal/trigram"
)

// tree holds the indexed Go files of a directory: Go's own commands (1.3 million lines), or the
// directory that LUTHIER_TREE names.
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

func (t *tree) read(doc uint32, buf []byte) ([]byte, error) { return ReadFile(t.paths[doc], buf) }

// sink is a process that counts the bytes from a pipe; its processor time is charged to neither
// side.
type sink struct {
	*os.File
	cmd *exec.Cmd
	out bytes.Buffer
}

func newSink(b *testing.B) *sink {
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	s := &sink{File: w, cmd: exec.Command("wc", "-c")}
	s.cmd.Stdin, s.cmd.Stdout = r, &s.out
	if err := s.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	return s
}

func (s *sink) count(b *testing.B) int {
	s.Close()
	if err := s.cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(s.out.String()))
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// search prints the same output as ripgrep to w.
func (t *tree) search(b *testing.B, pattern string, w io.Writer) {
	q, err := trigram.Compile(pattern, syntax.Perl)
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
}

// ripgrep runs ripgrep and returns its processor time.
func (t *tree) ripgrep(b *testing.B, pattern string, w *os.File) time.Duration {
	cmd := exec.Command("rg", "--no-config", "-n", "-uu", "-g", "*.go", "-e", pattern, t.root)
	cmd.Stdout = w
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 {
		b.Fatal(err)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// ownTime returns the processor time of this process.
func ownTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2].Microseconds()) / 1000
}

// BenchmarkRipgrep alternates between a search by index and automaton and one by ripgrep, both into
// a pipe, and prints medians of elapsed time and of processor time, which other work on the machine
// disturbs less. Both must output the same bytes.
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
				var own, ownCPU, rg, rgCPU []time.Duration
				var n, m int
				for b.Loop() {
					out := newSink(b)
					start, cpu := time.Now(), ownTime()
					t.search(b, pattern, out)
					own, ownCPU = append(own, time.Since(start)), append(ownCPU, ownTime()-cpu)
					n = out.count(b)
					out = newSink(b)
					start = time.Now()
					cpu = t.ripgrep(b, pattern, out.File)
					rg, rgCPU = append(rg, time.Since(start)), append(rgCPU, cpu)
					m = out.count(b)
				}
				if n != m {
					b.Errorf("%d bytes came out, %d of ripgrep", n, m)
				}
				b.ReportMetric(median(own), "ms")
				b.ReportMetric(median(rg), "rg-ms")
				b.ReportMetric(median(rg)/median(own), "times")
				b.ReportMetric(median(ownCPU), "cpu-ms")
				b.ReportMetric(median(rgCPU), "rg-cpu-ms")
				b.ReportMetric(median(rgCPU)/median(ownCPU), "cpu-times")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
