package agent

import "context"

// Op is one operation of a run that middleware wraps: a model call or a tool call.
type Op struct {
	Session *Session
	Step    int

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

	run func(ctx context.Context, op *Op) error
}

// IsModel reports whether the operation is a model call.
func (op *Op) IsModel() bool { return op.Request != nil }

// Handler carries out an operation.
type Handler func(ctx context.Context, op *Op) error

// Middleware wraps a [Handler] to observe, rewrite or refuse operations. One function type serves
// as hooks before and after the model and the tools. To refuse a tool call, return an error without
// calling next: the model reads its text. An error around a model call ends the run unless it is a
// retryable *[ModelError]. Middleware around tool calls runs concurrently.
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
