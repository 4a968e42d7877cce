package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"
)

var errToolTimeout = errors.New("agent: the tool's time limit was reached")

// runCall carries out one call on a goroutine of its own, from permission to result.
func (r *run) runCall(c *call) {
	var res *ToolResult
	returned := false
	defer func() {
		if p := recover(); p != nil {
			r.logPanic(c, p)
			res = ErrorResult("The tool %s failed: panic: %v. This is a fault of the tool; try another way.", c.tc.Name, p)
		} else if !returned { // runtime.Goexit
			res = ErrorResult("The tool %s ended its goroutine without a result. This is a fault of the tool; try another way.", c.tc.Name)
		}
		r.finishCall(c, r.clean(c, res))
	}()
	res = r.carryOut(c)
	returned = true
}

// carryOut runs a call through the middleware.
func (r *run) carryOut(c *call) *ToolResult {
	if c.tool == nil {
		return r.unknownTool(c.tc.Name)
	}
	if r.agent.handle == nil {
		return r.perform(r.ctx, c, &c.tc)
	}
	tc := c.tc
	op := &Op{Session: r.session, Step: c.step, Call: &tc}
	op.run = func(ctx context.Context, op *Op) error {
		op.Result = r.perform(ctx, c, op.Call)
		op.Effects = c.effects
		return nil
	}
	if err := r.agent.handle(r.ctx, op); err != nil {
		return ErrorResult("%s", err.Error())
	}
	return op.Result
}

// perform decides on a call, waits its turn, and runs it.
func (r *run) perform(ctx context.Context, c *call, tc *ToolCall) *ToolResult {
	if string(tc.Args) != string(c.tc.Args) { // middleware rewrote it
		effects := callEffects(c.tool, c.spec, *tc)
		r.mu.Lock()
		c.tc.Args, c.effects = tc.Args, effects
		r.mu.Unlock()
	}
	if v := r.modeVerdict(&c.effects); v.Decision != Allow {
		return ErrorResult("%s: %s, so it was not run. %s", v.Rule, v.Reason, lookOnly)
	}
	if v := r.permit(ctx, c); v.Decision != Allow {
		return ErrorResult("Not permitted (%s): %s", v.Rule, orText(v.Reason, "the call was refused. Find another way or ask the user."))
	}
	if reason := r.acquire(c); reason != "" {
		return ErrorResult("%s", reason)
	}
	if !changesNothing(&c.effects) {
		r.snapshot(ctx)
	}
	if err := r.logCall(c); err != nil {
		r.poke(func() { r.fatal = err })
		return ErrorResult("The session could not be written, so the call was not run.")
	}
	return r.invoke(ctx, c)
}

const lookOnly = "Look around with the tools you have, then answer."

// modeVerdict refuses what may change things where nothing may be changed: in plan mode, and in a sub-agent whose tool
// says that it only reads.
func (r *run) modeVerdict(e *Effects) Verdict {
	switch {
	case changesNothing(e):
	case r.plan:
		return Verdict{Rule: "Plan mode", Reason: "the call may change things"}
	case r.agent.readOnly:
		return Verdict{Rule: "Read-only sub-agent", Reason: "the call may change things"}
	}
	return Verdict{Decision: Allow}
}

// logCall records that a call is about to run; when middleware runs it again with the same arguments, that says nothing
// new.
func (r *run) logCall(c *call) error {
	if c.logged != nil && string(c.logged) == string(c.tc.Args) {
		return nil
	}
	c.logged = c.tc.Args
	return r.session.logCall(&c.tc)
}

// invoke calls the tool under its time limit.
func (r *run) invoke(ctx context.Context, c *call) *ToolResult {
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, callScopeKey{}, &callScope{run: r, call: c}))
	defer cancel(nil)
	limit := c.spec.Timeout
	if limit == 0 {
		limit = r.agent.cfg.ToolTimeout
	}
	if limit > 0 {
		r.startTimer(c, limit, cancel)
		defer r.stopTimer(c)
	}
	res, err := c.tool.Call(ctx, c.tc)
	switch {
	case err == nil:
	case errors.Is(context.Cause(ctx), errToolTimeout):
		res = ErrorResult("The call was stopped after its time limit of %s: %v. Do less at a time, or run it in the background.", limit, err)
	case r.ctx.Err() != nil:
		res = ErrorResult("The run was cancelled while this call ran: %v. It may have taken effect in part.", err)
	default:
		res = ErrorResult("%s", err.Error())
	}
	if res == nil { // middleware may look at it
		res = TextResult("(no output)")
	}
	return res
}

// startTimer cancels the call at its limit, and abandons it when it ignores that for the grace period.
func (r *run) startTimer(c *call, limit time.Duration, cancel context.CancelCauseFunc) {
	fired := false
	r.mu.Lock()
	defer r.mu.Unlock()
	c.deadAt = time.AfterFunc(limit, func() {
		if !fired {
			fired = true
			cancel(errToolTimeout)
			r.mu.Lock()
			if c.state == callRunning {
				c.deadAt.Reset(r.agent.cfg.Grace)
			}
			r.mu.Unlock()
			return
		}
		r.abandon(c, fmt.Sprintf("The tool did not stop %s after its time limit of %s: it was left behind and may still be running.", r.agent.cfg.Grace, limit))
	})
}

func (r *run) stopTimer(c *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.deadAt != nil {
		c.deadAt.Stop()
	}
}

// snapshot takes the turn's checkpoint before its first write. A failure is reported and does not stop the work.
func (r *run) snapshot(ctx context.Context) {
	cp := r.agent.cfg.Checkpointer
	if cp == nil {
		return
	}
	r.checkpoint.Lock()
	defer r.checkpoint.Unlock()
	turn := r.turnNo.Load() + 1
	if r.snapped >= turn {
		return
	}
	r.snapped = turn
	id, err := cp.Snapshot(ctx, r.session.turnLabel())
	if err == nil {
		err = r.session.addCheckpoint(id)
	}
	if err != nil && r.agent.cfg.Logger != nil {
		r.agent.cfg.Logger.Warn("agent: checkpoint failed; this turn cannot be undone", "err", err)
	}
	r.post(Checkpointed{ID: id, Err: err})
}

func (r *run) unknownTool(name string) *ToolResult {
	var names []string
	for i := range r.toolset.specs {
		names = append(names, r.toolset.specs[i].Name)
	}
	if len(names) == 0 {
		return ErrorResult("There is no tool named %q: no tools are offered. Answer without one.", name)
	}
	return ErrorResult("There is no tool named %q. The tools are: %s.", name, strings.Join(names, ", "))
}

func (r *run) logPanic(c *call, p any) {
	if l := r.agent.cfg.Logger; l != nil {
		l.Error("agent: tool panicked", "tool", c.tc.Name, "panic", p, "stack", string(debug.Stack()))
	}
}

// clean makes a result fit for the history: never empty, valid UTF-8, parts that a result may hold, and no longer than
// the limit.
func (r *run) clean(c *call, res *ToolResult) *ToolResult {
	if res == nil {
		return TextResult("(no output)")
	}
	ok := len(res.Parts) > 0
	size := 0
	for _, p := range res.Parts {
		switch p := p.(type) {
		case Text:
			size += len(p.Text)
			ok = ok && utf8.ValidString(p.Text)
		case Image, Opaque:
		default:
			ok = false
		}
	}
	if ok && size <= r.agent.cfg.ResultBytes {
		return res
	}
	return r.rebuild(c, res)
}

// rebuild is the slow path of clean.
func (r *run) rebuild(c *call, res *ToolResult) *ToolResult {
	out := &ToolResult{IsError: res.IsError}
	left, dropped := r.agent.cfg.ResultBytes, 0
	for _, p := range res.Parts {
		switch p := p.(type) {
		case Text:
			if left == 0 {
				dropped += len(p.Text)
				continue
			}
			text := strings.ToValidUTF8(p.Text, "\uFFFD")
			if len(text) > left {
				text = r.cutText(c, text, left)
			}
			left = max(left-len(text), 0)
			out.Parts = append(out.Parts, Text{Text: text})
		case Image, Opaque:
			out.Parts = append(out.Parts, p)
		default:
			out.Parts = append(out.Parts, Text{Text: fmt.Sprintf("(the tool returned a %T, which a result cannot hold)", p)})
		}
	}
	if dropped > 0 {
		out.Parts = append(out.Parts, Text{Text: fmt.Sprintf("[… %d more bytes of text dropped; ask for less at a time …]", dropped)})
	}
	if len(out.Parts) == 0 {
		out.Parts = []Part{Text{Text: "(no output)"}}
	}
	return out
}

// cutText keeps the head and the tail of a text that is too long, and stores the whole of it where it can be read back.
func (r *run) cutText(c *call, text string, limit int) string {
	where := "the rest was dropped; ask for less at a time"
	if store := r.agent.cfg.Artifacts; store != nil {
		if handle, err := store.Put(context.WithoutCancel(r.ctx), c.tc.Name, []byte(text)); err == nil {
			where = "the full text is stored as " + handle
		}
	}
	head := strings.ToValidUTF8(text[:limit*2/3], "")
	tail := strings.ToValidUTF8(text[len(text)-limit/3:], "")
	return fmt.Sprintf("%s\n\n[… %d of %d bytes left out; %s …]\n\n%s", head, len(text)-len(head)-len(tail), len(text), where, tail)
}

func orText(s, def string) string {
	if s == "" {
		return def
	}
	return s
}
