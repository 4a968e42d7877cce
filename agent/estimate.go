package agent

import "errors"

// CallUsage returns the usage that a provider charges for a model call that ended with err. resp
// holds what arrived, as [Generate] returns it. Reports of the provider count; what it did not
// report is estimated: the prompt from the request, the output and its reasoning from what arrived.
// A call that failed before the model began to work, such as a refused one, costs nothing.
// estimated reports whether some of the usage is an estimate.
//
// If the model is a router, its attempts are reported to the [RouteTrace] of the context instead.
func CallUsage(req *Request, resp *Response, err error) (u Usage, estimated bool) {
	return callUsage(resp, err, func() int64 { return requestTokens(req) })
}

// callUsage is CallUsage with a function that returns the tokens of the prompt.
func callUsage(resp *Response, err error, prompt func() int64) (u Usage, estimated bool) {
	if resp != nil {
		u = resp.Usage
		u.clamp()
	}
	if err == nil || u != (Usage{}) && resp.Finish != "" { // a complete answer, even if it is of no use
		return u, false
	}
	var parts []Part
	if resp != nil {
		parts = resp.Message.Parts
	}
	if len(parts) == 0 && u == (Usage{}) && !begunBefore(err) {
		return u, false
	}
	if u.Input == 0 {
		u.Input, estimated = prompt(), true
	}
	var output, reasoning int64
	for _, p := range parts {
		n := int64(partsTokens([]Part{p}) - frameTokens)
		output += n
		if _, ok := p.(Thinking); ok {
			reasoning += n
		}
	}
	if output > u.Output {
		u.Output, estimated = output, true
	}
	if reasoning > u.Reasoning {
		u.Reasoning, estimated = min(reasoning, u.Output), true
	}
	return u, estimated
}

// begunBefore reports whether a call of which nothing arrived had reached the model when it failed
// with err: it was cancelled or timed out while the model worked on the prompt, or its stream
// ended.
func begunBefore(err error) bool {
	if notSent(err) {
		return false
	}
	me := AsModelError(err)
	switch me.Kind {
	case ErrCanceled, ErrTimeout, ErrIncomplete:
		return me.Status == 0 || me.Status == 200
	}
	return false
}

// notSent reports whether a model says by its error that it did not send the request, such as one
// that waited for its turn.
func notSent(err error) bool {
	e, ok := errors.AsType[interface {
		error
		NotSent() bool
	}](err)
	return ok && e.NotSent()
}

// requestTokens returns the approximate number of tokens of a prompt.
func requestTokens(req *Request) int64 {
	n := int64(preambleTokens(req.System, req.Tools))
	for i := range req.Messages {
		n += int64(partsTokens(req.Messages[i].Parts))
	}
	return n
}
