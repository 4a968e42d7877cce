//go:build unix

package transformer

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/gguf/synth"
	"github.com/luthier-dev/luthier/internal/engine/tensor"
	"github.com/luthier-dev/luthier/internal/engine/transformer/reference"
)

// benchModels returns the files to measure: those matching the environment variable
// LUTHIER_BENCH_MODELS (a glob), or small ones created for the benchmark.
func benchModels(b *testing.B) []string {
	if glob := os.Getenv("LUTHIER_BENCH_MODELS"); glob != "" {
		paths, err := filepath.Glob(glob)
		if err != nil || len(paths) == 0 {
			b.Fatalf("no files match %s", glob)
		}
		return paths
	}
	var paths []string
	for _, p := range []struct{ preset, quant string }{{"moe-1b-a200m", "q8_0"}, {"moe-1b-a200m", "q4_k_m"}, {"dense-0.6b", "q8_0"}} {
		c, _ := synth.Preset(p.preset)
		c.Quant, c.Layers = p.quant, 4
		path := filepath.Join(b.TempDir(), p.preset+"-"+p.quant+".gguf")
		if err := synth.Create(path, c); err != nil {
			b.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkForward measures prompts of 512 tokens and single tokens, at the start and at a depth of
// 4096 tokens. tok/cpu-s is tokens per second of processor time, the measure that depends least on
// other load on the machine.
func BenchmarkForward(b *testing.B) {
	for _, path := range benchModels(b) {
		f, err := gguf.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		n, c := newNetwork(b, f, gguf.TypeF16, 4096+1024, runtime.GOMAXPROCS(0))
		b.Logf("%s: %d MiB loaded in %v", filepath.Base(path), n.Bytes()>>20, time.Since(start).Round(time.Millisecond))
		text := reference.RandomTokens(rand.New(rand.NewPCG(1, 1)), 4096+1024, n.Hyper().Vocab)
		s := seqOf(b, c, len(text))
		for _, depth := range []int{0, 4096} {
			fill(b, n, c, s, text[:depth])
			for _, k := range []int{1, 8, 512} {
				b.Run(fmt.Sprintf("%s/depth=%d/tokens=%d", filepath.Base(path), depth, k), func(b *testing.B) {
					b.ReportAllocs()
					cpu := cpuTime()
					for b.Loop() {
						s.Len = depth
						if err := n.Forward(c, []Slice{{Seq: s, Tokens: text[depth : depth+k], Outputs: 1}}); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(k*b.N)/(cpuTime()-cpu).Seconds(), "tok/cpu-s")
					b.ReportMetric(float64(k*b.N)/b.Elapsed().Seconds(), "tok/s")
				})
			}
		}
		f.Close()
	}
}

func fill(b *testing.B, n *Network, c *Cache, s *Seq, text []int32) {
	s.Len = 0
	for s.Len < len(text) {
		end := min(s.Len+512, len(text))
		if err := n.Forward(c, []Slice{{Seq: s, Tokens: text[s.Len:end]}}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoad measures loading the weights of a file and, for comparison, only reading the file.
func BenchmarkLoad(b *testing.B) {
	pool := tensor.NewPool(0)
	defer pool.Close()
	for _, path := range benchModels(b) {
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(filepath.Base(path)+"/read", func(b *testing.B) {
			b.SetBytes(info.Size())
			for b.Loop() {
				readAll(b, path)
			}
		})
		b.Run(filepath.Base(path)+"/load", func(b *testing.B) {
			b.SetBytes(info.Size())
			for b.Loop() {
				f, err := gguf.Open(path)
				if err != nil {
					b.Fatal(err)
				}
				n, err := LoadNetwork(f, pool, NetworkConfig{})
				if err != nil {
					b.Fatal(err)
				}
				n.Close()
				f.Close()
			}
		})
	}
}

func readAll(b *testing.B, path string) {
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f}, make([]byte, 4<<20)); err != nil {
		b.Fatal(err)
	}
}
