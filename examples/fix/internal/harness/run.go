package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/router/moe"
)

// Config configures a repair. Model and Case are required.
type Config struct {
	Model agent.Model
	Case  Case

	Edits         int  // limit of tested edits; 0 means 10
	Beam          int  // width of the beam search for each decision; 0 means 8
	FunctionScope bool // whether only the function that is ranked first is offered
	OnStep        func(Step)

	// Adapt, if not nil, is called once with the finding, after three edits that did not help
	// (fewer if Edits is less than 6) or when Model has no further idea. The model that it returns
	// decides from then on; the order of a function's edits is then determined by both models
	// together. If Adapt returns nil, Model continues alone.
	Adapt func(ctx context.Context, f *Finding) agent.Model
}

// Step is a decision of the model and its result.
type Step struct {
	N           int
	Tool        string // "" if the answer is text
	Args        json.RawMessage
	Function    string  // the function that is read or edited
	Result      string  // result of the tool, or the text of the answer
	Failed      bool    // the call was refused or violated its schema, or the edit did not help
	Probability float64 // probability of the whole decision under the model; 0 if the model does not report it
	Thought     time.Duration
	Took        time.Duration // duration of the tool call
}

// Result is the outcome of a repair.
type Result struct {
	Fixed   *Edit  // the edit with which the tests pass; nil if none was found
	Edits   []Edit // tested edits, in order
	Refused int    // calls that were refused
	Calls   int    // tool calls
	Invalid int    // number of Calls that violated their tool's schema
	Steps   int
	Why     string // reason why the repair ended
	Usage   agent.Usage
	Thought time.Duration // time spent by the model
	Took    time.Duration
}

// patience is the number of consecutive decisions without a test run after which a model counts as
// having no further idea. In a small function, nearly all of a model's edits may be refused: one
// held-out function was repaired after more than two hundred refusals in a row. Without this limit,
// a model that repeats the same call would never end.
const patience = 1000

const system = "You repair Go code: run the tests, read the functions that may be at fault, and change the one line that is wrong."

// Run repairs a case. It returns an error if the attempt could not be completed; not finding a
// repair is not an error.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	if cfg.Edits == 0 {
		cfg.Edits = 10
	}
	if cfg.Beam == 0 {
		cfg.Beam = 8
	}
	r := newRepairer(cfg.Case, cfg.FunctionScope)
	if c, ok := cfg.Model.(Counter); ok {
		r.count = func(text string) int { return len(c.Tokenize(text, false)) }
	}
	reg, err := newToolset(r)
	if err != nil {
		return nil, err
	}
	a, err := agent.New(agent.Config{
		Model: newDecoder(cfg, r), System: system, ToolSource: reg,
		Limits:     agent.Limits{Steps: -1, Wall: -1},                // only tested edits are limited, not the refused ones between them
		Repetition: agent.Repetition{Remind: -1, Warn: -1, Stop: -1}, // edits that do not help are not repetition
		Retry:      agent.Retry{Max: -1},
		MaxOutput:  256, ToolTimeout: -1,
	})
	if err != nil {
		return nil, err
	}
	w := &watcher{r: r, cfg: cfg}
	ctx = agent.WithTokenTrace(ctx, &agent.TokenTrace{Token: func(t agent.Token) { w.logProb += t.LogProb; w.tokens++ }})
	begin := time.Now()
	res, err := w.watch(a.Run(ctx, agent.NewSession(), agent.Text{Text: "Fix the failing tests."}))
	res.Took = time.Since(begin)
	res.Fixed, res.Edits, res.Refused = r.fixed, r.edits, r.refused
	return res, err
}

// watcher observes a run.
type watcher struct {
	r       *repairer
	cfg     Config
	logProb float64
	tokens  int
	since   time.Time
	tested  int // the step whose call was the last to test an edit
	edits   int // number of edits tested up to that step
	res     Result
	step    Step
}

// watch drives the run until it ends or the edits are used up.
func (w *watcher) watch(run agent.Run) (*Result, error) {
	for ev, err := range run {
		if err != nil {
			return w.failed(err)
		}
		switch ev := ev.(type) {
		case agent.StepStart:
			w.since, w.logProb, w.tokens = time.Now(), 0, 0
			w.res.Steps++
		case agent.Usage:
			w.res.Usage = w.res.Usage.Add(ev)
		case agent.MessageAdded:
			w.said(ev.Message)
		case agent.CallStart:
			w.decided()
		case agent.CallDone:
			w.called(ev)
		case agent.Done:
			w.res.Why = ev.Result.Detail
		}
		if err := w.r.failed(); err != nil {
			return &w.res, err
		}
		if _, told := ev.(agent.CallDone); told && w.over() {
			return &w.res, nil // leaving the loop ends the run
		}
	}
	return &w.res, nil
}

// over reports whether a call was the last one, and records the reason.
func (w *watcher) over() bool {
	if n := w.r.tested(); n > w.edits {
		w.edits, w.tested = n, w.res.Steps
	}
	switch {
	case w.r.done():
		return false
	case w.edits >= w.cfg.Edits:
		w.res.Why = "the edits allowed are used up"
	case w.res.Steps-w.tested >= patience:
		w.res.Why = fmt.Sprintf("the model has no further idea: of its last %d decisions none led to an edit that could be tested", patience)
	default:
		return false
	}
	return true
}

// failed classifies the reason why a run failed.
func (w *watcher) failed(err error) (*Result, error) {
	fatal := w.r.failed()
	switch {
	case fatal != nil:
		return &w.res, fatal
	case errors.Is(err, moe.ErrAvoided):
		w.res.Why = "the model has no further idea"
		return &w.res, nil
	}
	return &w.res, err
}

// said handles a message from the model.
func (w *watcher) said(m agent.Message) {
	if m.Role != agent.RoleAssistant {
		return
	}
	w.decided()
	if len(m.Calls()) == 0 {
		w.step.Result = m.Text()
		w.report(w.step)
	}
}

// decided begins a step as soon as its decision is known: a call may start, and even end, before
// the message with the call arrives.
func (w *watcher) decided() {
	if w.step.N == w.res.Steps {
		return
	}
	w.step = Step{N: w.res.Steps, Thought: time.Since(w.since)}
	w.res.Thought += w.step.Thought
	if w.tokens > 0 {
		w.step.Probability = math.Exp(w.logProb)
	}
}

// called handles a finished call.
func (w *watcher) called(ev agent.CallDone) {
	w.decided() // a refused call ends without being started
	s := w.step
	s.Tool, s.Args, s.Result, s.Took = ev.Call.Name, ev.Call.Args, ev.Result.Text(), ev.Duration
	if s.Tool != repair.ToolRun {
		s.Function = w.r.reading()
	}
	s.Failed = ev.Result.IsError || repair.Failed(s.Result)
	if s.Failed && s.Result != repair.ResultFailing {
		w.r.leadsNowhere(s.Tool, s.Args)
	}
	w.res.Calls++
	if ev.Result.IsError && w.r.failed() == nil {
		w.res.Invalid++
	}
	w.report(s)
}

func (w *watcher) report(s Step) {
	if w.cfg.OnStep != nil {
		w.cfg.OnStep(s)
	}
}
