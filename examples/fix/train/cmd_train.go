package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/luthier-dev/luthier/examples/fix/internal/train"
)

// trainFlags holds the command-line flags of "train".
type trainFlags struct {
	preset      string
	shape       train.Shape
	data, valid string
	validTokens int
	plan        train.Plan
	rope        float64
}

func parseTrain(args []string) (*trainFlags, error) {
	t := &trainFlags{}
	f := flag.NewFlagSet("train", flag.ContinueOnError)
	p, s := &t.plan, &t.shape
	f.StringVar(&t.data, "data", "", "dataset files to learn from, `file:share,...`")
	f.StringVar(&t.valid, "valid", "", "dataset files to evaluate on, `file,...`")
	f.IntVar(&t.validTokens, "valid-tokens", 100_000, "evaluate on this many `tokens` of each kind of answer; 0 for all")
	f.StringVar(&p.Out, "out", "", "`directory` of the checkpoint and the loss curve")
	f.BoolVar(&p.Resume, "resume", false, "go on with the checkpoint in -out")
	f.StringVar(&p.Init, "init", "", "start from the weights of this `checkpoint`")
	f.Uint64Var(&p.Seed, "seed", 1, "seed of the weights and of the order of the data")
	f.Float64Var(&p.Minutes, "minutes", 0, "end after this many `minutes` of training")
	f.Int64Var(&p.Tokens, "tokens", 0, "end after this many `tokens`")
	f.IntVar(&p.Batch, "batch", 16384, "`tokens` of a step")
	f.StringVar(&p.Schedule.Kind, "schedule", "wsd", "how the learning rate goes: wsd or cosine")
	f.Float64Var(&p.Schedule.Warmup, "warmup", 0.02, "part of the run in which the learning rate rises")
	f.Float64Var(&p.Schedule.Decay, "decay", 0.5, "part of the run in which it falls (wsd)")
	f.IntVar(&p.EvalEvery, "eval-every", 200, "`steps` between evaluations")
	f.DurationVar(&p.SaveEvery, "save-every", 3*time.Minute, "time between checkpoints")
	f.DurationVar(&p.PointEvery, "log-every", 10*time.Second, "time between lines of progress")
	c := &p.Config
	f.Float64Var(&c.Rate, "lr", 0, "learning rate of matrices; 0 for 0.002")
	f.Float64Var(&c.AdamRate, "adam-lr", 0, "learning rate of embedding, norms and routers; 0 for one and a half times -lr")
	f.Float64Var(&c.WeightDecay, "decay-weights", 0, "weight decay; 0 for 0.1, negative for none")
	f.Float64Var(&c.Clip, "clip", 0, "largest norm of the gradient; 0 for 1, negative for no limit")
	f.Float64Var(&c.Balance, "balance", 0, "factor of the loss that balances experts; 0 for 0.01, negative for none")
	f.Float64Var(&c.Capacity, "capacity", 0, "an expert's tokens, in means, beyond which they count as overflow; 0 for 1.25")
	f.BoolVar(&c.Drop, "drop", false, "leave out what overflows")
	f.IntVar(&c.Workers, "workers", 0, "goroutines that compute; 0 for one for each processor")
	f.BoolVar(&c.BFloat16, "bf16", true, "multiply matrices of bfloat16 where the processor is faster with them")
	f.IntVar(&c.MicroTokens, "micro", 0, "`tokens` a worker computes at once; 0 for 2048")
	f.StringVar(&t.preset, "preset", "main", "shape of a new model: main, draft or micro")
	f.IntVar(&s.Dim, "dim", 0, "width, in place of the preset's")
	f.IntVar(&s.Layers, "layers", 0, "layers, in place of the preset's; with -init a checkpoint with fewer gets more, which change nothing at first")
	f.IntVar(&s.Heads, "heads", 0, "query heads, in place of the preset's")
	f.IntVar(&s.KVHeads, "kv-heads", 0, "key and value heads, in place of the preset's")
	f.IntVar(&s.HeadDim, "head-dim", 0, "width of a head, in place of the preset's")
	f.IntVar(&s.Experts, "experts", -1, "experts of a layer, in place of the preset's; 0 for a dense model")
	f.IntVar(&s.Active, "active", 0, "experts that compute a token, in place of the preset's; with -init in place of the checkpoint's")
	f.IntVar(&s.FF, "ff", 0, "width of an expert or of the dense block, in place of the preset's")
	f.IntVar(&s.Context, "context", 0, "longest sequence, in place of the preset's")
	f.Float64Var(&t.rope, "rope-base", 0, "wavelength base of the rotary embedding, in place of the preset's")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected %q behind the flags", f.Arg(0))
	}
	if t.data == "" || p.Out == "" {
		return nil, errors.New("-data and -out are needed; see -help")
	}
	return t, nil
}

// fullShape returns the preset's shape with the values overridden by flags.
func (t *trainFlags) fullShape(vocab int) (train.Shape, error) {
	presets := map[string]func(int) train.Shape{"main": train.Main, "draft": train.Draft, "micro": train.Micro}
	preset, ok := presets[t.preset]
	if !ok {
		return train.Shape{}, fmt.Errorf("preset %q; there are main, draft and micro", t.preset)
	}
	s, own := preset(vocab), t.shape
	for _, v := range []struct {
		dst *int
		own int
	}{
		{&s.Dim, own.Dim}, {&s.Layers, own.Layers}, {&s.Heads, own.Heads}, {&s.KVHeads, own.KVHeads},
		{&s.HeadDim, own.HeadDim}, {&s.Active, own.Active}, {&s.FF, own.FF}, {&s.Context, own.Context},
	} {
		if v.own != 0 {
			*v.dst = v.own
		}
	}
	if own.Experts >= 0 {
		s.Experts = own.Experts
	}
	if t.rope != 0 {
		s.RopeBase = float32(t.rope)
	}
	return s, s.Validate()
}

// runTrain trains a model on dataset files.
func runTrain(ctx context.Context, args []string) error {
	t, err := parseTrain(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	data, vocab, err := train.OpenData(t.data, 0)
	if err != nil {
		return err
	}
	p := &t.plan
	p.Data = data
	if p.Shape, err = t.fullShape(vocab); err != nil {
		return err
	}
	if p.Init != "" {
		p.Deepen, p.Active = t.shape.Layers, t.shape.Active
	}
	if t.valid != "" {
		if p.Valid, err = train.OpenValidation(t.valid, vocab, p.Shape.Context, t.validTokens); err != nil {
			return err
		}
	}
	describe(data, p)
	p.Report = reporter()
	p.Warn = func(err error) { fmt.Fprintf(os.Stderr, "\nwarning: %v\n", err) }
	points, err := train.Run(ctx, *p)
	fmt.Println()
	if len(points) > 0 && err == nil {
		fmt.Printf("done: %s\nwrote %s, %s and %s in %s\n", lineOf(points[len(points)-1], 0),
			train.CheckpointFile, train.CurvePNG, train.CurveHTML, p.Out)
	}
	return err
}

func describe(data []train.Mixed, p *train.Plan) {
	for _, d := range data {
		fmt.Printf("%s: %d sequences, share %g\n", d.Name, d.Source.Len(), d.Share)
	}
	for _, v := range p.Valid {
		fmt.Printf("evaluated: %d sequences of kind %s\n", len(v.Sequences), v.Name)
	}
	if p.Init != "" {
		fmt.Printf("starts from %s\n", p.Init)
		return
	}
	s := p.Shape
	fmt.Printf("%s: vocabulary %d, width %d, %d layers, %d/%d heads of %d, %d experts (%d active) of %d\n",
		s.Arch(), s.Vocab, s.Dim, s.Layers, s.Heads, s.KVHeads, s.HeadDim, s.Experts, s.Active, s.FF)
}

// reporter prints a line for each stretch. On a terminal, a line without an evaluation is
// overwritten by the next line.
func reporter() func(train.Point, time.Duration) {
	start, end := "", "\n"
	if term.IsTerminal(int(os.Stdout.Fd())) {
		start, end = "\r\x1b[K", ""
	}
	return func(p train.Point, left time.Duration) {
		tail := end
		if len(p.Valid) > 0 {
			tail = "\n"
		}
		fmt.Print(start, lineOf(p, left), tail)
	}
}

func lineOf(p train.Point, left time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %5.1f%%  step %d  loss %.4f  hits %.1f%%  answers %.1f%%  %.0f tok/s  rate %.3f  grad %.2f",
		bar(p.Done), 100*p.Done, p.Step, p.Loss, 100*p.Accuracy, 100*p.Answers, p.Speed, p.Rate, p.GradNorm)
	if p.Load > 0 {
		fmt.Fprintf(&b, "  load %.2f  over %.1f%%", p.Load, 100*p.Overflow)
	}
	if p.Skipped > 0 {
		fmt.Fprintf(&b, "  skipped %d", p.Skipped)
	}
	if left > 0 {
		fmt.Fprintf(&b, "  left %s", left.Round(time.Second))
	}
	for _, v := range p.Valid {
		fmt.Fprintf(&b, "  | %s %.4f hits %.1f%% answers %.1f%%", v.Name, v.Loss, 100*v.Accuracy, 100*v.Answers)
	}
	return b.String()
}

func bar(done float64) string {
	const width = 10
	n := int(math.Round(width * min(1, max(0, done))))
	return "[" + strings.Repeat("#", n) + strings.Repeat(".", width-n) + "]"
}
