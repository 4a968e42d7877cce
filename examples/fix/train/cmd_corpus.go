package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/corpus"
)

// runCorpus downloads the modules of the manifest and lists their functions: DIR/modules.json holds
// the locations of the modules, and DIR/functions-train.jsonl and DIR/functions-heldout.jsonl hold
// the functions.
func runCorpus(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("corpus", flag.ContinueOnError)
	out := flags.String("out", "train", "`directory` that the lists are written to")
	if err := flags.Parse(args); err != nil {
		return err
	}
	began := time.Now()
	ms, err := corpus.Manifest()
	if err != nil {
		return err
	}
	sources, err := corpus.Download(ctx, ms)
	if err != nil {
		return err
	}
	fmt.Printf("%d modules in %.1f s: %d to train on, %d held out\n", len(sources), time.Since(began).Seconds(),
		len(corpus.Of(ms, corpus.Train)), len(corpus.Of(ms, corpus.HeldOut)))
	x, err := corpus.Build(ctx, sources)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	list, err := json.MarshalIndent(sources, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(*out, "modules.json"), append(list, '\n'), 0o644); err != nil {
		return err
	}
	if err := corpus.WriteFunctions(filepath.Join(*out, "functions-train.jsonl"), x.Train); err != nil {
		return err
	}
	if err := corpus.WriteFunctions(filepath.Join(*out, "functions-heldout.jsonl"), x.HeldOut); err != nil {
		return err
	}
	fmt.Printf("%d functions to train on, %d held out; left out %d that nearly repeat a held-out one and %d that repeat another (%.1f s)\n",
		len(x.Train), len(x.HeldOut), x.Near, x.Twice, time.Since(began).Seconds())
	return nil
}
