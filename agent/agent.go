package agent

import (
	"context"
	"errors"
	"sync/atomic"
)

// Run is one run of an agent: an iterator over its events, which can be ranged over once. The run
// happens inside the range loop, on its goroutine; leaving the loop early cancels the run and waits
// for its tools. A run that fails yields [Done] and then the error; one that reaches a limit yields
// only [Done].
type Run func(yield func(Event, error) bool)

// ErrRunUsed is yielded when a [Run] is ranged over a second time.
var ErrRunUsed = errors.New("agent: a run is single use; call Agent.Run again")

// Collect drives the run to its end and returns its result. The result is nil only if the run could
// not begin.
func (r Run) Collect() (*Result, error) {
	var res *Result
	var fail error
	for ev, err := range r {
		if err != nil {
			fail = err
		} else if d, ok := ev.(Done); ok {
			res = d.Result
		}
	}
	return res, fail
}

// Run returns a run that adds input to the session as a user message and calls the model until it
// answers without a tool call, a limit is reached or ctx ends. Without input the run continues the
// session as it is.
func (a *Agent) Run(ctx context.Context, s *Session, input ...Part) Run {
	return a.newRun(ctx, s, input, false)
}

// Plan returns a run in plan mode: only tools that change nothing are offered, calls with write
// effects are refused, and the resulting plan becomes the session's plan (the model's final answer,
// unless it set a plan with a tool). A later [Agent.Run] on the same session carries it out.
func (a *Agent) Plan(ctx context.Context, s *Session, input ...Part) Run {
	return a.newRun(ctx, s, input, true)
}

func (a *Agent) newRun(ctx context.Context, s *Session, input []Part, plan bool) Run {
	var used atomic.Bool
	return func(yield func(Event, error) bool) {
		if used.Swap(true) {
			yield(nil, ErrRunUsed)
			return
		}
		r := &run{agent: a, session: s, mode: mode{plan: plan}}
		r.main(ctx, input, yield)
	}
}
