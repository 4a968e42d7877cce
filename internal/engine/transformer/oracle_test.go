package transformer

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/devdata"
	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/tensor"
)

// oracleFile holds another engine's results for a model file: the largest logits at each position
// of a prompt and of a greedy continuation, with keys and values in F32.
type oracleFile struct {
	Model  string      `json:"model"`
	Vocab  int         `json:"n_vocab"`
	Tokens []int32     `json:"tokens"`
	Batch  []oracleRow `json:"batch"`
	Greedy []oracleRow `json:"greedy"`
}

type oracleRow struct {
	Token int32        `json:"token"`
	LSE   float64      `json:"lse"`
	Top   [][2]float64 `json:"top"`
}

func readOracles(t testing.TB) []oracleFile {
	var all []oracleFile
	for _, path := range devdata.Glob(t, "moe-dev/oracle/*.exact.json") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var o oracleFile
		if err := json.Unmarshal(text, &o); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, o)
	}
	return all
}

// openNetwork loads a model file and creates a cache for tokens tokens.
func openNetwork(t testing.TB, path string, kv gguf.Type, tokens, workers int) (*Network, *Cache) {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return newNetwork(t, f, kv, tokens, workers)
}

func newNetwork(t testing.TB, f *gguf.File, kv gguf.Type, tokens, workers int) (*Network, *Cache) {
	t.Helper()
	pool := tensor.NewPool(workers)
	t.Cleanup(pool.Close)
	n, err := LoadNetwork(f, pool, NetworkConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	c, err := NewCache(n, CacheConfig{Type: kv, Pages: PagesFor(tokens)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return n, c
}

// seqOf allocates pages for tokens tokens from c.
func seqOf(t testing.TB, c *Cache, tokens int) *Seq {
	t.Helper()
	s := &Seq{}
	for range PagesFor(tokens) {
		page, ok := c.Alloc()
		if !ok {
			t.Fatalf("no page left of %d", c.Pages())
		}
		s.Pages = append(s.Pages, page)
	}
	return s
}

// TestOracle compares logits with those of llama.cpp on files of every tensor type; the logits of
// the sampled models come from the reference.
//
// Evidence: engine · Logits match llama.cpp and a second computation
func TestOracle(t *testing.T) {
	for _, o := range readOracles(t) {
		t.Run(o.Model, func(t *testing.T) {
			n, c := openNetwork(t, devdata.Path(t, "moe-dev/models/"+o.Model), gguf.TypeF32, len(o.Tokens)+len(o.Greedy), 2)
			seq := seqOf(t, c, len(o.Tokens)+len(o.Greedy))
			if err := n.Forward(c, []Slice{{Seq: seq, Tokens: o.Tokens, Outputs: len(o.Tokens)}}); err != nil {
				t.Fatal(err)
			}
			got := make([][]float32, len(o.Tokens))
			for i := range got {
				got[i] = append([]float32(nil), n.Logits(i)...)
			}
			check(t, "prompt", o, o.Batch, got)
			got = nil
			for _, row := range o.Greedy {
				if err := n.Forward(c, []Slice{{Seq: seq, Tokens: []int32{row.Token}, Outputs: 1}}); err != nil {
					t.Fatal(err)
				}
				got = append(got, append([]float32(nil), n.Logits(0)...))
			}
			check(t, "greedy", o, o.Greedy, got)
		})
	}
}

// check compares rows of logits with those of the oracle. It checks the divergence of the
// distributions over the oracle's 20 best tokens. It also checks the best token, wherever the gap
// to the next one is larger than the noise.
func check(t *testing.T, what string, o oracleFile, want []oracleRow, got [][]float32) {
	limit := 5e-3
	for _, exact := range []string{"f32", "f16", "BF16"} {
		if strings.Contains(o.Model, exact) {
			limit = 1e-4
		}
	}
	var worst, diff, power, meanKL, lse float64
	flips := 0
	for i, row := range want {
		kl, rms := divergence(row.Top, got[i])
		worst, meanKL = max(worst, kl), meanKL+kl/float64(len(want))
		for _, top := range row.Top {
			d := float64(got[i][int(top[0])]) - top[1]
			diff, power = diff+d*d, power+top[1]*top[1]
		}
		lse = max(lse, math.Abs(logSumExp(got[i])-row.LSE))
		best := int(row.Top[0][0])
		if a := argmax(got[i]); a != best {
			flips++
			if margin := row.Top[0][1] - row.Top[1][1]; margin > max(4*rms, 1e-3) {
				t.Errorf("%s position %d: best token %d, oracle %d, which leads by %.4f over a noise of %.4f", what, i, a, best, margin, rms)
			}
		}
	}
	t.Logf("%s: worst KL %.2e, mean %.2e, NMSE %.2e, log-sum-exp within %.1e, %d of %d best tokens differ", what, worst, meanKL, diff/power, lse, flips, len(want))
	if worst > limit {
		t.Errorf("%s: worst KL divergence %.2e exceeds %.0e", what, worst, limit)
	}
}

// divergence returns KL(oracle ‖ got) over the oracle's tokens, and the root mean square difference
// of their logits.
func divergence(top [][2]float64, got []float32) (kl, rms float64) {
	var sp, sq float64
	for _, e := range top {
		sp += math.Exp(e[1] - top[0][1])
		sq += math.Exp(float64(got[int(e[0])]) - top[0][1])
	}
	for _, e := range top {
		lp := e[1] - top[0][1] - math.Log(sp)
		lq := float64(got[int(e[0])]) - top[0][1] - math.Log(sq)
		kl += math.Exp(lp) * (lp - lq)
		d := float64(got[int(e[0])]) - e[1]
		rms += d * d / float64(len(top))
	}
	return kl, math.Sqrt(rms)
}

func argmax(x []float32) int {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return best
}

func logSumExp(x []float32) float64 {
	top := float64(x[argmax(x)])
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(float64(v) - top)
	}
	return top + math.Log(sum)
}
