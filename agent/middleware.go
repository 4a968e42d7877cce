package agent

import "context"

// Op is one operation of a run that middleware wraps: a model call, a tool call, or a piece of
// output of a running tool call.
type Op struct {
	Session *Session
	Step    int
	// Attempt counts, from 1, how often the request of this step was sent or this call was run:
	// again after a failure, or because middleware called next again.
	Attempt int
	// Model is the name of the model of a model call; see [ModelName]. If a router reported which
	// of its members answered, it is that one's name when next returns.
	Model string

	// Request is the model call's request, nil for a tool call. Before next, middleware may replace
	// or change it.
	Request *Request
	// Response is the model's answer, set when next returns without error. Its events were streamed
	// already, so changing it has no effect; an error returned after next fails the step.
	Response *Response

	// Call is the tool call. Before next, middleware may change its arguments; effects and
	// permission are decided afterwards.
	Call *ToolCall
	// Effects hold the effects of the call, as known when it ended; they are zero before next.
	Effects Effects
	// Result is the tool's result, set when next returns. Middleware may change it, or set it
	// without calling next.
	Result *ToolResult
	// Partial is set if the operation is a piece of output that a running call sent with
	// [Progress]: next sets Result to it, and what middleware makes of its text becomes the
	// [CallProgress]. So whatever hides secrets in results hides them in progress, too. After an
	// error, or without a call of next, the piece is dropped. Middleware that counts, asks, times
	// or keeps something per call passes such operations on:
	//
	//	if op.Partial {
	//		return next(ctx, op)
	//	}
	Partial bool

	// Usage and MicroDollars are what the operation cost, also if it failed, set when next returns:
	// those of a model call with all attempts that a router has reported, or of what a tool call
	// spent, such as a sub-agent. Estimated reports that the provider did not report all of it. A
	// model without a known price costs 0; see Result.Unpriced.
	Usage        Usage
	MicroDollars int64
	Estimated    bool

	run func(ctx context.Context, op *Op) error
}

// IsModel reports whether the operation is a model call.
func (op *Op) IsModel() bool { return op.Request != nil }

// Handler carries out an operation.
type Handler func(ctx context.Context, op *Op) error

// Middleware wraps a [Handler] to observe, rewrite or refuse operations. One function type serves
// as hooks before and after the model and the tools. To refuse a tool call, return an error without
// calling next: the model reads its text. An error around a model call ends the run unless it is a
// retryable *[ModelError]. Middleware around tool calls runs concurrently, also for the output of a
// call that still runs; see Op.Partial.
type Middleware func(next Handler) Handler

// chain wraps h in ms, the first outermost.
func chain(ms []Middleware, h Handler) Handler {
	for i := len(ms) - 1; i >= 0; i-- {
		h = ms[i](h)
	}
	return h
}

// handleOp is the innermost handler: the run's own.
func handleOp(ctx context.Context, op *Op) error { return op.run(ctx, op) }
