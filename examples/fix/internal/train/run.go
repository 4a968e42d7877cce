package train

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Plan describes a training run.
type Plan struct {
	Out    string // directory of the checkpoint and the loss curve; created if missing
	Resume bool   // continue from the checkpoint in Out; without Resume, there must be no checkpoint
	Init   string // checkpoint whose weights the run starts from; "" means random weights
	Deepen int    // with Init: the new number of layers, see [Model.Deepen]; 0 keeps the number
	Active int    // with Init: the new number of experts per token, see [Model.Activate]; 0 keeps the number
	Shape  Shape  // shape of a model that starts from random weights
	Seed   uint64 // seed of the random weights and of the order of the data

	Config   Config
	Schedule Schedule
	Minutes  float64 // wall-clock limit of the run; 0 means none
	Tokens   int64   // token limit of the run; 0 means none. The run ends when either limit is reached

	Data       []Mixed      // data to learn from
	Batch      int          // tokens per step; 0 means 16,384
	Valid      []Validation // data to evaluate on
	EvalEvery  int          // steps between evaluations; 0 means 200. There is always an evaluation at the end
	SaveEvery  time.Duration
	PointEvery time.Duration // length of the stretches that are reported; 0 means 10 s

	// Report, if not nil, is called for every stretch.
	Report func(p Point, left time.Duration)
	// Warn, if not nil, is called with errors that do not end the run.
	Warn func(error)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Validation holds sequences that are evaluated together.
type Validation struct {
	Name      string
	Sequences []Sequence
}

// The files in the directory of a run.
const (
	CheckpointFile = "checkpoint.gguf"
	CurvePNG       = "loss.png"
	CurveHTML      = "loss.html"
)

// maxSkips is the number of consecutive skipped steps at which a run is given up.
const maxSkips = 25

// progress is the part of a checkpoint that describes the run.
type progress struct {
	Seed    uint64
	Batch   int
	Tokens  int64
	Seconds float64
	Skipped int
	Data    []position
	Points  []Point
}

// run is a Plan in progress.
type run struct {
	Plan
	t     *Trainer
	mix   *Mix
	state progress
	part  stretch
	began time.Time // start of the run, minus the time spent in earlier runs
	point time.Time // start of the current stretch
	saved time.Time
	last  int64 // tokens at the start of the stretch
}

// Run trains until the plan's end and returns the history. The learning rate depends on the
// completed share of the plan, by time or by tokens, whichever is larger; at the end it is zero.
// The checkpoint and the loss curve are written every SaveEvery (3 minutes if 0), at the end, and
// when ctx ends early. A Plan with Resume continues from that checkpoint.
func Run(ctx context.Context, plan Plan) ([]Point, error) {
	r, err := newRun(plan)
	if err != nil {
		return nil, fmt.Errorf("train: start run: %w", err)
	}
	defer r.t.Close()
	for r.done() < 1 {
		if err := ctx.Err(); err != nil {
			return r.state.Points, errors.Join(fmt.Errorf("train: run: stopped after %d steps: %w", r.t.Steps(), err), r.save())
		}
		if err := r.step(); err != nil {
			return r.state.Points, err
		}
	}
	r.report(true)
	return r.state.Points, r.save()
}

func (p *Plan) fillIn() error {
	if p.Batch == 0 {
		p.Batch = 16384
	}
	if p.EvalEvery == 0 {
		p.EvalEvery = 200
	}
	if p.SaveEvery == 0 {
		p.SaveEvery = 3 * time.Minute
	}
	if p.PointEvery == 0 {
		p.PointEvery = 10 * time.Second
	}
	if p.Now == nil {
		p.Now = time.Now
	}
	if !(p.Minutes >= 0) || p.Tokens < 0 || p.Minutes == 0 && p.Tokens == 0 {
		return fmt.Errorf("%v minutes and %d tokens are no length of a run; give one of them", p.Minutes, p.Tokens)
	}
	if p.Batch < 1 || p.EvalEvery < 1 {
		return fmt.Errorf("batches of %d tokens, evaluation every %d steps; both must be positive", p.Batch, p.EvalEvery)
	}
	return p.Schedule.Check()
}

func newRun(plan Plan) (*run, error) {
	r := &run{Plan: plan}
	if err := r.fillIn(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(r.Out, 0o755); err != nil {
		return nil, err
	}
	if err := r.open(); err != nil {
		return nil, err
	}
	if err := r.ready(); err != nil {
		r.t.Close()
		return nil, err
	}
	return r, nil
}

func (r *run) path(name string) string { return filepath.Join(r.Out, name) }

// open makes the trainer: from the run's own checkpoint, from the weights of another one, or from
// scratch.
func (r *run) open() (err error) {
	_, missing := os.Stat(r.path(CheckpointFile))
	switch {
	case r.Resume && missing == nil:
		r.t, err = LoadTrainer(r.path(CheckpointFile), r.Config, &r.state)
		return err
	case r.Resume:
		return fmt.Errorf("there is nothing to go on with: %w", missing)
	case missing == nil:
		return fmt.Errorf("%s holds the checkpoint of another run: go on with it, or choose another directory", r.Out)
	}
	var m *Model
	if r.Init != "" {
		if m, err = LoadModel(r.Init); err == nil && r.Deepen > 0 {
			m, err = m.Deepen(r.Deepen, r.Seed)
		}
		if err == nil && r.Active > 0 {
			m, err = m.Activate(r.Active)
		}
	} else {
		m, err = New(r.Shape, r.Seed)
	}
	if err != nil {
		return err
	}
	r.state = progress{Seed: r.Seed, Batch: r.Batch}
	r.t, err = NewTrainer(m, r.Config)
	return err
}

func (r *run) ready() error {
	if s := &r.state; s.Seed != r.Seed || s.Batch != r.Batch {
		return fmt.Errorf("the run had seed %d and batches of %d tokens; go on with the same", s.Seed, s.Batch)
	}
	mix, err := NewMix(r.Data, r.t.model.shape.Context, r.Seed)
	if err != nil {
		return err
	}
	r.mix = mix
	if r.state.Data != nil {
		if err := mix.restore(r.state.Data); err != nil {
			return err
		}
	}
	now := r.Now()
	r.began = now.Add(-time.Duration(r.state.Seconds * float64(time.Second)))
	r.point, r.saved, r.last = now, now, r.state.Tokens
	return nil
}

func (r *run) elapsed() float64 { return r.Now().Sub(r.began).Seconds() }

// done returns the completed share of the run.
func (r *run) done() float64 {
	d := 0.0
	if r.Minutes > 0 {
		d = r.elapsed() / (60 * r.Minutes)
	}
	if r.Tokens > 0 {
		d = max(d, float64(r.state.Tokens)/float64(r.Tokens))
	}
	return d
}

func (r *run) step() error {
	stats, err := r.t.Step(r.mix.Batch(r.Batch), r.Schedule.Rate(r.done()))
	if err != nil {
		return errors.Join(fmt.Errorf("train: run: step %d: %w", r.t.Steps()+1, err), r.save())
	}
	r.state.Tokens += int64(stats.Tokens)
	r.part.add(stats)
	if stats.Skipped {
		r.state.Skipped++
		r.warn(fmt.Errorf("train: run: after step %d: the gradient was no number; the step was left out", stats.Step))
		if r.part.skipping >= maxSkips {
			return fmt.Errorf("train: run: %d steps one after the other had a gradient that is no number: lower the learning rate and go on with the checkpoint", maxSkips)
		}
		return nil
	}
	now, eval := r.Now(), stats.Step%r.EvalEvery == 0
	if eval || now.Sub(r.point) >= r.PointEvery {
		r.report(eval)
	}
	if now.Sub(r.saved) >= r.SaveEvery {
		r.warn(r.save())
		r.saved = r.Now()
	}
	return nil
}

func (r *run) warn(err error) {
	if err != nil && r.Warn != nil {
		r.Warn(err)
	}
}

// report ends a stretch and reports it.
func (r *run) report(eval bool) {
	now := r.Now()
	p := Point{
		Step: r.t.Steps(), Tokens: r.state.Tokens, Seconds: r.elapsed(), Done: min(1, r.done()), Skipped: r.state.Skipped,
	}
	p.Rate = r.Schedule.Rate(p.Done)
	if d := now.Sub(r.point).Seconds(); d > 0 {
		p.Speed = float64(r.state.Tokens-r.last) / d
	}
	r.part.fill(&p)
	if eval {
		p.Valid = r.evaluate()
	}
	r.point, r.last = r.Now(), r.state.Tokens
	r.state.Points = append(r.state.Points, p)
	if r.Report != nil {
		left := time.Duration(0)
		if p.Done > 0 {
			left = time.Duration(p.Seconds * (1 - p.Done) / p.Done * float64(time.Second))
		}
		r.Report(p, left)
	}
}

func (r *run) evaluate() []Score {
	var scores []Score
	for _, v := range r.Valid {
		s, err := r.t.score(v, r.Batch)
		r.warn(err)
		if err == nil {
			scores = append(scores, s)
		}
	}
	return scores
}

// score evaluates sequences in batches.
func (t *Trainer) score(v Validation, tokens int) (Score, error) {
	var sum stretch
	for lo := 0; lo < len(v.Sequences); {
		hi, n := lo, 0
		for hi < len(v.Sequences) && (n == 0 || n+len(v.Sequences[hi].Tokens) <= tokens) {
			n += len(v.Sequences[hi].Tokens)
			hi++
		}
		s, err := t.Evaluate(v.Sequences[lo:hi])
		if err != nil {
			return Score{}, fmt.Errorf("train: evaluate on %s: %w", v.Name, err)
		}
		sum.add(s)
		lo = hi
	}
	var p Point
	sum.fill(&p)
	return Score{Name: v.Name, Loss: p.Loss, Accuracy: p.Accuracy, Answers: p.Answers}, nil
}

// save writes the checkpoint and the curve.
func (r *run) save() error {
	r.state.Seconds, r.state.Data = r.elapsed(), r.mix.at
	return errors.Join(r.t.Save(r.path(CheckpointFile), r.state), WriteCurve(r.Out, r.state.Points))
}
