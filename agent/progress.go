package agent

import (
	"context"
	"runtime/debug"
	"sync"
)

// Progress sends output of a running tool to the run's events as [CallProgress], after the agent's
// middleware has seen it; see [Op]. Outside a run it does nothing; see also [ToolContext].
func Progress(ctx context.Context, text string) {
	s := scopeFrom(ctx)
	switch {
	case s == nil || s.by == nil && s.Progress == nil:
	case s.by == nil:
		s.Progress(text)
	case s.by.agent.handle == nil:
		s.by.out.post(CallProgress{CallID: s.call.tc.ID, Text: text})
	default:
		s.call.progress.send(s.by, s.call, text)
	}
}

// progress passes the output of one call through the middleware, piece by piece and in order, on a
// goroutine of its own while there is something to pass on. The call itself does not wait:
// middleware may hold a lock while it waits for the call.
type progress struct {
	mu      sync.Mutex // guards the fields below
	pending []string
	running bool
	idle    sync.Cond // signalled when running becomes false; its lock is mu
}

func (p *progress) send(v *invoker, c *call, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = append(p.pending, text)
	if !p.running {
		p.running = true
		go p.pass(v, c)
	}
}

// pass works until nothing is pending. Of a run that was cancelled it drops the rest.
func (p *progress) pass(v *invoker, c *call) {
	for {
		p.mu.Lock()
		if len(p.pending) == 0 || v.ctx.Err() != nil {
			p.pending, p.running = nil, false
			if p.idle.L != nil {
				p.idle.Broadcast()
			}
			p.mu.Unlock()
			return
		}
		text := p.pending[0]
		p.pending = p.pending[1:]
		p.mu.Unlock()
		v.piece(c, text)
	}
}

// drain waits until the pieces of a call that ended are passed on.
func (p *progress) drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle.L = &p.mu
	for p.running {
		p.idle.Wait()
	}
}

// piece passes one piece of output through the middleware.
func (v *invoker) piece(c *call, text string) {
	defer func() {
		if p := recover(); p != nil {
			if l := v.agent.cfg.Logger; l != nil {
				l.Error("agent: middleware panicked on the progress of a call, which is dropped", "tool", c.tc.Name, "panic", p, "stack", string(debug.Stack()))
			}
		}
	}()
	tc, effects, tries := v.batch.started(c)
	op := &Op{Session: v.session, Step: c.step, Attempt: tries, Call: &tc, Partial: true}
	passed := false
	op.run = func(_ context.Context, op *Op) error {
		passed = true
		op.Effects, op.Result = effects, TextResult(text)
		op.Result.CallID = tc.ID
		return nil
	}
	if err := v.agent.handle(v.ctx, op); err != nil || !passed || op.Result == nil {
		return
	}
	if text := op.Result.Text(); text != "" {
		v.out.post(CallProgress{CallID: tc.ID, Text: text})
	}
}

// started returns what is known of a call that runs.
func (b *batch) started(c *call) (ToolCall, Effects, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return c.tc, c.effects, c.tries
}
