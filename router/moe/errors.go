package moe

import (
	"context"
	"errors"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/engine/scheduler"
)

const provider = "moe"

// modelError converts an error of the engine to an agent.ModelError.
func modelError(ctx context.Context, err error) *agent.ModelError {
	if me, ok := errors.AsType[*agent.ModelError](err); ok {
		return me
	}
	me := &agent.ModelError{Kind: agent.ErrServer, Provider: provider, Err: err}
	var busy *scheduler.BusyError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		me.Kind = agent.ErrTimeout
	case ctx.Err() != nil:
		me.Kind = agent.ErrCanceled
	case errors.As(err, &busy):
		// If the queue is full, the caller must lower its rate: the status is 429, as in the HTTP
		// API.
		me.Kind, me.Status, me.RetryAfter = agent.ErrRateLimit, 429, busy.Wait
	case errors.Is(err, scheduler.ErrContextFull):
		me.Kind = agent.ErrContextLength
	case errors.Is(err, scheduler.ErrInvalid):
		me.Kind = agent.ErrInvalid
	case errors.Is(err, scheduler.ErrClosed):
		me.Kind = agent.ErrOverloaded
	}
	return me
}

func invalid(err error) *agent.ModelError {
	return &agent.ModelError{Kind: agent.ErrInvalid, Provider: provider, Err: err}
}

func unsupported(err error) *agent.ModelError {
	return &agent.ModelError{Kind: agent.ErrUnsupported, Provider: provider, Err: err}
}
