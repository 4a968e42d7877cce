package agent

import "time"

// acquire waits until c may run: no unfinished earlier call and no running call conflicts with it,
// and the number of running calls is below the limit. The first unfinished call waits only for
// running ones, so calls cannot deadlock. acquire returns a reason not to run, or "".
func (b *batch) acquire(c *call) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	again := c.state == callRunning // middleware called next again: it gives up its place first
	if again {
		c.state = callWaiting
		b.running--
		b.turn.Broadcast()
	}
	for {
		switch {
		case b.ctx.Err() != nil, b.cancelAt&(1<<CancelAfterModel) != 0:
			return "The run was cancelled before this call began: it did nothing."
		case b.steered:
			return "Skipped: the user sent a message before this call began. Read it, then decide whether the call is still needed."
		case c.state == callDone:
			return "The call was abandoned before it began."
		case b.fatal != nil:
			return "The session could not be written, so the call was not run."
		}
		if b.running < b.cfg.Parallel && b.clear(c) {
			c.state = callRunning
			b.running++
			if !again {
				c.ran = true
				c.begun = b.cfg.Now()
				b.out.post(CallStart{Call: c.tc, Effects: c.effects})
			}
			return ""
		}
		b.turn.Wait()
	}
}

// clear reports whether c may run now. b.mu is held.
func (b *batch) clear(c *call) bool {
	earlier := true
	for _, o := range b.calls {
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

// finish records a call's result, once. What an abandoned call returns later is dropped.
func (b *batch) finish(c *call, res *ToolResult) {
	out := *res
	out.CallID = c.tc.ID
	b.mu.Lock()
	if c.state == callDone {
		b.mu.Unlock()
		return
	}
	b.mu.Unlock()
	err := b.session.logResult(&out)
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.state == callDone {
		return
	}
	if err != nil && b.fatal == nil {
		b.fatal = err
	}
	var took time.Duration
	if c.state == callRunning {
		b.running--
	}
	if c.ran {
		b.ran++
		took = b.cfg.Now().Sub(c.begun)
		c.changed = len(c.effects.Writes) > 0 || !c.effects.Known
	}
	c.state, c.result = callDone, out
	b.out.post(CallDone{Call: c.tc, Result: out, Duration: took})
	b.turn.Broadcast()
}

// abandon sets a result for a call that does not return, and finishes it.
func (b *batch) abandon(c *call, text string) {
	b.mu.Lock()
	live := c.state == callRunning || c.state == callWaiting
	if live {
		b.abandoned++
	}
	b.mu.Unlock()
	if live {
		b.finish(c, ErrorResult("%s", text))
	}
}

// await sends events until every call with complete arguments has its result. If the run is
// cancelled, calls that ignore the cancellation are abandoned after the grace period.
func (b *batch) await() {
	var grace <-chan time.Time
	ended := b.ctx.Done()
	for {
		b.out.flush()
		if b.idle() {
			b.out.flush()
			return
		}
		select {
		case <-b.out.bell:
		case <-ended:
			ended = nil
			b.mu.Lock()
			b.wake()
			b.mu.Unlock()
			t := time.NewTimer(b.cfg.Grace)
			defer t.Stop()
			grace = t.C
		case <-grace:
			for _, c := range b.calls {
				b.abandon(c, "The run was cancelled and the tool did not stop in time: it may still be running.")
			}
		}
	}
}

func (b *batch) idle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.calls {
		if c.state == callWaiting || c.state == callRunning {
			return false
		}
	}
	return true
}

// wake wakes the calls that wait for their turn, and the loop that waits for its calls. b.mu is
// held.
func (b *batch) wake() {
	b.turn.Broadcast()
	b.out.wake()
}

// steer notes that a message is waiting for the model: calls that have not begun are skipped.
func (b *batch) steer() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.steered = true
	b.wake()
}

// resume stops skipping calls, because the message was read.
func (b *batch) resume() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.steered = false
}

// cancel records where the run must stop.
func (b *batch) cancel(at CancelPoint) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cancelAt |= 1 << at
	b.wake()
}

// canceled reports whether the run must stop at the next safe point.
func (b *batch) canceled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cancelAt != 0
}

// fail records that the session could not be written: no further call runs.
func (b *batch) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fatal = err
	b.wake()
}
