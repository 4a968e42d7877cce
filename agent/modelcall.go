package agent

import (
	"context"
	"errors"
)

// modelCall requests one response from the model, through the middleware. It belongs to the loop's
// goroutine. Each of its verbs has one meaning: attempt sends the request of a step once, through
// the middleware; once is the operation that the middleware wraps; again prepares for middleware
// that calls once a second time; play handles a response that middleware made itself.
type modelCall struct {
	ctx     context.Context // of the run
	agent   *Agent
	session *Session
	prompt  *prompt
	stream  *stream
	routes  *routeTab
	account *account

	step, tries int // how often the request of this step was sent

	sent bool // the request of the attempt was passed to the model, and is not paid for yet
}

// attempt sends the request of a step.
func (m *modelCall) attempt(step int) (*Response, error) {
	m.stream.reset(step)
	m.stream.watch.stalled = false
	m.routes.reset()
	m.sent = false
	if m.step != step {
		m.step, m.tries = step, 0
	}
	req := m.prompt.fill()
	if m.agent.handle == nil {
		return m.once(m.ctx, req)
	}
	clone := *req // middleware may change the request of this call, not of the next
	op := &Op{Session: m.session, Step: step, Attempt: m.tries + 1, Model: ModelName(m.agent.cfg.Model), Request: &clone}
	asked := false
	var first *Response
	var failed error
	op.run = func(ctx context.Context, op *Op) (err error) {
		switch {
		case asked && m.stream.batch.begun(): // what is already running cannot be requested again: its outcome stands
		case asked:
			if err := m.again(step); err != nil {
				return err
			}
			fallthrough
		default:
			asked = true
			m.tries++
			first, failed = m.once(ctx, op.Request)
			m.quote(op, first, failed)
		}
		op.Response = first
		return failed
	}
	if err := m.agent.handle(m.ctx, op); err != nil {
		return nil, err
	}
	switch {
	case op.Response == nil:
		return nil, errors.New("agent: middleware returned without an error and without a response; call next, or set Op.Response")
	case !asked:
		return m.play(op.Response)
	case !m.stream.batch.same(op.Response.Message.Calls()):
		return nil, errors.New("agent: middleware changed the calls of a response that was streamed already; change or refuse the calls as they run")
	}
	return op.Response, nil
}

// quote sets what the attempts of the operation so far cost.
func (m *modelCall) quote(op *Op, resp *Response, failed error) {
	op.Attempt = m.tries
	var u Usage
	guess := false
	switch {
	case failed == nil:
		u = resp.Usage
	case m.sent:
		u, guess = m.usage(m.stream.builder.response(), failed)
	}
	q := m.routes.quote(u)
	if q.model != "" {
		op.Model = q.model
	}
	op.Usage, op.MicroDollars, op.Estimated = op.Usage.Add(q.usage), op.MicroDollars+q.cost, op.Estimated || q.estimated || guess
}

// once reads one stream to its end, under the watchdog.
func (m *modelCall) once(ctx context.Context, req *Request) (*Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m.stream.watch.watch(m.agent.cfg.Retry.IdleTimeout, cancel)
	defer m.stream.watch.unwatch()
	m.sent = true
	ctx = WithRouteTrace(ctx, &m.routes.trace)
	return m.stream.read(ctx, m.agent.cfg.Model.Stream(ctx, req))
}

// again prepares for middleware that calls next again, before any call has begun.
func (m *modelCall) again(step int) error {
	m.stream.retract()
	err := m.payFailed(errAskedTwice)
	m.stream.reset(step)
	return err
}

// errAskedTwice is the end of an attempt that middleware repeats.
var errAskedTwice = errors.New("agent: middleware asked again")

// payFailed charges a failed attempt: it has to be paid for too. What the provider did not report
// before it broke is estimated.
func (m *modelCall) payFailed(failed error) error {
	b := &m.stream.builder
	var u Usage
	guess := false
	if m.sent {
		u, guess = m.usage(b.response(), failed)
	}
	m.sent, b.usage = false, Usage{}
	meta, err := m.routes.bill(u)
	meta.estimated = meta.estimated || guess
	if err != nil || meta.free() {
		return err
	}
	err = m.account.spend(&meta)
	if meta.usage != (Usage{}) {
		m.stream.watch.alive() // the stream is over: what the consumer does now does not count as its silence
		m.stream.out.send(Charged{Usage: meta.usage, MicroDollars: meta.cost, Estimated: meta.estimated, Err: failed})
	}
	return err
}

// usage returns the usage of an attempt that failed. A router reports its own attempts.
func (m *modelCall) usage(resp *Response, failed error) (u Usage, estimated bool) {
	if m.routes.reported() || m.stream.unsent {
		return resp.Usage, false
	}
	if m.ctx.Err() != nil && AsModelError(failed).Kind != ErrCanceled { // such as a model that reports the cancellation in its own words
		failed = errors.Join(&ModelError{Kind: ErrCanceled}, failed)
	}
	return callUsage(resp, failed, m.prompt.size)
}

// play processes a response that middleware made itself, such as a cached one, as if it had been
// streamed.
func (m *modelCall) play(resp *Response) (*Response, error) {
	return m.stream.read(m.ctx, func(yield func(Chunk, error) bool) {
		for i, p := range resp.Message.Parts {
			switch p := p.(type) {
			case Text:
				yield(TextDelta{Text: p.Text}, nil)
			case Thinking:
				yield(ThinkingDelta(p), nil)
			case Opaque:
				yield(p, nil)
			case ToolCall:
				yield(ToolCallStart{Index: i, ID: p.ID, Name: p.Name}, nil)
				yield(ToolCallDelta{Index: i, Args: string(p.Args)}, nil)
			}
		}
		yield(resp.Usage, nil)
		yield(Finish{Reason: resp.Finish}, nil)
	})
}
