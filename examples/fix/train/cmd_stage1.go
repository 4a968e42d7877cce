package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/bpe"
	"github.com/luthier-dev/luthier/examples/fix/internal/corpus"
	"github.com/luthier-dev/luthier/examples/fix/internal/dataset"
)

// runStage1 breaks functions of the corpus and writes their repairs as training examples, or with
// -heldout as validation examples.
func runStage1(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("stage1", flag.ContinueOnError)
	dir := flags.String("corpus", "train", "`directory` that train corpus wrote")
	vocab := flags.String("vocab", "", "`file` that train bpe wrote (default vocab.json beside the corpus)")
	out := flags.String("out", "stage1.tok", "`file` to write")
	n := flags.Int("n", 150_000, "number of examples")
	seed := flags.Uint64("seed", 1, "seed of everything random")
	heldout := flags.Bool("heldout", false, "examples of held-out functions, each with one broken line")
	repairs := flags.Bool("repairs", false, "examples for the last part of the training: most have a report, few more than one broken line")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *vocab == "" {
		*vocab = filepath.Join(*dir, "vocab.json")
	}
	w, err := stage1Writer(*dir, *vocab, *heldout)
	if err != nil {
		return err
	}
	switch {
	case *heldout:
		w.Shares = corpus.Proving()
	case *repairs:
		w.Shares = corpus.Repairing()
	}
	w.Seed, w.Count = *seed, *n
	began, shown := time.Now(), time.Time{}
	w.Progress = func(done, packages, examples int) {
		if now := time.Now(); now.Sub(shown) > 5*time.Second {
			shown = now
			fmt.Printf("%d of %d packages, %d examples, %.0f a second\n", done, packages, examples, float64(examples)/now.Sub(began).Seconds())
		}
	}
	examples, err := w.Examples(ctx)
	if err != nil {
		return err
	}
	if len(examples) == 0 {
		return fmt.Errorf("no examples came of %d functions; is %s the output of train corpus?", len(w.Functions), *dir)
	}
	tokens, err := writeExamples(*out, w.Tokenizer.Size(), examples)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d examples of %.1f tokens in %.1f s\n", *out, len(examples), float64(tokens)/float64(len(examples)), time.Since(began).Seconds())
	return nil
}

func stage1Writer(dir, vocab string, heldout bool) (*corpus.Writer, error) {
	data, err := os.ReadFile(filepath.Join(dir, "modules.json"))
	if err != nil {
		return nil, fmt.Errorf("%w; run train corpus first", err)
	}
	w := &corpus.Writer{Shares: corpus.Learning()}
	if err := json.Unmarshal(data, &w.Sources); err != nil {
		return nil, err
	}
	list := "functions-train.jsonl"
	if heldout {
		list = "functions-heldout.jsonl"
	}
	if w.Functions, err = corpus.ReadFunctions(filepath.Join(dir, list)); err != nil {
		return nil, err
	}
	v, err := bpe.Load(vocab)
	if err != nil {
		return nil, fmt.Errorf("%w; run train bpe first", err)
	}
	w.Tokenizer, err = v.Tokenizer()
	return w, err
}

func writeExamples(path string, vocab int, examples []dataset.Example) (tokens int, err error) {
	f, err := dataset.Create(path, vocab)
	if err != nil {
		return 0, err
	}
	defer f.Abort()
	for _, e := range examples {
		if err := f.Write(e); err != nil {
			return 0, err
		}
		tokens += len(e.Tokens)
	}
	return tokens, f.Close()
}
