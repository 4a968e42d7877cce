package agent

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"
)

// invoker runs the tool calls of a run, each on its own goroutine. A call passes through the
// middleware, the mode, the permission check, its turn in the batch, the checkpoint and the log
// before it reaches the tool. The fields do not change during the run, except for types that have
// their own lock.
type invoker struct {
	ctx     context.Context // of the run
	agent   *Agent
	session *Session
	mode    mode
	tools   *toolset
	batch   *batch
	account *account
	out     *mailbox

	permits   permits
	snapshots snapshots
}

// run processes one call, from permission to result.
func (v *invoker) run(c *call) {
	var res *ToolResult
	returned := false
	defer func() {
		if p := recover(); p != nil {
			v.logPanic(c, p)
			res = ErrorResult("The tool %s failed: panic: %v. This is a fault of the tool; try another way.", c.tc.Name, p)
		} else if !returned { // runtime.Goexit
			res = ErrorResult("The tool %s ended its goroutine without a result. This is a fault of the tool; try another way.", c.tc.Name)
		}
		c.progress.drain()
		v.batch.finish(c, v.agent.fitResult(v.ctx, c.tc.Name, res))
	}()
	res = v.wrap(c)
	returned = true
}

// wrap runs a call through the middleware.
func (v *invoker) wrap(c *call) *ToolResult {
	if c.tool == nil {
		return v.unknownTool(c.tc.Name)
	}
	if v.agent.handle == nil {
		return v.perform(v.ctx, c, &c.tc)
	}
	tc := c.tc
	op := &Op{Session: v.session, Step: c.step, Attempt: 1, Call: &tc}
	op.run = func(ctx context.Context, op *Op) error {
		op.Attempt = v.batch.try(c)
		op.Result = v.perform(ctx, c, op.Call)
		op.Effects = c.effects
		op.Usage, op.MicroDollars, op.Estimated = c.bill.total()
		return nil
	}
	if err := v.agent.handle(v.ctx, op); err != nil {
		return ErrorResult("%s", err.Error())
	}
	return op.Result
}

// perform decides on a call, waits for its turn, and runs it.
func (v *invoker) perform(ctx context.Context, c *call, tc *ToolCall) *ToolResult {
	if string(tc.Args) != string(c.tc.Args) { // middleware rewrote it
		v.batch.rewrite(c, tc)
	}
	prepared, err := v.prepare(ctx, c)
	if err != nil {
		return ErrorResult("%s", err.Error())
	}
	if no := v.mode.verdict(&c.effects); no.Decision != Allow {
		return ErrorResult("%s: %s, so it was not run. %s", no.Rule, no.Reason, lookOnly)
	}
	if no := v.permits.decide(ctx, c, prepared); no.Decision != Allow {
		return ErrorResult("Not permitted (%s): %s", no.Rule, orText(no.Reason, "the call was refused. Find another way or ask the user."))
	}
	if reason := v.batch.acquire(c); reason != "" {
		return ErrorResult("%s", reason)
	}
	if !changesNothing(&c.effects) {
		v.snapshots.take(ctx)
	}
	if err := v.logCall(c); err != nil {
		v.batch.fail(err)
		return ErrorResult("The session could not be written, so the call was not run.")
	}
	return v.invoke(ctx, c, prepared)
}

// logCall records that a call is about to run. If middleware runs it again with the same arguments,
// nothing is recorded.
func (v *invoker) logCall(c *call) error {
	if c.logged != nil && string(c.logged) == string(c.tc.Args) {
		return nil
	}
	c.logged = c.tc.Args
	return v.session.logCall(&c.tc)
}

// invoke calls the tool under its time limit. prepared is nil for a tool that is no Preparer.
func (v *invoker) invoke(ctx context.Context, c *call, prepared *PreparedCall) *ToolResult {
	scope := &callScope{ToolScope: ToolScope{Session: v.session, CallID: c.tc.ID}, by: v, call: c}
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, callScopeKey{}, scope))
	defer cancel(nil)
	limit := c.spec.Timeout
	if limit == 0 {
		limit = v.agent.cfg.ToolTimeout
	}
	if limit > 0 {
		scope.deadline.start(limit, v.agent.cfg.Grace, cancel, func(text string) { v.batch.abandon(c, text) })
		defer scope.deadline.stop()
	}
	res, err := c.run(ctx, prepared)
	switch {
	case err == nil:
	case errors.Is(context.Cause(ctx), errToolTimeout):
		res = ErrorResult("The call was stopped after its time limit of %s: %v. Do less at a time, or run it in the background.", limit, err)
	case v.ctx.Err() != nil:
		res = ErrorResult("The run was cancelled while this call ran: %v. It may have taken effect in part.", err)
	default:
		res = ErrorResult("%s", err.Error())
	}
	if res == nil { // middleware may look at it
		res = TextResult("(no output)")
	}
	return res
}

// run calls the tool.
func (c *call) run(ctx context.Context, prepared *PreparedCall) (*ToolResult, error) {
	if prepared != nil {
		return prepared.Call(ctx)
	}
	return c.tool.Call(ctx, c.tc)
}

func (v *invoker) unknownTool(name string) *ToolResult {
	var names []string
	for i := range v.tools.specs {
		names = append(names, v.tools.specs[i].Name)
	}
	if len(names) == 0 {
		return ErrorResult("There is no tool named %q: no tools are offered. Answer without one.", name)
	}
	return ErrorResult("There is no tool named %q. The tools are: %s.", name, strings.Join(names, ", "))
}

func (v *invoker) logPanic(c *call, p any) {
	if l := v.agent.cfg.Logger; l != nil {
		l.Error("agent: tool panicked", "tool", c.tc.Name, "panic", p, "stack", string(debug.Stack()))
	}
}

func orText(s, def string) string {
	if s == "" {
		return def
	}
	return s
}
