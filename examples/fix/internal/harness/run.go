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

// Config says how a repair is run. Model and Case are required.
type Config struct {
	Model agent.Model
	Case  Case

	Edits         int  // edits that are tested at most; 0 means 10
	Beam          int  // width of the search for each decision; 0 means 8
	FunctionScope bool // the function that is ranked first is the only one offered
	OnStep        func(Step)

	// Adapt, if not nil, is called once, when three edits did not help (fewer where Edits is less
	// than 6) or Model has no further idea, with what the tests told. The model it returns decides
	// from then on; which edit of a function is tried next both decide together. Nil lets Model go
	// on alone.
	Adapt func(ctx context.Context, f *Finding) agent.Model
}

// Step is a decision of the model and what came of it.
type Step struct {
	N           int
	Tool        string // "" for an answer in words
	Args        json.RawMessage
	Function    string  // that a read or an edit is about
	Result      string  // of the tool, or the answer
	Failed      bool    // the call was refused or broke its schema, or the edit did not help
	Probability float64 // of the whole decision under the model; 0 when the model does not tell
	Thought     time.Duration
	Took        time.Duration // the tool
}

// Result is how a repair ended.
type Result struct {
	Fixed   *Edit  // the edit with which the tests pass, nil if none was found
	Edits   []Edit // that were tested, in order
	Refused int    // calls that were refused
	Calls   int    // tool calls
	Invalid int    // of them, calls that broke their tool's schema
	Steps   int
	Why     string // why it ended
	Usage   agent.Usage
	Thought time.Duration // the model's share of the time
	Took    time.Duration
}

// patience is how many decisions in a row may lead to no test run before a model counts as having
// no further idea. In a small function nearly all that comes to its mind may be refused: a held-out
// one was repaired after more than two hundred refusals in a row. A model that makes the same call
// again and again would never end.
const patience = 1000

const system = "You repair Go code: run the tests, read the functions that may be at fault, and change the one line that is wrong."

// Run repairs a case. An error means that it could not be tried to the end; a repair that was not
// found is none.
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
		Limits:     agent.Limits{Steps: -1, Wall: -1},                // the edits are the limit, whatever is refused between them
		Repetition: agent.Repetition{Remind: -1, Warn: -1, Stop: -1}, // that an edit did not help is no repetition
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

// watcher follows a run.
type watcher struct {
	r       *repairer
	cfg     Config
	logProb float64
	tokens  int
	since   time.Time
	tested  int // the step whose call was the last to test an edit
	edits   int // that were tested until then
	res     Result
	step    Step
}

// watch drives the run to its end, or to that of its edits.
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

// over reports whether a call was the last, and notes why.
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

// failed sorts out why a run failed.
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

// said takes a message of the model.
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

// decided begins a step when its decision is known: a call may start, and even end, before the
// message that it is part of.
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

// called takes a call that ran.
func (w *watcher) called(ev agent.CallDone) {
	w.decided() // a call that is refused is done without a start
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
