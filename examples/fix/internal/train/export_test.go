package train

import (
	"bytes"
	"math"
	"testing"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/tensor"
	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// exported returns m as a GGUF file in memory.
func exported(t *testing.T, m *Model, typ gguf.Type) *gguf.File {
	t.Helper()
	var w gguf.Writer
	if err := m.Export(&w, ExportConfig{Type: typ, Name: "test", License: "apache-2.0"}); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// engineLoss returns the mean weighted cross entropy of s in internal/engine/transformer, and the
// logits of every token.
func engineLoss(t *testing.T, f *gguf.File, s Sequence) (float64, [][]float32) {
	t.Helper()
	pool := tensor.NewPool(1)
	defer pool.Close()
	n, err := transformer.LoadNetwork(f, pool, transformer.NetworkConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	pages := transformer.PagesFor(len(s.Tokens))
	c, err := transformer.NewCache(n, transformer.CacheConfig{Type: gguf.TypeF32, Pages: pages})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	seq := &transformer.Seq{}
	for range pages {
		page, _ := c.Alloc()
		seq.Pages = append(seq.Pages, page)
	}
	if err := n.Forward(c, []transformer.Slice{{Seq: seq, Tokens: s.Tokens, Outputs: len(s.Tokens)}}); err != nil {
		t.Fatal(err)
	}
	sum, logits := 0.0, make([][]float32, len(s.Tokens))
	for i := range s.Tokens {
		logits[i] = append([]float32(nil), n.Logits(i)...)
		if i+1 < len(s.Tokens) {
			row := make([]float64, len(logits[i]))
			for j, v := range logits[i] {
				row[j] = float64(v)
			}
			sum -= float64(s.Weights[i+1]) * math.Log(softmax64(row)[s.Tokens[i+1]])
		}
	}
	return sum / s.weight(), logits
}

// TestEngineAgrees checks that the engine runs exactly the trained model: in the engine, the
// exported model has the trainer's loss and the reference's logits.
//
// Evidence: training · The engine computes the loss that the trainer computes
func TestEngineAgrees(t *testing.T) {
	dense := Draft(97)
	dense.Context = 128
	moe := Micro(97)
	moe.Layers, moe.Heads, moe.KVHeads = 3, 6, 2
	for _, shape := range []Shape{moe, dense} {
		t.Run(shape.Arch(), func(t *testing.T) {
			m := shaken(t, shape, 4)
			s := texts(shape, 9, 101)[0]
			tr, err := NewTrainer(m, Config{Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer tr.Close()
			stats, err := tr.Evaluate([]Sequence{s})
			if err != nil {
				t.Fatal(err)
			}
			loss, logits := engineLoss(t, exported(t, m, gguf.TypeF32), s)
			if d := math.Abs(loss - stats.Loss); d > 1e-5*math.Abs(loss)+1e-5 {
				t.Errorf("the engine's loss is %v, the trainer's %v", loss, stats.Loss)
			}
			want := newReference(m, 0).logits(s.Tokens, func(int, []float64, []int) {})
			for i, row := range want {
				for j, v := range row {
					if d := math.Abs(v - float64(logits[i][j])); d > 2e-4*(1+math.Abs(v)) {
						t.Fatalf("logit %d of token %d is %v in the engine, %v by the definitions", j, i, logits[i][j], v)
					}
				}
			}
			// A rounded model is close, but not identical.
			rounded, _ := engineLoss(t, exported(t, m, gguf.TypeQ8_0), s)
			if d := math.Abs(rounded - loss); d == 0 || d > 0.05*(1+math.Abs(loss)) {
				t.Errorf("rounded to Q8_0 the loss is %v, before %v", rounded, loss)
			}
		})
	}
}

func TestExportRefusesTypes(t *testing.T) {
	m := shaken(t, gradientShapes["dense"], 1)
	if err := m.Export(&gguf.Writer{}, ExportConfig{Type: gguf.TypeQ4_K}); err == nil {
		t.Error("no error for a type that is not offered")
	}
}

// TestExportComesBack checks that an exported file can be trained further: the weights are
// restored, and exactly so if nothing was rounded.
func TestExportComesBack(t *testing.T) {
	for _, shape := range []Shape{Micro(97), Draft(97)} {
		for _, typ := range []gguf.Type{gguf.TypeF32, gguf.TypeQ8_0} {
			t.Run(shape.Arch()+" "+typ.String(), func(t *testing.T) {
				m := shaken(t, shape, 4)
				got, err := readModel(exported(t, m, typ))
				if err != nil {
					t.Fatal(err)
				}
				if got.shape != m.shape {
					t.Fatalf("shape %+v, want %+v", got.shape, m.shape)
				}
				far, largest := 0.0, 0.0
				for i, w := range m.weights {
					far, largest = max(far, math.Abs(float64(w-got.weights[i]))), max(largest, math.Abs(float64(w)))
				}
				if typ == gguf.TypeF32 && far != 0 || far > largest/128 {
					t.Errorf("a weight came back off by %g; the largest is %g", far, largest)
				}
			})
		}
	}
}
