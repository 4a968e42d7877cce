// Command train makes the one-line-repair model in router/moe/embedded: it collects
// open-source Go code, breaks it, checks the result with the packages' own tests, trains a small
// Mixture-of-Experts model and its draft model, and writes them as GGUF files.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/luthier-dev/luthier/sandbox"
)

// A command is one step in making a model from source code.
type command struct {
	name, does string
	run        func(ctx context.Context, args []string) error
}

func commands() []command {
	return []command{
		{"corpus", "download the modules of the manifest and list their functions", runCorpus},
		{"bpe", "learn the vocabulary from Go sources", runBPE},
		{"stage1", "break functions of the corpus and write what mends them as examples", runStage1},
		{"train", "train the model or its draft on dataset files", runTrain},
		{"average", "average the weights of several runs from the same start", runAverage},
		{"export", "write a checkpoint as a GGUF file", runExport},
		{"verify", "break functions and keep what the packages' own tests notice", runVerify},
		{"stage2", "write the decisions of whole repairs with real reports", runStage2},
		{"rl", "learn from the model's own answers, judged by tests", runRL},
		{"realfix", "search released modules for real one-line bug fixes", runRealfix},
	}
}

func main() {
	sandbox.Init()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) > 1 {
		for _, c := range commands() {
			if c.name == os.Args[1] {
				if err := c.run(ctx, os.Args[2:]); err != nil {
					fmt.Fprintln(os.Stderr, "train "+c.name+":", err)
					os.Exit(1)
				}
				return
			}
		}
	}
	fmt.Fprintln(os.Stderr, "usage: train STEP [flags]; the steps, in order:")
	for _, c := range commands() {
		fmt.Fprintf(os.Stderr, "  %-10s %s\n", c.name, c.does)
	}
	os.Exit(2)
}
