package scheduler_test

import (
	"context"
	"fmt"
	"log"

	"github.com/luthier-dev/luthier/internal/engine/gguf/synth"
	"github.com/luthier-dev/luthier/internal/engine/scheduler"
	"github.com/luthier-dev/luthier/internal/engine/tensor"
	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

func ExampleEngine_Generate() {
	file, err := synth.Open(synth.Tiny("qwen3moe")) // or gguf.Open("model.gguf")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	pool := tensor.NewPool(1)
	defer pool.Close()
	network, err := transformer.LoadNetwork(file, pool, transformer.NetworkConfig{})
	if err != nil {
		log.Fatal(err)
	}
	defer network.Close()
	engine, err := scheduler.NewEngine(network, scheduler.EngineConfig{Context: 2048})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()

	r := scheduler.Request{Prompt: []int32{5, 6, 7, 8}, MaxTokens: 12, Sample: scheduler.SampleParams{Temperature: 0.7, Seed: 1}}
	for token, err := range engine.Generate(context.Background(), r) {
		if err != nil {
			log.Fatal(err)
		}
		if s := token.Final; s != nil {
			fmt.Println("finished:", s.Finish, "after", s.Generated, "tokens")
		}
	}
	// Output: finished: length after 12 tokens
}
