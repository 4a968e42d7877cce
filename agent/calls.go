package agent

import (
	"fmt"
	"time"
)

// call is one tool call of the current batch. The batch is in call order; all fields are guarded by run.mu but those
// that say otherwise.
type call struct {
	tc      ToolCall
	step    int
	tool    Tool // nil for an unknown tool
	spec    *ToolSpec
	effects Effects
	state   callState
	ran     bool // it began
	changed bool // and may have changed something
	result  ToolResult
	begun   time.Time
	deadAt  *time.Timer // ends or abandons the call
	logged  []byte      // the arguments the session has for it; for its own goroutine
}

type callState uint8

const (
	callArriving callState = iota // its arguments are not complete: effects are the tool's upper bound
	callWaiting                   // for permission, or for a call it conflicts with
	callRunning
	callDone
)

// clearBatch forgets the last batch.
func (r *run) clearBatch() {
	r.mu.Lock()
	clear(r.batch)
	r.batch = r.batch[:0]
	r.mu.Unlock()
	r.phase = phaseStreams
}

// announce adds a call whose arguments have yet to arrive, so that later calls know what they might conflict with.
func (r *run) announce(b *callBuilder) {
	c := &call{tc: ToolCall{ID: b.id, Name: b.name}, step: r.builder.step}
	if i, ok := r.toolset.byName[b.name]; ok {
		c.tool, c.spec = r.toolset.tools[i], &r.toolset.specs[i]
		c.effects = c.spec.Effects
	}
	r.mu.Lock()
	r.batch = append(r.batch, c)
	r.mu.Unlock()
}

// submit starts a call whose arguments are complete.
func (r *run) submit(b *callBuilder) {
	b.taken = true
	c := r.find(b.id) // every call of the builder was announced when it began
	tc := b.call()
	var effects Effects
	if c.tool != nil {
		effects = callEffects(c.tool, c.spec, tc)
	}
	r.mu.Lock()
	c.tc, c.state, c.effects = tc, callWaiting, effects
	r.mu.Unlock()
	go r.runCall(c)
}

// callEffects asks the tool what a call would do; a tool that panics over it knows nothing.
func callEffects(t Tool, spec *ToolSpec, tc ToolCall) (e Effects) {
	defer func() {
		if recover() != nil {
			e = Effects{}
		}
	}()
	if t, ok := t.(Effecter); ok {
		return t.CallEffects(tc)
	}
	return spec.Effects
}

// submitRest starts, at the end of a response, the calls that were not started while it streamed. A call that the
// output limit cut is answered without being run.
func (r *run) submitRest() {
	b := &r.builder
	for i := range b.calls {
		c := &b.calls[i]
		if c.taken {
			continue
		}
		if c.truncated() || (b.finish == FinishLength && !c.scan.Complete() && !c.over) {
			where := ""
			if b.finish == FinishLength {
				where = " at the output limit"
			}
			r.refuse(c, "The arguments were cut off"+where+", so the call was not run. Send it again in smaller pieces, such as several edits instead of one large write.")
			continue
		}
		r.submitSized(c)
	}
}

func (r *run) submitSized(c *callBuilder) {
	if c.over {
		r.refuse(c, fmt.Sprintf("The arguments are %d bytes long; at most %d are accepted, so the call was not run and they were dropped. Send less at a time.", c.size, r.agent.cfg.Limits.ArgBytes))
		return
	}
	r.submit(c)
}

// refuse answers a call without running it.
func (r *run) refuse(b *callBuilder, text string) {
	b.taken = true
	c := r.find(b.id)
	r.mu.Lock()
	c.tc, c.state = b.call(), callWaiting
	r.mu.Unlock()
	r.finishCall(c, ErrorResult("%s", text))
}

func (r *run) find(id string) *call {
	for _, c := range r.batch {
		if c.tc.ID == id {
			return c
		}
	}
	return nil
}

// hasBegun reports whether any call of the batch was submitted.
func (r *run) hasBegun() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.batch {
		if c.state != callArriving {
			return true
		}
	}
	return false
}

func (r *run) submitted(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.find(id)
	return c != nil && c.state != callArriving
}

// dropUnsubmitted removes the calls whose arguments never became complete.
func (r *run) dropUnsubmitted() {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := r.batch[:0]
	for _, c := range r.batch {
		if c.state != callArriving {
			kept = append(kept, c)
		}
	}
	r.batch = kept
	r.signal()
}

// acquire waits until c may run: no earlier call that is not done conflicts with it, no running call does, and fewer
// calls than the cap run. The first unfinished call waits for running ones only, so calls cannot wait in a circle. It
// returns a reason not to run, or "".
func (r *run) acquire(c *call) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	again := c.state == callRunning // middleware called next once more: the call gives its place back and waits anew
	if again {
		c.state = callWaiting
		r.running--
		r.turn.Broadcast()
	}
	for {
		switch {
		case r.ctx.Err() != nil, r.cancelAt&(1<<CancelAfterModel) != 0:
			return "The run was cancelled before this call began: it did nothing."
		case r.steered:
			return "Skipped: the user sent a message before this call began. Read it, then decide whether the call is still needed."
		case c.state == callDone:
			return "The call was abandoned before it began."
		case r.fatal != nil:
			return "The session could not be written, so the call was not run."
		}
		if r.running < r.agent.cfg.Parallel && r.clear(c) {
			c.state = callRunning
			r.running++
			if !again {
				c.ran = true
				c.begun = r.agent.cfg.Now()
				r.queue = append(r.queue, CallStart{Call: c.tc, Effects: c.effects})
				r.wakeLoop()
			}
			return ""
		}
		r.turn.Wait()
	}
}

// clear reports whether nothing stands in the way of c.
func (r *run) clear(c *call) bool {
	earlier := true
	for _, o := range r.batch {
		if o == c {
			earlier = false
			continue
		}
		if o.state == callDone || (!earlier && o.state != callRunning) {
			continue
		}
		if conflicts(&c.effects, &o.effects) {
			return false
		}
	}
	return true
}

// finishCall records a call's result, once: what an abandoned call gives back later is dropped.
func (r *run) finishCall(c *call, res *ToolResult) {
	out := *res
	out.CallID = c.tc.ID
	r.mu.Lock()
	if c.state == callDone {
		r.mu.Unlock()
		return
	}
	r.mu.Unlock()
	err := r.session.logResult(&out)
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.state == callDone {
		return
	}
	if err != nil && r.fatal == nil {
		r.fatal = err
	}
	var took time.Duration
	if c.state == callRunning {
		r.running--
	}
	if c.ran {
		r.res.Calls++
		took = r.agent.cfg.Now().Sub(c.begun)
		c.changed = len(c.effects.Writes) > 0 || !c.effects.Known
	}
	c.state, c.result = callDone, out
	r.queue = append(r.queue, CallDone{Call: c.tc, Result: out, Duration: took})
	r.signal()
}

// waitCalls sends events until every submitted call has its result. When the run is cancelled, calls that ignore it
// are abandoned after the grace period.
func (r *run) waitCalls() {
	var grace <-chan time.Time
	ended := r.ctx.Done()
	for {
		r.drain()
		if r.idle() {
			r.drain()
			return
		}
		select {
		case <-r.wake:
		case <-ended:
			ended = nil
			r.poke(nil)
			t := time.NewTimer(r.agent.cfg.Grace)
			defer t.Stop()
			grace = t.C
		case <-grace:
			r.abandonAll()
		}
	}
}

func (r *run) idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.batch {
		if c.state == callWaiting || c.state == callRunning {
			return false
		}
	}
	return true
}

func (r *run) abandonAll() {
	r.mu.Lock()
	stuck := append([]*call(nil), r.batch...)
	r.mu.Unlock()
	for _, c := range stuck {
		r.abandon(c, "The run was cancelled and the tool did not stop in time: it may still be running.")
	}
}

// abandon gives a call that does not return a result of its own.
func (r *run) abandon(c *call, text string) {
	r.mu.Lock()
	live := c.state == callRunning || c.state == callWaiting
	if live {
		r.res.Abandoned++
	}
	r.mu.Unlock()
	if live {
		r.finishCall(c, ErrorResult("%s", text))
	}
}

// finishBatch waits for the calls of a response and adds their results to the history, in call order.
func (r *run) finishBatch() (bool, error) {
	r.waitCalls()
	m, level, worst := r.closeBatch()
	r.session.mu.Lock()
	err := r.session.appendResults(m)
	r.session.mu.Unlock()
	r.mu.Lock()
	if r.fatal != nil {
		err = r.fatal
	}
	r.mu.Unlock()
	r.phase = phaseNone
	if err != nil {
		return false, err
	}
	if r.prompt > 0 {
		r.prompt += int64(partsTokens(m.Parts)) // what the next prompt has more than the last
	}
	r.emit(MessageAdded{Message: m})
	switch level {
	case rungStop:
		r.stop(StopRepetition, fmt.Sprintf("the call %s was repeated %d times with the same result", worst, r.rep.cfg.Stop))
		return false, nil
	case rungRemind, rungWarn:
		r.reminders = append(r.reminders, r.rep.reminder(level, worst))
	}
	return true, nil
}

// closeBatch gathers the results, in call order, and the highest rung of the repetition ladder with the tool that
// reached it.
func (r *run) closeBatch() (m Message, level rung, worst string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m = Message{Role: RoleTool, Parts: make([]Part, len(r.batch))}
	r.rep.nextBatch()
	for i, c := range r.batch {
		m.Parts[i] = c.result
		if l := r.rep.observe(&c.tc, &c.result, c.changed && !c.result.IsError); l > level {
			level, worst = l, c.tc.Name
		}
	}
	return m, level, worst
}
