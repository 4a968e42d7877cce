package agent

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// run is one run in progress: its loop, with the loop's own state. All other state belongs to a
// part:
//
//	watchdog   how long the model has been silent
//	mailbox    the events to the caller
//	account    the tokens and the money, with the routeTab of what routers report
//	toolset    what the model is offered
//	prompt     the next request and its size
//	batch      the calls of the response: which may run, and their results
//	invoker    how a call runs: permits, snapshots, the tool itself
//	stream     the response that is being read
//	modelCall  the request through the middleware
//
// A part uses only parts listed above it, never those below, and never the run. The parts that
// other goroutines reach (watchdog, mailbox, account, routeTab, batch, permits, snapshots) have a
// lock of their own, documented with the fields it guards. The rest belongs to the goroutine that
// ranges over the [Run], on which the loop and every yield happen. Locks are taken in the order
// Session, batch, mailbox.
type run struct {
	agent   *Agent
	session *Session
	mode    mode

	ctx     context.Context
	cancel  context.CancelCauseFunc
	started time.Time
	res     Result

	watch   watchdog
	out     mailbox
	account account
	routes  routeTab
	tools   toolset
	prompt  prompt
	batch   batch
	invoker invoker
	stream  stream
	model   modelCall

	rep       repetition
	retry     retry
	phase     phase
	broken    bool        // the response that is kept next broke, and its usage is estimated
	cut       *ModelError // what broke the last response, if the calls that had begun were kept
	misfits   int         // answers that did not fit Config.Output
	unusable  int         // answers in a row that could not be the end of the work
	verified  int         // answers rejected by Config.Verify
	reminders []string
}

// phase tracks how much of the current response is in the history.
type phase uint8

const (
	phaseNone     phase = iota // no response is open
	phaseStreams               // the response is streaming: calls may have begun that are not in any message yet
	phaseAnswered              // its message is in the history, but the results of its calls are not
)

// wire creates the parts of a run whose context is known.
func (r *run) wire(yield func(Event, error) bool) {
	a, s, cfg := r.agent, r.session, &r.agent.cfg
	r.started = cfg.Now()
	r.mode.readOnly = a.readOnly
	r.out = mailbox{yield: yield, cancel: r.cancel, watch: &r.watch, bell: make(chan struct{}, 1), log: newDebugLog(r.ctx, cfg.Logger, s.meta.ID)}
	r.out.log.begin(ModelName(cfg.Model), s)
	r.account = account{session: s, limits: &cfg.Limits, price: a.price, parent: a.parent, now: cfg.Now, started: r.started}
	r.account.whole = cfg.sessionLimits(s)
	r.account.before, r.account.beforeCost = s.spentBefore()
	r.routes = routeTab{session: s, account: &r.account, out: &r.out}
	r.routes.open()
	r.tools = toolset{agent: a, session: s, mode: r.mode}
	r.prompt = prompt{agent: a, session: s, tools: &r.tools, mode: r.mode}
	r.batch = batch{ctx: r.ctx, cfg: cfg, session: s, tools: &r.tools, out: &r.out}
	r.batch.turn.L = &r.batch.mu
	r.invoker = invoker{ctx: r.ctx, agent: a, session: s, mode: r.mode, tools: &r.tools, batch: &r.batch, account: &r.account, out: &r.out,
		permits:   permits{policy: cfg.Policy, ask: cfg.Ask, session: s, out: &r.out},
		snapshots: snapshots{store: cfg.Checkpointer, session: s, out: &r.out, logger: cfg.Logger}}
	r.stream = stream{ctx: r.ctx, cfg: cfg, batch: &r.batch, invoker: &r.invoker, out: &r.out, watch: &r.watch}
	r.stream.onChunk = r.stream.take
	r.stream.builder.text.spare = a.takeRoom()
	r.model = modelCall{ctx: r.ctx, agent: a, session: s, prompt: &r.prompt, stream: &r.stream, routes: &r.routes, account: &r.account}
	r.rep.cfg = cfg.Repetition
	r.retry = retry{cfg: &cfg.Retry, random: cfg.Random}
}

// main runs to the end and reports the outcome.
func (r *run) main(ctx context.Context, input []Part, yield func(Event, error) bool) {
	if r.session == nil {
		yield(nil, errors.New("agent: run: the session is nil; use agent.NewSession or agent.CreateSession"))
		return
	}
	if err := r.agent.priced(r.session); err != nil {
		yield(nil, err)
		return
	}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.wire(yield)
	if err := r.session.attach(r); err != nil { // from here on Steer and Cancel reach the run
		r.cancel(errLeft)
		yield(nil, err)
		return
	}
	// A cancelled run stops reading its stream at the next chunk; this avoids checking the context
	// at every chunk.
	unhook := context.AfterFunc(r.ctx, r.out.interrupt)
	defer unhook()
	if wall := r.agent.cfg.Limits.Wall; wall > 0 {
		t := time.AfterFunc(wall, func() { r.cancel(errWall) })
		defer t.Stop()
	}
	defer func() { // also if the consumer panics: it must not be called again
		r.out.leave()
		r.unwind()
		r.watch.unwatch()
		r.out.close()
		r.agent.giveRoom(&r.stream.builder.text)
		r.session.detach(r)
	}()

	err := r.loop(input)
	cause := context.Cause(r.ctx) // why it was cancelled before it ended; nil if it was not
	unhook()
	r.cancel(errLeft)
	r.batch.await()
	r.conclude(err, cause)
}

// sessionLimits returns the limits of a session: its own, or those of the agent.
func (c *Config) sessionLimits(s *Session) SessionLimits {
	if s.meta.Limits != (SessionLimits{}) {
		return s.meta.Limits
	}
	return c.SessionLimits
}

// priced returns an error if the session has a cost limit that a run of a could not keep.
func (a *Agent) priced(s *Session) error {
	if a.cfg.sessionLimits(s).MicroDollars <= 0 || a.price != nil || a.cfg.AllowUnpriced || ReportsCost(a.cfg.Model) {
		return nil
	}
	return fmt.Errorf("agent: run: the session has a cost limit, but Config.Prices has no price for model %q: add one, or set Config.AllowUnpriced", ModelName(a.cfg.Model))
}

// unwind leaves a history in which every call that began has its result. It is needed if the run is
// torn down in the middle of a step because the consumer or a callback panicked; in all other cases
// the loop has done this itself. The session keeps a write error.
func (r *run) unwind() {
	r.batch.await()
	if r.phase == phaseStreams && r.batch.begun() {
		r.res.Steps++
		if r.keepResponse(r.salvage(errLeft)) != nil {
			return
		}
	} else if r.phase == phaseStreams {
		_ = r.model.payFailed(errLeft)
	}
	if r.phase == phaseAnswered && len(r.batch.calls) > 0 {
		_, _ = r.keepResults()
	}
}

// conclude sends the last events.
func (r *run) conclude(err, cause error) {
	res := new(Result)
	*res = r.result(err, cause)
	if r.out.left {
		return
	}
	r.out.flush()
	r.session.detach(r) // the host may start the next run from its Done handler
	if !r.out.send(Done{Result: res}) {
		return
	}
	if res.Err != nil {
		r.out.yield(nil, res.Err)
	}
}

// result summarises the run. It alone decides how the run stopped, from the error and the context.
func (r *run) result(err, cause error) Result {
	res := r.res
	res.Usage, res.Estimated, res.MicroDollars = r.account.total()
	res.Unpriced = r.account.unpriced()
	res.Calls, res.Abandoned = r.batch.counts()
	res.Duration = r.agent.cfg.Now().Sub(r.started)
	switch {
	case err == nil && res.Stop != "":
	case errors.Is(cause, errWall):
		res.Stop, res.Detail = StopTime, fmt.Sprintf("the time limit of %s was reached", r.agent.cfg.Limits.Wall)
	case errors.Is(cause, errCanceled) || errors.Is(err, errCanceled):
		res.Stop, res.Detail = StopCanceled, "the run was cancelled"
	case errors.Is(cause, errLeft):
		res.Stop, res.Detail = StopCanceled, "the event loop was left"
	case cause != nil:
		res.Stop, res.Detail, res.Err = StopCanceled, "the context ended", fmt.Errorf("agent: run: %w", cause)
	default:
		res.Stop, res.Detail, res.Err = StopError, err.Error(), err
	}
	return res
}
