package llm

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/luthier-dev/luthier/internal/gguf/synth"
)

// instant is a network that takes no time: what is left is the engine's own.
type instant struct {
	*toy
	row []float32
}

func (f *instant) forward(slices []Slice) error {
	for _, s := range slices {
		s.Seq.Len += len(s.Tokens)
	}
	return nil
}

func (f *instant) logits(int) []float32 { return f.row }

func BenchmarkPass(b *testing.B) {
	for _, n := range []int{1, 8} {
		for _, off := range []bool{true, false} {
			b.Run(fmt.Sprintf("%d_requests/speculation_%v", n, !off), func(b *testing.B) {
				f := &instant{toy: newToy(b, 64, 100000, nil), row: make([]float32, 64)}
				f.row[3] = 1
				cfg := EngineConfig{Context: 100000, Slots: n, Cost: &CostCurve{Points: []CostPoint{{1, 1}, {2, 2}}}, Speculation: SpecConfig{Off: off}}
				cfg.setDefaults(cfg.Context)
				e, err := newEngine(f, true, cfg)
				if err != nil {
					b.Fatal(err)
				}
				defer e.Close()
				b.ReportAllocs()
				b.ResetTimer()
				var wg sync.WaitGroup
				for i := range n {
					wg.Go(func() {
						for left := b.N; left > 0; left -= 50000 {
							collect(e, b.Context(), Request{Prompt: []int32{int32(i)}, MaxTokens: min(left, 50000), Sample: SampleParams{}})
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/token")
			})
		}
	}
}

// script is a constraint that allows one text only, and does not tell in advance: the network seems to say it.
type script []int32

func (c script) Start() int32 { return 0 }

func (c script) Next(s, t int32) (int32, bool) { return s + 1, int(s) < len(c) && c[s] == t }

func (c script) Mask(s int32, allowed []uint64) {
	clear(allowed)
	allowed[c[s]>>6] |= 1 << (c[s] & 63)
}

func (c script) Forced(_ int32, dst []int32) []int32 { return dst }

// benchNetwork is a network of the shape that LUTHIER_BENCH_SHAPE names, by default one that is made in a moment.
func benchNetwork(b *testing.B) *Network {
	c, ok := synth.Preset(os.Getenv("LUTHIER_BENCH_SHAPE"))
	if !ok {
		c = synth.Config{Arch: "qwen3moe", Layers: 4, Embd: 512, Heads: 8, KVHeads: 2, HeadDim: 64, FF: 1024, Experts: 64, Active: 8, ExpertFF: 256, Vocab: 16384, Context: 8192, Quant: "q8_0", Seed: 1}
	}
	return loadSynth(b, c, 1)
}

// BenchmarkRewrite generates a file of 200 lines that is in the prompt, with 5 edits.
func BenchmarkRewrite(b *testing.B) {
	n := benchNetwork(b)
	old := file(200, 3)
	text := edit(old, 5, 8)
	for _, off := range []bool{true, false} {
		b.Run(fmt.Sprintf("speculation_%v", !off), func(b *testing.B) {
			e, err := NewEngine(n, EngineConfig{Context: 8192, Slots: 1, Speculation: SpecConfig{Off: off}})
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			passes, decode := 0, 0.0
			for b.Loop() {
				_, stats := run(b, e, Request{Prompt: old, MaxTokens: len(text), Constraint: script(text), References: [][]int32{old}})
				passes += stats.Passes
				decode += stats.Decode.Seconds()
			}
			b.ReportMetric(float64(len(text)*b.N)/decode, "tokens/s")
			b.ReportMetric(float64(len(text)*b.N)/float64(passes), "tokens/pass")
		})
	}
}

// BenchmarkUnguessable generates what no drafter can know.
func BenchmarkUnguessable(b *testing.B) {
	n := benchNetwork(b)
	text := prompt(300, 9000, 5)
	for _, off := range []bool{true, false} {
		b.Run(fmt.Sprintf("speculation_%v", !off), func(b *testing.B) {
			e, err := NewEngine(n, EngineConfig{Context: 8192, Slots: 1, Speculation: SpecConfig{Off: off}})
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			decode := 0.0
			for b.Loop() {
				_, stats := run(b, e, Request{Prompt: file(100, 3), MaxTokens: len(text), Constraint: script(text), References: [][]int32{file(100, 3)}})
				decode += stats.Decode.Seconds()
			}
			b.ReportMetric(float64(len(text)*b.N)/decode, "tokens/s")
		})
	}
}

// BenchmarkConcurrent generates for several requests at once.
func BenchmarkConcurrent(b *testing.B) {
	n := benchNetwork(b)
	for _, k := range []int{1, 8} {
		b.Run(fmt.Sprintf("%d_requests", k), func(b *testing.B) {
			e, err := NewEngine(n, EngineConfig{Context: 4096, Slots: k, Speculation: SpecConfig{Off: true}})
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			for b.Loop() {
				var wg sync.WaitGroup
				for i := range k {
					wg.Go(func() { run(b, e, Request{Prompt: prompt(20, 9000, uint64(i)), MaxTokens: 64}) })
				}
				wg.Wait()
			}
			b.ReportMetric(float64(64*k*b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}
