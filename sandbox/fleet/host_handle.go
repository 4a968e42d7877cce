package fleet

import (
	"context"
	"errors"
	"time"
)

// handle answers one request of a client.
func (h *Host) handle(ctx context.Context, request []byte) []byte {
	r, err := decodeRequest(request)
	var a *hostAnswer
	if err != nil {
		a = &hostAnswer{Code: codeRefused, Text: err.Error()}
	} else {
		a = h.answer(ctx, r)
	}
	b, err := encode(a)
	if err != nil {
		b, _ = encode(&hostAnswer{Code: codeRefused, Text: "the answer cannot be sent: " + err.Error()}) // a short answer instead
	}
	return b
}

func (h *Host) answer(ctx context.Context, r *hostRequest) *hostAnswer {
	hold := time.NewTimer(r.Hold)
	defer hold.Stop()
	if r.Op == opOpen {
		s, err := h.open(ctx, r)
		if err != nil {
			return problem(err)
		}
		return h.opened(ctx, s, hold.C)
	}
	s, err := h.fence(ctx, r)
	if err != nil {
		return problem(err)
	}
	switch r.Op {
	case opClose:
		h.remove(s)
		return &hostAnswer{}
	case opCancel:
		s.cancelCommand(r.Number)
		return &hostAnswer{}
	}
	if a := h.opened(ctx, s, hold.C); a.Code != codeOK {
		return a
	}
	c, err := s.command(r)
	if err != nil {
		return problem(err)
	}
	select {
	case <-c.done:
	case <-hold.C:
		return &hostAnswer{Code: codePending}
	case <-ctx.Done():
		return &hostAnswer{Code: codePending}
	}
	if c.tool != nil {
		return &hostAnswer{Tool: c.tool}
	}
	if s.ctx.Err() != nil && (c.err != nil || c.exit.Canceled) {
		// The lease ended while the command ran, so the command was killed.
		return problem(ErrLost)
	}
	if c.exit == nil {
		return problem(c.err)
	}
	return &hostAnswer{Exit: toWire(c.exit)}
}

// opened waits for a session's box and returns the answer.
func (h *Host) opened(ctx context.Context, s *hostSession, hold <-chan time.Time) *hostAnswer {
	select {
	case <-s.ready:
	case <-hold:
		return &hostAnswer{Code: codePending}
	case <-ctx.Done():
		return &hostAnswer{Code: codePending}
	}
	if s.err != nil {
		return problem(s.err)
	}
	iso := s.box.Isolation()
	a := &hostAnswer{Isolation: &iso}
	if d, ok := s.box.(interface{ Dir() string }); ok {
		a.Dir = d.Dir()
	}
	return a
}

// problem returns the answer for an error.
func problem(err error) *hostAnswer {
	a := &hostAnswer{Code: codeFailed, Text: err.Error(), Causes: causesOf(err)}
	switch {
	case errors.Is(err, ErrLost):
		a.Code = codeStale
	case errors.Is(err, errLater):
		a.Code = codeLater
	case errors.Is(err, ErrNoHost):
		a.Code = codeBusy
	case errors.Is(err, ErrRefused), errors.Is(err, errForgotten):
		a.Code = codeRefused
	}
	return a
}
