package transformer

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/transformer/reference"
	"github.com/luthier-dev/luthier/internal/tier"
)

// alone computes every token of a sequence in one slice, without other slices in the pass, with one
// worker.
func alone(t *testing.T, f *gguf.File, kv gguf.Type, tokens []int32) [][]float32 {
	n, c := newNetwork(t, f, kv, len(tokens), 1)
	if err := n.Forward(c, []Slice{{Seq: seqOf(t, c, len(tokens)), Tokens: tokens, Outputs: len(tokens)}}); err != nil {
		t.Fatal(err)
	}
	rows := make([][]float32, len(tokens))
	for i := range rows {
		rows[i] = slices.Clone(n.Logits(i))
	}
	return rows
}

// together computes several sequences in passes of random slices, with several workers, and calls
// the function see for each row of logits.
func together(t *testing.T, n *Network, c *Cache, r *rand.Rand, texts [][]int32, most int, see func(text, pos int, logits []float32)) {
	seqs := make([]*Seq, len(texts))
	for i := range texts {
		seqs[i] = seqOf(t, c, len(texts[i]))
	}
	for {
		var pass []Slice
		var which []int
		for i, s := range seqs {
			left := len(texts[i]) - s.Len
			if left == 0 || r.IntN(4) == 0 {
				continue
			}
			k := 1 + r.IntN(min(left, most))
			pass = append(pass, Slice{Seq: s, Tokens: texts[i][s.Len : s.Len+k], Outputs: r.IntN(k + 1)})
			which = append(which, i)
		}
		if len(pass) == 0 {
			if slices.ContainsFunc(seqs, func(s *Seq) bool { return s.Len == 0 }) || !done(seqs, texts) {
				continue
			}
			break
		}
		if err := n.Forward(c, pass); err != nil {
			t.Fatal(err)
		}
		row := 0
		for i, p := range pass {
			for k := range p.Outputs {
				see(which[i], p.Seq.Len-p.Outputs+k, n.Logits(row))
				row++
			}
		}
	}
	for _, s := range seqs {
		for _, page := range s.Pages {
			c.Release(page)
		}
	}
}

func done(seqs []*Seq, texts [][]int32) bool {
	for i, s := range seqs {
		if s.Len < len(texts[i]) {
			return false
		}
	}
	return true
}

// TestBatchInvariance checks the rule on which the engine is based: a token's logits are the same,
// bit for bit, however its sequence is divided into slices, whatever other sequences are in the
// pass, and with any number of workers.
//
// Evidence: engine · Batch, chunks and threads do not change a bit
func TestBatchInvariance(t *testing.T) {
	tier.Normal(t)
	kinds := []gguf.Type{gguf.TypeF16, gguf.TypeQ8_0, gguf.TypeF32}
	quants := []string{"q8_0", "q4_k_m", "f16", "q4_0", "q6_k", "bf16", "f32"}
	for i, v := range reference.Variants(Architectures()) {
		kv, quant := kinds[i%len(kinds)], quants[i%len(quants)]
		t.Run(v.Name+" "+quant+" "+kv.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, uint64(i)))
			f := v.Open(t, quant)
			texts := [][]int32{reference.RandomTokens(r, 90, 700), reference.RandomTokens(r, 41, 700), reference.RandomTokens(r, 7, 700)}
			var want [][][]float32
			for _, text := range texts {
				want = append(want, alone(t, f, kv, text))
			}
			n, c := newNetwork(t, f, kv, 3*128, 3)
			for _, most := range []int{1, 5, 64} {
				together(t, n, c, r, texts, most, func(text, pos int, logits []float32) {
					if !slices.Equal(logits, want[text][pos]) {
						t.Fatalf("slices of at most %d: logits of text %d at %d differ from those computed alone", most, text, pos)
					}
				})
			}
		})
	}
}

// TestLongContext computes sequences longer than several partitions. A single such sequence is
// computed partition by partition, and several sequences together are not.
func TestLongContext(t *testing.T) {
	tier.Normal(t)
	for _, arch := range []string{"qwen3", "gpt-oss"} {
		t.Run(arch, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 5))
			f := reference.Variant{Arch: arch}.Open(t, "q8_0")
			text := reference.RandomTokens(r, 2*attnPart+77, 700)
			want := alone(t, f, gguf.TypeF16, text)
			n, c := newNetwork(t, f, gguf.TypeF16, 4*len(text), 3)
			texts := [][]int32{text, text, text}
			together(t, n, c, r, texts, 400, func(which, pos int, logits []float32) {
				if !slices.Equal(logits, want[pos]) {
					t.Fatalf("logits of text %d at %d differ", which, pos)
				}
			})
			s := seqOf(t, c, len(text))
			for _, k := range []int{attnPart - 1, 2, attnPart, 76} {
				if err := n.Forward(c, []Slice{{Seq: s, Tokens: text[s.Len : s.Len+k], Outputs: 1}}); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(n.Logits(0), want[s.Len-1]) {
					t.Fatalf("logits at %d differ", s.Len-1)
				}
			}
		})
	}
}

// TestSharedPages continues a prefix twice, with its full pages shared and the last page copied.
func TestSharedPages(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	f := reference.Variant{Arch: "qwen3moe"}.Open(t, "q8_0")
	prefix := reference.RandomTokens(r, 50, 700)
	a, b := append(slices.Clone(prefix), 1, 2, 3), append(slices.Clone(prefix), 4, 5)
	wantA, wantB := alone(t, f, gguf.TypeF16, a), alone(t, f, gguf.TypeF16, b)
	n, c := newNetwork(t, f, gguf.TypeF16, 128, 2)
	first := seqOf(t, c, len(a))
	forward := func(s *Seq, tokens []int32, want []float32) {
		t.Helper()
		if err := n.Forward(c, []Slice{{Seq: s, Tokens: tokens, Outputs: 1}}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(n.Logits(0), want) {
			t.Error("logits differ")
		}
	}
	forward(first, prefix, wantA[49])
	own, _ := c.Alloc()
	c.Copy(own, first.Pages[1])
	c.Retain(first.Pages[0])
	second := &Seq{Pages: []int32{first.Pages[0], own}, Len: first.Len}
	forward(first, a[50:], wantA[52])
	forward(second, b[50:], wantB[51])
	first.Len = 50
	forward(first, b[50:], wantB[51])

	third := &Seq{Pages: []int32{first.Pages[0]}, Len: 31}
	if err := n.Forward(c, []Slice{{Seq: third, Tokens: []int32{9}, Outputs: 1}}); err == nil {
		t.Error("a shared page was written to")
	}
}

// TestStalePages checks that a sequence is computed correctly in pages that contain NaNs of
// another, damaged sequence.
func TestStalePages(t *testing.T) {
	f := reference.Variant{Arch: "qwen3"}.Open(t, "q8_0")
	for _, kv := range []gguf.Type{gguf.TypeF16, gguf.TypeQ8_0, gguf.TypeF32} {
		r := rand.New(rand.NewPCG(8, 8))
		text := reference.RandomTokens(r, 45, 700)
		want := alone(t, f, kv, text)
		n, c := newNetwork(t, f, kv, 64, 2)
		for i := range c.data {
			c.data[i] = 0xff
		}
		s := seqOf(t, c, len(text))
		for s.Len < len(text) {
			k := min(7, len(text)-s.Len)
			if err := n.Forward(c, []Slice{{Seq: s, Tokens: text[s.Len : s.Len+k], Outputs: 1}}); err != nil {
				t.Fatal(kv, err)
			}
			if !slices.Equal(n.Logits(0), want[s.Len-1]) {
				t.Fatalf("%v: what lay in a page shows in the logits at %d", kv, s.Len-1)
			}
		}
	}
}

// TestAllocations checks that a pass of a size seen before allocates nothing.
//
// Evidence: engine · A token allocates no memory
func TestAllocations(t *testing.T) {
	if underRace {
		t.Skip("allocations are counted without the race detector")
	}
	for _, arch := range Architectures() {
		n, c := newNetwork(t, narrow(t, arch, "q8_0", nil), gguf.TypeF16, 2100, 2)
		s, o := seqOf(t, c, 1000), seqOf(t, c, 1000)
		r := rand.New(rand.NewPCG(1, 1))
		long := tier.Pick(150, 600, 600)
		text := reference.RandomTokens(r, long, 700)
		pass := []Slice{{Seq: s, Tokens: text, Outputs: 1}, {Seq: o, Tokens: text[:100], Outputs: 1}}
		forward := func() {
			s.Len, o.Len = 0, 100
			if err := n.Forward(c, pass); err != nil {
				t.Fatal(err)
			}
		}
		one := []Slice{{Seq: s, Tokens: text[:1], Outputs: 1}}
		step := func() {
			s.Len = long
			if err := n.Forward(c, one); err != nil {
				t.Fatal(err)
			}
		}
		o.Len = 100
		for _, fn := range []func(){forward, step} {
			fn()
			if a := testing.AllocsPerRun(5, fn); a > 0 {
				t.Errorf("%s: %v allocations a pass", arch, a)
			}
		}
	}
}
