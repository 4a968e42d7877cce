package agent

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrorKind classifies a model error, so that a loop or router can decide without reading messages.
// A kind is itself an error for errors.Is, which finds it in every error that wraps a [ModelError]:
//
//	if errors.Is(err, agent.ErrRateLimit) { ... }
type ErrorKind string

// The kinds of model errors.
const (
	ErrRateLimit     ErrorKind = "rate_limit"      // too many requests; wait RetryAfter
	ErrOverloaded    ErrorKind = "overloaded"      // the provider is out of capacity
	ErrServer        ErrorKind = "server"          // a 5xx, or an error object in the stream
	ErrNetwork       ErrorKind = "network"         // connection refused, reset, DNS
	ErrTimeout       ErrorKind = "timeout"         // no answer, or a stream that went idle
	ErrIncomplete    ErrorKind = "incomplete"      // the stream ended without Finish
	ErrContextLength ErrorKind = "context_length"  // the prompt is longer than the model's window
	ErrAuth          ErrorKind = "auth"            // missing, wrong or unpaid credentials
	ErrInvalid       ErrorKind = "invalid_request" // the provider refused the request; retrying it will not help
	ErrUnsupported   ErrorKind = "unsupported"     // the model cannot take this part, tool choice or schema
	ErrFilter        ErrorKind = "content_filter"  // blocked by the provider's policy
	ErrCanceled      ErrorKind = "canceled"        // the caller's context ended
	ErrUnknown       ErrorKind = "unknown"
)

// Retryable reports whether sending the same request again may succeed.
func (k ErrorKind) Retryable() bool {
	switch k {
	case ErrRateLimit, ErrOverloaded, ErrServer, ErrNetwork, ErrTimeout, ErrIncomplete:
		return true
	}
	return false
}

// Error returns the kind in words, such as "rate_limit".
func (k ErrorKind) Error() string { return string(k) }

// ModelError is the error every [Model] returns, whatever its provider.
type ModelError struct {
	Kind       ErrorKind
	Status     int           // HTTP status, 0 if none
	RetryAfter time.Duration // the waiting time that the provider asked for, 0 if none
	Provider   string        // such as "openai" or "anthropic"
	RequestID  string        // the provider's id of the request, for its support
	Err        error         // the cause
}

// Error describes the failure in one line.
func (e *ModelError) Error() string {
	var b strings.Builder
	if e.Provider != "" {
		b.WriteString(e.Provider)
	} else {
		b.WriteString("model")
	}
	fmt.Fprintf(&b, ": %s", e.Kind)
	if e.Status != 0 {
		fmt.Fprintf(&b, " (status %d)", e.Status)
	}
	if e.RequestID != "" {
		fmt.Fprintf(&b, " [request %s]", e.RequestID)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *ModelError) Unwrap() error { return e.Err }

// Is reports whether target is the error's [ErrorKind].
func (e *ModelError) Is(target error) bool {
	kind, ok := target.(ErrorKind)
	return ok && e.Kind == kind
}

// AsModelError returns err as a *ModelError. It wraps an untyped error with [ErrUnknown], or with
// the [ErrorKind] that is in it, and returns nil for nil.
func AsModelError(err error) *ModelError {
	if err == nil {
		return nil
	}
	if me, ok := errors.AsType[*ModelError](err); ok {
		return me
	}
	if kind, ok := errors.AsType[ErrorKind](err); ok {
		return &ModelError{Kind: kind, Err: err}
	}
	return &ModelError{Kind: ErrUnknown, Err: err}
}
