package transformer

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/luthier-dev/luthier/internal/devdata"
	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/transformer/reference"
)

//go:generate go test -run TestSampledOracles -args -write-oracles

var writeOracles = flag.Bool("write-oracles", false, "write the logits of the sampled models anew, by the reference")

// TestSampledOracles compares the stored logits of the sampled models with the reference, which
// generated them; with -write-oracles it writes them.
func TestSampledOracles(t *testing.T) {
	t.Setenv(devdata.Env, "samples")
	for _, path := range append(devdata.Glob(t, "moe-dev/models/micro-*.gguf"), devdata.Glob(t, "moe-dev/models/microd-*.gguf")...) {
		f, err := gguf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		text := referenceOracle(t, f, filepath.Base(path))
		name := filepath.Join(filepath.Dir(path), "..", "oracle", strings.TrimSuffix(filepath.Base(path), ".gguf")+".code.exact.json")
		if *writeOracles {
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		var got, want oracleFile
		old, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(json.Unmarshal(text, &want), json.Unmarshal(old, &got)); err != nil {
			t.Fatal(err)
		}
		if d := gocmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-4)); d != "" {
			t.Errorf("%s (-reference +file):\n%s", name, d)
		}
	}
}

// referenceOracle returns the 20 largest logits at each position of a made-up prompt and of its
// greedy continuation.
func referenceOracle(t *testing.T, f *gguf.File, model string) []byte {
	t.Helper()
	r := reference.New(t, f)
	tokens, _ := f.Strings("tokenizer.ggml.tokens")
	o := oracleFile{Model: model, Vocab: len(tokens)}
	var logits []float64
	row := func(token int32) oracleRow {
		logits = r.Next(token)
		order := make([][2]float64, len(logits))
		sum := 0.0
		for i, v := range logits {
			order[i] = [2]float64{float64(i), math.Round(v*1e6) / 1e6}
			sum += math.Exp(v)
		}
		slices.SortStableFunc(order, func(a, b [2]float64) int { return cmp.Compare(b[1], a[1]) })
		return oracleRow{Token: token, LSE: math.Round(math.Log(sum)*1e6) / 1e6, Top: order[:20]}
	}
	for i := range 32 {
		token := int32((i*i*7 + i*31 + 5) % len(tokens))
		o.Tokens, o.Batch = append(o.Tokens, token), append(o.Batch, row(token))
	}
	for range 8 {
		best := 0
		for i, v := range logits {
			if v > logits[best] {
				best = i
			}
		}
		o.Greedy = append(o.Greedy, row(int32(best)))
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}
