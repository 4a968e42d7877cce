package transformer

import (
	"math/rand/v2"
	"testing"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/transformer/reference"
	"github.com/luthier-dev/luthier/internal/tier"
)

// TestReference compares every architecture with the independent computation in double precision.
//
// Evidence: engine · Logits match llama.cpp and a second computation
func TestReference(t *testing.T) {
	tier.Normal(t)
	for _, v := range reference.Variants(Architectures()) {
		t.Run(v.Name, func(t *testing.T) {
			f := v.Open(t, "f32")
			count := tier.Pick(40, 70, 70) // long enough to exceed the sliding window and one or two pages
			n, c := newNetwork(t, f, gguf.TypeF32, count, 2)
			tokens := reference.RandomTokens(rand.New(rand.NewPCG(7, 7)), count, n.Hyper().Vocab)
			if err := n.Forward(c, []Slice{{Seq: seqOf(t, c, count), Tokens: tokens, Outputs: count}}); err != nil {
				t.Fatal(err)
			}
			r := reference.New(t, f)
			var diff, power float64
			for i, tok := range tokens {
				got := n.Logits(i)
				for j, want := range r.Next(tok) {
					d := float64(got[j]) - want
					diff, power = diff+d*d, power+want*want
				}
			}
			t.Logf("NMSE %.1e", diff/power)
			if !(diff/power < 1e-9) {
				t.Errorf("NMSE %.1e against the reference", diff/power)
			}
		})
	}
}
