// Package train trains the small Qwen3-style language models that internal/engine/transformer and
// llama.cpp run: dense (qwen3) or with experts in every layer (qwen3moe).
//
// The forward pass computes what internal/engine/transformer computes, the backward pass is written
// by hand, and every product goes through tensor.Gemm, in bfloat16 if Config allows it and the
// processor is faster with it. Several sequences are packed end to end into one pass without
// padding; they do not see each other. A Trainer keeps one set of gradients for each of its
// workers, distributes each batch among the workers, and then changes the weights: matrices inside
// the layers by Muon, everything else by AdamW.
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
//   - A resumed run is exact only with the same number of workers. With a limit in minutes, two
//     runs are never identical to the bit.
//   - The draft is trained on the same data, not distilled from the model.
//   - The balancing loss computes its shares from one worker's part of a batch (about 2,048
//     tokens).
//   - The PyTorch script (train.py) ran on a CPU only, with torch 1.13; its branch for torch 2 was
//     never run. The script's checkpoints contain only weights. The tests of the script are skipped
//     if torch is not installed.
package train
