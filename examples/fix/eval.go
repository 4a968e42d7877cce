package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/luthier-dev/luthier/examples/fix/internal/measure"
	"github.com/luthier-dev/luthier/router/moe"
)

// heldOut lists broken lines in modules that the model was not trained on; packages that are quick
// to build and test come first.
//
//go:embed heldout.jsonl
var heldOut string

// evaluate measures the model and prints tables.
func evaluate(ctx context.Context, o options, show *display) (int, error) {
	broken, real, err := facts(o)
	if err != nil {
		return statusBadInput, err
	}
	model, err := load(o)
	if err != nil {
		return statusBadInput, err
	}
	defer model.Close()
	sampler := &measure.Sampler{Model: model}
	title := "Functions broken by one slip, of modules that were not trained on"
	if o.tasks != "" {
		title = "The lines of " + o.tasks
	}
	cfg := measure.Config{Model: sampler, Edits: o.edits, Seed: 1, Progress: progress}
	if cfg.Learner, err = learner(o); err != nil {
		return statusBadInput, err
	}
	if cfg.Learner != nil { // so that the measured values are the same on every machine
		cfg.Learner.Limit, cfg.Learner.Workers = 0, 1
	}
	for _, part := range []struct {
		title string
		facts []measure.Fact
	}{{title, broken}, {"Real bugs, mended by one line in a release", real}} {
		if len(part.facts) == 0 || ctx.Err() != nil {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s: %d lines\n", part.title, len(part.facts))
		rep, err := measure.Run(ctx, cfg, part.facts)
		if err != nil {
			return statusNotFixed, err
		}
		show.emit("measured", map[string]any{"title": part.title, "rows": rep.Rows(), "report": rep})
		if !o.json {
			show.printf("\n%s\n", show.paint(bold, part.title))
			if err := rep.Write(os.Stdout, o.edits); err != nil {
				return statusNotFixed, err
			}
		}
	}
	if ctx.Err() != nil {
		return statusNotFixed, nil // the tables show the reason
	}
	return decode(ctx, o, show, model, sampler)
}

// facts returns the tasks to measure: broken lines and real bugs.
func facts(o options) (broken, real []measure.Fact, err error) {
	var tasks io.Reader = strings.NewReader(heldOut)
	if o.tasks != "" {
		f, err := os.Open(o.tasks)
		if err != nil {
			return nil, nil, err
		}
		defer f.Close()
		tasks = f
	}
	if broken, err = measure.ReadFacts(tasks); err != nil || o.tasks != "" {
		return measure.Choose(broken, o.n), nil, err
	}
	real, err = measure.RealFixes()
	return measure.Choose(broken, o.n), measure.Choose(real, o.n), err
}

// progress prints a line about a package.
func progress(p measure.Progress) {
	line := fmt.Sprintf("%4d of %d  repaired %d of %d  %s", p.Done, p.All, p.Fixed, p.Counted, p.Package)
	if p.Stages != "" {
		line += "  (" + p.Stages + ")"
	}
	if p.Skipped != "" {
		why, _, _ := strings.Cut(p.Skipped, "\n")
		line += "  left out: " + why
	}
	fmt.Fprintln(os.Stderr, line)
}

// decode compares the model's speed with and without speculation, on requests from the measurement.
func decode(ctx context.Context, o options, show *display, model *moe.Model, sampler *measure.Sampler) (int, error) {
	slow, err := loadPlain(o)
	if err != nil {
		return statusBadInput, err
	}
	defer slow.Close()
	d, err := measure.Decode(ctx, model, slow, sampler.Requests())
	if err != nil {
		return statusNotFixed, err
	}
	show.emit("decoded", map[string]any{"decoding": d})
	if !o.json {
		show.printf("\n%s\n", show.paint(bold, "Speed"))
		if err := d.Write(os.Stdout); err != nil {
			return statusNotFixed, err
		}
	}
	return statusFixed, nil
}
