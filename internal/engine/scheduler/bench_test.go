package scheduler

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/luthier-dev/luthier/internal/engine/gguf/synth"
	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// instant is a network that takes no time, so that only the engine's own time is measured.
type instant struct {
	*toy
	row []float32
}

func (f *instant) forward(slices []transformer.Slice) error {
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

// scripted is a network that computes as usual and then changes its logits to prefer a given text.
// A constraint that allows only the text would not work: the engine does not verify drafts that a
// constraint refuses, so wrong drafts would cost nothing.
type scripted struct {
	netForwarder
	prompt int // number of tokens before the text
	text   []int32
	next   []int // for each row of logits, the position of the token that it decides
}

func (f *scripted) forward(slices []transformer.Slice) error {
	f.next = f.next[:0]
	for _, s := range slices {
		end := s.Seq.Len + len(s.Tokens)
		for k := range s.Outputs {
			f.next = append(f.next, end-s.Outputs+k+1)
		}
	}
	return f.netForwarder.forward(slices)
}

func (f *scripted) logits(i int) []float32 {
	row := f.netForwarder.logits(i)
	if k := f.next[i] - f.prompt; k >= 0 && k < len(f.text) {
		row[f.text[k]] = 1e9
	}
	return row
}

// scriptedEngine starts an engine that generates text for its only request, after a prompt of the
// given length.
func scriptedEngine(b *testing.B, n *transformer.Network, prompt int, text []int32, off bool) *Engine {
	cfg := EngineConfig{Context: 8192, Slots: 1, Speculation: SpecConfig{Off: off}}
	cfg.setDefaults(n.Hyper().Ctx)
	c, err := transformer.NewCache(n, cfg.Cache)
	if err != nil {
		b.Fatal(err)
	}
	e, err := newEngine(&scripted{netForwarder: netForwarder{n, c}, prompt: prompt, text: text}, n.Hyper().Experts > 0, cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(e.Close)
	return e
}

// benchNetwork returns a network with the shape named by LUTHIER_BENCH_SHAPE; the default is a
// shape for which weights are generated quickly.
func benchNetwork(b *testing.B) *transformer.Network {
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
			e := scriptedEngine(b, n, len(old), text, off)
			passes, decode := 0, 0.0
			for b.Loop() {
				_, stats := run(b, e, Request{Prompt: old, MaxTokens: len(text), References: [][]int32{old}})
				passes += stats.Passes
				decode += stats.Decode.Seconds()
			}
			b.ReportMetric(float64(len(text)*b.N)/decode, "tokens/s")
			b.ReportMetric(float64(len(text)*b.N)/float64(passes), "tokens/pass")
		})
	}
}

// BenchmarkUnguessable generates a text that no drafter can predict.
func BenchmarkUnguessable(b *testing.B) {
	n := benchNetwork(b)
	known, text := file(100, 3), prompt(300, 9000, 5)
	for _, off := range []bool{true, false} {
		b.Run(fmt.Sprintf("speculation_%v", !off), func(b *testing.B) {
			e := scriptedEngine(b, n, len(known), text, off)
			decode := 0.0
			for b.Loop() {
				_, stats := run(b, e, Request{Prompt: known, MaxTokens: len(text), References: [][]int32{known}})
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
