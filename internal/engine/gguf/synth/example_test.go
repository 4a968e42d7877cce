package synth_test

import (
	"fmt"
	"log"

	"github.com/luthier-dev/luthier/internal/engine/gguf/synth"
)

func ExampleOpen() {
	c := synth.Tiny("qwen3moe")
	c.Quant = "q4_k_m"
	f, err := synth.Open(c)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	experts, _ := f.Uint("qwen3moe.expert_count")
	down, _ := f.Tensor("blk.1.ffn_down_exps.weight")
	fmt.Println(experts, down.Type, down.Dims)
	// Output: 8 Q6_K [256 256 8]
}
