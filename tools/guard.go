package tools

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// timeoutError is the cause of a context that ended at a tool's time limit.
type timeoutError struct{ limit time.Duration }

func (e timeoutError) Error() string { return fmt.Sprintf("the time limit of %v was reached", e.limit) }

// Is makes it match [context.DeadlineExceeded] for tools that look at the cause.
func (e timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

type outcome struct {
	res *agent.ToolResult
	err error
}

// guard runs the call on its own goroutine, under its time limit. It returns when the call does or,
// once the call's context has ended, after the grace period at the latest.
func (e *entry) guard(ctx context.Context, call agent.ToolCall) (*agent.ToolResult, error) {
	limit := e.spec.Timeout
	if limit == 0 {
		limit = e.r.cfg.Timeout
	}
	cancel := func() {}
	if limit > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, limit, timeoutError{limit})
	}
	defer cancel()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s was not run: %w", e.spec.Name, context.Cause(ctx))
	}
	f := &flight{call: AbandonedCall{Tool: e.spec.Name, CallID: call.ID}}
	done := make(chan outcome, 1)
	go func() {
		o := outcome{err: errNoResult} // remains if the tool calls runtime.Goexit
		defer func() {
			e.r.calls.landed(f)
			done <- o
		}()
		o = e.protect(ctx, call)
	}()
	var o outcome
	select {
	case o = <-done:
	case <-ctx.Done():
		timer := time.NewTimer(e.r.cfg.Grace)
		defer timer.Stop()
		select {
		case o = <-done:
		case <-timer.C:
			return nil, e.abandon(ctx, f)
		}
	}
	if o.err != nil && ctx.Err() != nil && errors.Is(context.Cause(ctx), timeoutError{limit}) {
		return o.res, fmt.Errorf("%s was stopped after its time limit of %v: %w. Do less at a time, or run it in the background", e.spec.Name, limit, o.err)
	}
	return o.res, o.err
}

// protect calls the tool and converts a panic to an error.
func (e *entry) protect(ctx context.Context, call agent.ToolCall) (o outcome) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		stack := shortStack(debug.Stack())
		if l := e.r.cfg.Logger; l != nil {
			l.Error("tools: a tool panicked", "tool", e.spec.Name, "call", call.ID, "panic", fmt.Sprint(p), "stack", stack)
		}
		o = outcome{err: fmt.Errorf("%s failed: panic: %v. This is a fault of the tool, not of the call; try another way.\n%s", e.spec.Name, p, stack)}
	}()
	res, err := e.run(ctx, call)
	return outcome{res, err}
}

// stackLines is the number of lines of a panic's stack that the model is shown: enough to identify
// the place, without the rest of the call chain.
const stackLines = 8

// shortStack returns the frames from the panic on, without addresses.
func shortStack(stack []byte) string {
	lines := strings.Split(string(stack), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "panic(") && i+2 < len(lines) {
			lines = lines[i+2:]
			break
		}
	}
	var out []string
	for _, l := range lines {
		if l == "" || strings.HasPrefix(l, "goroutine ") {
			continue
		}
		if i := strings.LastIndex(l, " +0x"); i > 0 {
			l = l[:i]
		}
		out = append(out, l)
		if len(out) == stackLines {
			break
		}
	}
	return strings.Join(out, "\n")
}

// AbandonedCall is a call that did not return when its context ended. It was answered with an error
// instead of its result.
type AbandonedCall struct {
	Tool   string
	CallID string
	Since  time.Time // when it was abandoned
}

// flight is one running call.
type flight struct {
	call  AbandonedCall
	ended bool
}

// callTracker holds the abandoned calls that are still running.
type callTracker struct {
	mu   sync.Mutex
	left map[*flight]struct{}
	idle chan struct{} // closed when left becomes empty; nil if nobody is waiting
}

// landed records that the goroutine of f is about to end.
func (t *callTracker) landed(f *flight) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f.ended = true
	delete(t.left, f)
	if len(t.left) == 0 && t.idle != nil {
		close(t.idle)
		t.idle = nil
	}
}

// abandon abandons f, unless it has just ended, and returns the error for its result.
func (e *entry) abandon(ctx context.Context, f *flight) error {
	t := &e.r.calls
	t.mu.Lock()
	f.call.Since = e.r.cfg.Now()
	if !f.ended {
		if t.left == nil {
			t.left = map[*flight]struct{}{}
		}
		t.left[f] = struct{}{}
	}
	t.mu.Unlock()
	if l := e.r.cfg.Logger; l != nil {
		l.Error("tools: a call did not stop and was left behind", "tool", f.call.Tool, "call", f.call.CallID, "cause", context.Cause(ctx))
	}
	return fmt.Errorf("%s did not stop: %w. It was left behind, may still be running, and may have taken effect in part", f.call.Tool, context.Cause(ctx))
}

// Abandoned returns the calls that ignored the end of their context and are still running, oldest
// first. Go cannot stop a goroutine: a tool listed here keeps its memory, files and locks until it
// returns, and needs to be fixed.
func (r *Registry) Abandoned() []AbandonedCall {
	r.calls.mu.Lock()
	defer r.calls.mu.Unlock()
	out := make([]AbandonedCall, 0, len(r.calls.left))
	for f := range r.calls.left {
		out = append(out, f.call)
	}
	sortBySince(out)
	return out
}

// Wait returns when no abandoned call is running any more. If ctx ends first, it returns the cause.
func (r *Registry) Wait(ctx context.Context) error {
	for {
		r.calls.mu.Lock()
		if len(r.calls.left) == 0 {
			r.calls.mu.Unlock()
			return nil
		}
		if r.calls.idle == nil {
			r.calls.idle = make(chan struct{})
		}
		idle := r.calls.idle
		r.calls.mu.Unlock()
		select {
		case <-idle:
		case <-ctx.Done():
			return fmt.Errorf("tools: wait for abandoned calls: %w", context.Cause(ctx))
		}
	}
}
