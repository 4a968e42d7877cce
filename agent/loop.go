package agent

import (
	"context"
	"errors"
	"fmt"
)

// loop is the agent loop.
func (r *run) loop(input []Part) error {
	if err := r.begin(input); err != nil {
		return err
	}
	for {
		if err := r.prepare(); err != nil {
			return err
		}
		if r.mustStop() {
			return nil
		}
		more, err := r.step()
		if err != nil {
			return err
		}
		if !more && r.res.Stop == StopDone && r.session.hasSteers() { // it arrived while the answer was verified
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
	err := l.repair(&Recovery{})
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
		r.out.send(MessageAdded{Message: m})
	}
	return nil
}

// prepare does the work between two steps: injected messages, reminders, changed tools, compaction.
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
		r.invoker.snapshots.newTurn()
		r.out.send(Steered{Message: m})
	}
	for _, text := range r.reminders {
		m := UserText("<reminder>\n" + text + "\n</reminder>")
		if err := r.appendMessage(m, nil); err != nil {
			return err
		}
		r.out.send(Reminded{Text: text})
	}
	r.reminders = r.reminders[:0]
	r.tools.refresh()
	if r.prompt.due() {
		return r.compact(r.agent.cfg.ContextBudget)
	}
	return nil
}

// mustStop reports whether the run must end before the next model call, and records why.
func (r *run) mustStop() bool {
	if r.ctx.Err() != nil || r.res.Stop != "" {
		return true
	}
	steps := r.agent.cfg.Limits.Steps
	switch {
	case r.batch.canceled():
		r.stop(StopCanceled, "the run was cancelled")
	case steps > 0 && r.res.Steps >= steps:
		r.stop(StopSteps, fmt.Sprintf("the limit of %d steps was reached", steps))
	default:
		if why, detail := r.account.overspent(); why != "" {
			r.stop(why, detail)
		}
	}
	return r.res.Stop != ""
}

func (r *run) stop(why StopReason, detail string) { r.res.Stop, r.res.Detail = why, detail }

// step makes one model call and runs the tool calls in its response. It reports whether the loop
// continues.
func (r *run) step() (bool, error) {
	r.out.send(StepStart{Step: r.res.Steps + 1})
	resp, err := r.ask()
	if err != nil {
		if err == errSpent {
			return false, nil
		}
		return false, err
	}
	r.res.Steps++
	if len(r.batch.calls) == 0 && !r.session.hasSteers() {
		if why := r.judge(resp); why != nil {
			return r.askAgain(why, resp)
		}
	}
	r.unusable = 0
	if err := r.keepResponse(resp); err != nil {
		return false, err
	}
	if len(r.batch.calls) == 0 {
		return r.answered(resp)
	}
	return r.keepResults()
}

// errSpent ends a step whose failed attempts used up a limit; the reason to stop is recorded.
var errSpent = errors.New("agent: a limit was reached")

// salvage returns what arrived of a response that broke with err after some of its calls began,
// with its usage.
func (r *run) salvage(err error) *Response {
	resp := r.stream.salvage()
	resp.Finish = r.stream.builder.finish
	resp.Usage, r.broken = r.model.usage(resp, err)
	resp.Finish = FinishTools
	return resp
}

// ask sends the request until a response is complete, retrying errors that may be retried. Once
// tools of a response have started, the response is not requested again: the parts that arrived are
// kept instead.
func (r *run) ask() (*Response, error) {
	compacted, refused := false, 0
	for {
		if r.ctx.Err() != nil {
			return nil, context.Cause(r.ctx)
		}
		r.phase = phaseStreams
		resp, err := r.model.attempt(r.res.Steps + 1)
		if err == nil {
			r.retry.failures, r.watch.stalls = 0, 0
			return resp, nil
		}
		if r.batch.begun() { // even if the run was cancelled: what was done must be in the history
			if !r.watch.stalled {
				r.cut = AsModelError(err)
			}
			return r.salvage(err), nil
		}
		if err := r.model.payFailed(err); err != nil {
			return nil, err
		}
		if r.ctx.Err() != nil {
			return nil, context.Cause(r.ctx)
		}
		if r.batch.canceled() {
			return nil, errCanceled
		}
		if r.watch.stalled {
			r.stream.retract()
			continue
		}
		if why, detail := r.account.overspent(); why != "" {
			r.stop(why, detail)
			return nil, errSpent
		}
		me := AsModelError(err)
		switch again, err := r.withoutRefused(me, refused); {
		case err != nil:
			return nil, err
		case again:
			refused++
			r.stream.retract()
			continue
		}
		if me.Kind == ErrContextLength && r.agent.cfg.Compactor != nil && !compacted {
			compacted = true
			r.stream.retract()
			if err := r.compact(r.prompt.overflowBudget()); err != nil {
				return nil, err
			}
			continue
		}
		if err := r.backoff(me); err != nil {
			return nil, err
		}
		r.stream.retract()
	}
}

// backoff waits before the next attempt. If there must be none, it returns the error.
func (r *run) backoff(me *ModelError) error {
	delay, ok := r.retry.next(me)
	if !ok {
		return me
	}
	r.out.send(RetryWait{Attempt: r.retry.failures, Delay: delay, Err: me})
	if r.out.left {
		return errLeft
	}
	return r.agent.cfg.Sleep(r.ctx, delay)
}

// keepResponse adds a response to the history and its cost to the run.
func (r *run) keepResponse(resp *Response) error {
	meta, err := r.routes.bill(resp.Usage)
	if err != nil {
		return err
	}
	resp.Usage, meta.finish = meta.usage, resp.Finish
	meta.estimated, r.broken, r.model.sent = meta.estimated || r.broken, false, false
	guess := r.guess(resp)
	r.account.charge(&meta, guess)
	r.session.addGuess(guess)
	r.prompt.tokens = resp.Usage.Total()
	if len(resp.Message.Parts) == 0 {
		return r.session.addSpend(&meta)
	}
	r.res.Message, r.res.Output = &resp.Message, nil
	if err := r.appendMessage(resp.Message, &meta); err != nil {
		return err
	}
	r.phase = phaseAnswered
	r.out.send(MessageAdded{Message: resp.Message})
	return nil
}

// guess estimates the tokens of a response without usage, so that Limits.Tokens also applies to
// models that report none.
func (r *run) guess(resp *Response) int64 {
	if resp.Usage != (Usage{}) {
		return 0
	}
	return r.session.estimate() + int64(partsTokens(resp.Message.Parts))
}

// keepResults waits for the calls of a response and adds their results to the history, in call
// order. It reports whether the loop continues.
func (r *run) keepResults() (bool, error) {
	r.batch.await()
	m, level, worst, fatal := r.batch.results(&r.rep)
	r.session.mu.Lock()
	err := r.session.appendResults(m)
	r.session.mu.Unlock()
	if fatal != nil {
		err = fatal
	}
	r.phase = phaseNone
	if err != nil {
		return false, err
	}
	r.prompt.grow(m)
	r.out.send(MessageAdded{Message: m})
	switch level {
	case rungStop:
		r.stop(StopRepetition, fmt.Sprintf("the call %s was repeated %d times with the same result", worst, r.rep.cfg.Stop))
		return false, nil
	case rungRemind, rungWarn:
		r.reminders = append(r.reminders, r.rep.reminder(level, worst))
	}
	return true, nil
}

// answered handles a response without calls.
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
	if r.mode.plan {
		return false, r.keepPlan(resp)
	}
	if r.agent.output != nil {
		if more := r.checkOutput(resp); more || r.res.Stop != "" {
			return more, nil
		}
	}
	return r.verify()
}

// keepPlan makes the final answer in plan mode the session's plan, unless the model set one with a
// tool.
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
	r.out.send(MessageAdded{Message: m})
	return true, nil
}

func (r *run) appendMessage(m Message, meta *stepMeta) error {
	if meta == nil {
		r.prompt.grow(m)
	}
	r.session.mu.Lock()
	defer r.session.mu.Unlock()
	return r.session.appendMessage(m, meta)
}
