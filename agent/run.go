package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// run is one run in progress. Its loop, and every yield, happens on the goroutine that ranges over the [Run]; tool
// calls happen on goroutines of their own and reach the consumer through the queue.
type run struct {
	agent   *Agent
	session *Session
	yield   func(Event, error) bool
	plan    bool
	left    bool // the consumer left the loop: yield must not be called again

	ctx     context.Context
	cancel  context.CancelCauseFunc
	started time.Time
	res     Result

	toolset toolset
	req     Request
	builder responseBuilder
	onChunk func(Chunk, error) bool // take, bound once
	size    int                     // bytes of the response so far
	maxSize int
	broken  error // what ended the stream early
	watch   watchdog
	rep     repetition
	routes  routeTab

	phase     phase
	failures  int         // model failures since the last complete response
	cut       *ModelError // what broke the last response, of which the begun calls were kept
	prompt    int64       // tokens of the last prompt and answer, 0 when unknown
	verified  int         // answers sent back by Config.Verify
	reminders []string

	mu       sync.Mutex // guards what follows, which tool goroutines share
	turn     sync.Cond  // a call ended, or the run was steered or cancelled
	batch    []*call
	running  int
	spent    Usage // of model calls, those of tools and sub-agents included
	cost     int64
	guessed  int64 // tokens of responses that came without usage, for the limit only
	ended    bool  // nothing is queued any more
	steered  bool
	cancelAt uint8 // set of 1<<CancelPoint
	fatal    error // a session entry could not be written
	queue    []Event
	spare    []Event
	queued   atomic.Bool
	wake     chan struct{}

	asking     sync.Mutex   // one permission question at a time
	checkpoint sync.Mutex   // held while the turn's checkpoint is made
	turnNo     atomic.Int64 // counts turns from 0
	snapped    int64        // turns up to this number have their checkpoint
}

// main runs to the end and reports the outcome.
func (r *run) main(ctx context.Context, input []Part) {
	if r.session == nil {
		r.yield(nil, errors.New("agent: run: the session is nil; use agent.NewSession or agent.CreateSession"))
		return
	}
	r.turn.L = &r.mu
	r.builder.text.spare = r.agent.takeRoom()
	r.wake = make(chan struct{}, 1)
	r.rep.cfg = r.agent.cfg.Repetition
	r.started = r.agent.cfg.Now()
	r.onChunk = r.take
	r.openTab()
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	if err := r.session.attach(r); err != nil { // from here on Steer and Cancel reach the run
		r.cancel(errLeft)
		r.yield(nil, err)
		return
	}
	// A cancelled run looks up from its stream at the next chunk, without asking the context at every one.
	unhook := context.AfterFunc(r.ctx, func() { r.queued.Store(true) })
	defer unhook()
	if wall := r.agent.cfg.Limits.Wall; wall > 0 {
		t := time.AfterFunc(wall, func() { r.cancel(errWall) })
		defer t.Stop()
	}
	defer func() { // also when the consumer panics: it must not be called again
		r.left = true
		r.cancel(errLeft)
		r.settle()
		r.watch.unwatch()
		r.closeQueue()
		r.agent.giveRoom(&r.builder.text)
		r.session.detach(r)
	}()

	err := r.loop(input)
	cause := context.Cause(r.ctx) // why it was cancelled before it ended, nil if it was not
	unhook()
	r.cancel(errLeft)
	r.waitCalls()
	r.finish(err, cause)
}

// finish sends the last events.
func (r *run) finish(err, cause error) {
	res := new(Result)
	*res = r.result(err, cause)
	if r.left {
		return
	}
	r.drain()
	r.session.detach(r) // the host may start the next run from its Done handler
	if !r.emit(Done{Result: res}) {
		return
	}
	if res.Err != nil {
		r.yield(nil, res.Err)
	}
}

// result sums the run up. How it stopped is decided here, once, from the error and the context.
func (r *run) result(err, cause error) Result {
	r.foldSpend()
	res := r.res
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

// loop is the agent loop.
func (r *run) loop(input []Part) error {
	if err := r.begin(input); err != nil {
		return err
	}
	for {
		if err := r.prepare(); err != nil {
			return err
		}
		if r.limited() {
			return nil
		}
		more, err := r.step()
		if err != nil {
			return err
		}
		if !more && r.res.Stop == StopDone && r.session.hasSteers() { // it came while the answer was verified
			more, r.res.Stop, r.res.Detail = true, "", ""
		}
		if !more {
			return nil
		}
	}
}

// begin adds the input to the history.
func (r *run) begin(input []Part) error {
	s := r.session
	s.mu.Lock()
	l := loader{s: s}
	err := l.mend(&Recovery{})
	parts := input
	if s.note != "" && err == nil {
		parts = append([]Part{Text{Text: s.note}}, input...)
		s.note = ""
	}
	var m Message
	if len(parts) > 0 && err == nil {
		m = Message{Role: RoleUser, Parts: parts}
		err = s.appendMessage(m, nil)
	}
	empty := len(s.live) == 0 && len(s.steers) == 0
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if empty {
		return errors.New("agent: run: the session is empty and no input was given; pass a message to Run")
	}
	if len(parts) > 0 {
		r.emit(MessageAdded{Message: m})
	}
	return nil
}

// prepare does what comes between two steps: injected messages, reminders, tools that changed, compaction.
func (r *run) prepare() error {
	if me := r.cut; me != nil && r.ctx.Err() == nil {
		r.cut = nil
		if err := r.backoff(me); err != nil {
			return err
		}
	}
	steers, err := r.takeSteers()
	if err != nil {
		return err
	}
	for _, m := range steers {
		r.newTurn()
		r.emit(Steered{Message: m})
	}
	for _, text := range r.reminders {
		m := UserText("<reminder>\n" + text + "\n</reminder>")
		if err := r.appendMessage(m, nil); err != nil {
			return err
		}
		r.emit(Reminded{Text: text})
	}
	r.reminders = r.reminders[:0]
	r.refreshTools()
	if r.needsCompaction() {
		return r.compact(r.agent.cfg.ContextBudget)
	}
	return nil
}

// newTurn makes the next write take a checkpoint of its own. It does not wait for a snapshot of an abandoned call.
func (r *run) newTurn() { r.turnNo.Add(1) }

// limited reports whether the run must end before the next model call, and notes why.
func (r *run) limited() bool {
	if r.ctx.Err() != nil || r.res.Stop != "" {
		return true
	}
	r.foldSpend()
	l := &r.agent.cfg.Limits
	switch {
	case r.canceled():
		r.stop(StopCanceled, "the run was cancelled")
	case l.Steps > 0 && r.res.Steps >= l.Steps:
		r.stop(StopSteps, fmt.Sprintf("the limit of %d steps was reached", l.Steps))
	default:
		for p := r; p != nil; p = p.agent.parent {
			if why, detail := p.overspent(); why != "" {
				r.stop(why, detail)
				break
			}
		}
	}
	return r.res.Stop != ""
}

// canceled reports whether the run is to stop at the next safe point.
func (r *run) canceled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cancelAt != 0
}

func (r *run) stop(why StopReason, detail string) { r.res.Stop, r.res.Detail = why, detail }

// step is one model call with the tool calls it asks for. It reports whether the loop goes on.
func (r *run) step() (bool, error) {
	r.emit(StepStart{Step: r.res.Steps + 1})
	resp, err := r.ask()
	if err != nil {
		return false, err
	}
	r.res.Steps++
	if err := r.keepResponse(resp); err != nil {
		return false, err
	}
	if len(r.batch) == 0 {
		return r.answered(resp)
	}
	return r.finishBatch()
}

// keepResponse adds a response to the history and its cost to the run.
func (r *run) keepResponse(resp *Response) error {
	meta, err := r.settleTab(resp.Usage)
	if err != nil {
		return err
	}
	resp.Usage, meta.finish = meta.usage, resp.Finish
	r.charge(meta.usage, meta.cost, r.guess(resp))
	r.prompt = resp.Usage.Total()
	if len(resp.Message.Parts) == 0 {
		return r.session.addSpend(meta.usage, meta.cost, meta.routes...)
	}
	r.res.Message = &resp.Message
	if err := r.appendMessage(resp.Message, &meta); err != nil {
		return err
	}
	r.phase = phaseAnswered
	r.emit(MessageAdded{Message: resp.Message})
	return nil
}

// answered decides what a response without calls means.
func (r *run) answered(resp *Response) (bool, error) {
	if r.session.hasSteers() {
		return true, nil
	}
	switch resp.Finish {
	case FinishPause:
		return true, nil
	case FinishLength:
		r.stop(StopLength, "the model's answer was cut at its output limit; raise Config.MaxOutput or ask it to go on")
		return false, nil
	case FinishFilter, FinishRefusal:
		r.stop(StopFiltered, "the provider withheld the answer or the model refused")
		return false, nil
	}
	if r.plan {
		return false, r.keepPlan(resp)
	}
	return r.verify()
}

// keepPlan makes the final answer of plan mode the session's plan, unless the model set one with a tool.
func (r *run) keepPlan(resp *Response) error {
	r.stop(StopDone, "the plan is ready")
	if text := resp.Message.Text(); text != "" && !r.session.planWasSet() {
		return r.session.SetPlan(text)
	}
	return nil
}

// verify lets the host check the work before the run counts as done.
func (r *run) verify() (bool, error) {
	check := r.agent.cfg.Verify
	if check == nil {
		r.stop(StopDone, "the model answered")
		return false, nil
	}
	feedback, err := check(r.ctx, r.session)
	if err != nil {
		return false, fmt.Errorf("agent: verify: %w", err)
	}
	if feedback == "" {
		r.stop(StopDone, "the model answered and the work was verified")
		return false, nil
	}
	if r.verified++; r.agent.cfg.Limits.Verifications >= 0 && r.verified > r.agent.cfg.Limits.Verifications {
		r.stop(StopUnverified, fmt.Sprintf("the work still failed verification after %d attempts", r.verified))
		return false, nil
	}
	m := UserText(feedback)
	if err := r.appendMessage(m, nil); err != nil {
		return false, err
	}
	r.emit(MessageAdded{Message: m})
	return true, nil
}

func (r *run) appendMessage(m Message, meta *stepMeta) error {
	if meta == nil && r.prompt > 0 {
		r.prompt += int64(partsTokens(m.Parts))
	}
	r.session.mu.Lock()
	defer r.session.mu.Unlock()
	return r.session.appendMessage(m, meta)
}

// attach makes r the session's active run.
func (s *Session) attach(r *run) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if s.run != nil {
		return ErrBusy
	}
	s.run, s.planSet = r, false
	return nil
}

// detach ends r's hold on the session; a run that began since keeps its own.
func (s *Session) detach(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == r {
		s.run = nil
	}
}

func (s *Session) hasSteers() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.steers) > 0
}

func (s *Session) planWasSet() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.planSet
}
