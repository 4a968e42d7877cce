// Package train trains the small Qwen3-style language models that internal/engine/transformer and
// llama.cpp run: dense (qwen3) or with experts in every layer (qwen3moe).
//
// The forward pass computes what internal/engine/transformer computes, the backward pass is written
// by hand, and every product goes through tensor.Gemm, in bfloat16 where Config says so and the
// processor gains by it. Several sequences are packed end to end into one pass and never see each
// other, so no work is spent on padding. A Trainer keeps one set of gradients for each of its
// workers, shares a batch out among them and then changes the weights: matrices inside the layers
// by Muon, everything else by AdamW.
//
//	m, err := train.New(train.Micro(vocab), 1)
//	t, err := train.NewTrainer(m, train.Config{})
//	for … {
//		stats, err := t.Step(sequences)
//	}
//	err = m.Save("model.ckpt")
//
// Run is the whole of a training run over dataset files: mixing, schedule, evaluation, checkpoints,
// the loss curve. Export writes the GGUF file.
package train
