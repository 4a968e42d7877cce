package transformer_test

import (
	"fmt"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/gguf/synth"
	"github.com/luthier-dev/luthier/internal/engine/tensor"
	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// A prompt goes through the network in one pass, followed by one more token of the same sequence.
func ExampleNetwork_Forward() {
	f, err := synth.Open(synth.Tiny("qwen3moe"))
	if err != nil {
		panic(err)
	}
	pool := tensor.NewPool(2)
	defer pool.Close()
	n, err := transformer.LoadNetwork(f, pool, transformer.NetworkConfig{})
	if err != nil {
		panic(err)
	}
	defer n.Close()
	cache, err := transformer.NewCache(n, transformer.CacheConfig{Type: gguf.TypeF16, Pages: 4})
	if err != nil {
		panic(err)
	}
	defer cache.Close()

	page, _ := cache.Alloc()
	seq := &transformer.Seq{Pages: []int32{page}}
	for _, tokens := range [][]int32{{10, 20, 30}, {40}} {
		if err := n.Forward(cache, []transformer.Slice{{Seq: seq, Tokens: tokens, Outputs: 1}}); err != nil {
			panic(err)
		}
		fmt.Println(seq.Len, "tokens in the cache,", len(n.Logits(0)), "logits")
	}
	h := n.Hyper()
	fmt.Printf("%s: %d layers, %d of %d experts a token\n", h.Arch, h.Layers, h.ActiveExperts, h.Experts)
	// Output:
	// 3 tokens in the cache, 756 logits
	// 4 tokens in the cache, 756 logits
	// qwen3moe: 2 layers, 2 of 8 experts a token
}
