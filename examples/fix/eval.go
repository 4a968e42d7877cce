package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/luthier-dev/luthier/examples/fix/measure"
)

// heldOut are broken lines in modules that the model was not trained on.
//
//go:embed heldout.jsonl
var heldOut string

// evaluate measures the model and prints tables.
func evaluate(ctx context.Context, o options, show *display) (int, error) {
	var tasks io.Reader = strings.NewReader(heldOut)
	if o.tasks != "" {
		f, err := os.Open(o.tasks)
		if err != nil {
			return statusBadInput, err
		}
		defer f.Close()
		tasks = f
	}
	facts, err := measure.ReadFacts(tasks)
	if err != nil {
		return statusBadInput, err
	}
	real, err := measure.RealFixes()
	if err != nil {
		return statusBadInput, err
	}
	model, err := load(o)
	if err != nil {
		return statusBadInput, err
	}
	defer model.Close()
	cfg := measure.Config{Model: model, Edits: o.edits, Seed: 1, Progress: func(done, all int, what string) {
		fmt.Fprintf(os.Stderr, "%4d of %d  %s\n", done, all, what)
	}}
	show.printf("The edits of a package are compiled into one test binary; an enumerator of one-line slips is tested as often as the model.\n")
	for _, part := range []struct {
		title string
		facts []measure.Fact
	}{{"Functions broken by one slip, of modules that were not trained on", some(facts, o.n)}, {"Real bugs, mended by one line in a release", some(real, o.n)}} {
		rep, err := measure.Run(ctx, cfg, part.facts)
		if err != nil {
			return statusNotFixed, errors.Join(errors.New("the measurement was interrupted"), err)
		}
		if o.json {
			show.emit("measured", map[string]any{"title": part.title, "report": rep})
			continue
		}
		show.printf("\n%s\n", show.paint(bold, part.title))
		if err := rep.Write(os.Stdout); err != nil {
			return statusNotFixed, err
		}
	}
	return statusFixed, nil
}

// some returns n of the facts, drawn with a fixed seed; 0 is all.
func some(facts []measure.Fact, n int) []measure.Fact {
	if n <= 0 || n >= len(facts) {
		return facts
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(facts), func(i, j int) { facts[i], facts[j] = facts[j], facts[i] })
	return facts[:n]
}
