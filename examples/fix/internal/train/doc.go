// Package train trains the small Qwen3-style language models that internal/engine/transformer and
// llama.cpp run: dense (qwen3) or with experts in every layer (qwen3moe).
//
// The forward pass computes what internal/engine/transformer computes, the backward pass is written
// by hand, and every product goes through tensor.Gemm, in bfloat16 if Config allows it and the
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
// Run performs a whole training run over dataset files: mixing, schedule, evaluation, checkpoints,
// the loss curve. Export writes the GGUF file.
//
// # Limits
//
//   - A resumed run is exact only with the same number of workers. With a limit in minutes two runs
//     never agree to the bit.
//   - The draft is trained on the same data, not distilled from the model.
//   - The balancing loss takes its shares from one worker's part of a batch (about 2,048 tokens).
//   - The PyTorch script (train.py) ran on a CPU only, with torch 1.13; its branch for torch 2 was
//     never run. Its checkpoints hold weights only. Its tests are skipped without torch.
package train
