package scheduler

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrContextFull is wrapped by every [ContextError].
	ErrContextFull = errors.New("scheduler: the context is full")
	// ErrBusy is wrapped by every [BusyError].
	ErrBusy = errors.New("scheduler: the queue is full")
	// ErrClosed is returned for requests to an engine that is closing or closed.
	ErrClosed = errors.New("scheduler: the engine is closed")
	// ErrInvalid is wrapped by the errors of requests that no engine could run, for example one
	// with an empty prompt.
	ErrInvalid = errors.New("scheduler: invalid request")
	// ErrNaN is wrapped by the error of a request whose logits are NaN.
	ErrNaN = errors.New("scheduler: the network's logits are not numbers")
)

// ContextError reports that a text does not fit the context. The engine never drops tokens from the
// front of a text to make room.
type ContextError struct {
	Context   int // size of the context in tokens
	Prompt    int // tokens of the prompt
	Generated int // tokens generated before the context was full; 0 if the prompt alone is too long
}

// Error describes which text does not fit, and a remedy.
func (e *ContextError) Error() string {
	if e.Generated == 0 {
		return fmt.Sprintf("scheduler: generate: a prompt of %d tokens leaves no room in a context of %d; shorten it by at least %d tokens or load the model with a larger context",
			e.Prompt, e.Context, e.Prompt-e.Context+1)
	}
	return fmt.Sprintf("scheduler: generate: the context of %d tokens is full after a prompt of %d and %d generated tokens; compact the conversation, set MaxTokens or load the model with a larger context",
		e.Context, e.Prompt, e.Generated)
}

// Unwrap returns ErrContextFull.
func (e *ContextError) Unwrap() error { return ErrContextFull }

// BusyError reports that the queue is full, and the time to wait before trying again.
type BusyError struct {
	Queued int           // requests waiting
	Wait   time.Duration // estimated time until there is room for one more
}

// Error reports the length of the queue and the estimated wait.
func (e *BusyError) Error() string {
	return fmt.Sprintf("scheduler: generate: %d requests are waiting already; try again in about %v", e.Queued, e.Wait.Round(100*time.Millisecond))
}

// Unwrap returns ErrBusy.
func (e *BusyError) Unwrap() error { return ErrBusy }
