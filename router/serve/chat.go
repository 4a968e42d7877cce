package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// chat answers POST /v1/chat/completions.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.cfg.MaxBody))
	if err != nil {
		if clientLeft(r.Context(), err) || errors.Is(err, io.ErrUnexpectedEOF) {
			s.metrics.aborted()
		}
		writeFailure(w, badBody(err))
		return
	}
	in, req, err := decodeChat(body)
	if err == nil {
		err = s.check(in)
	}
	if err != nil {
		writeFailure(w, failureOf(err))
		return
	}
	leave, f := s.enter(r.Context())
	if f != nil {
		writeFailure(w, f)
		return
	}
	defer leave()
	a := &answer{id: s.cfg.NewID(), patience: s.cfg.WriteTimeout, created: s.cfg.Now().Unix(), model: s.cfg.Name, w: w, choices: in.choices()}
	if in.Stream {
		a.includeUsage = in.StreamOptions != nil && in.StreamOptions.IncludeUsage
		err = s.stream(r.Context(), a, req)
	} else {
		err = s.collect(r.Context(), a, req)
	}
	if err != nil && clientLeft(r.Context(), err) {
		s.metrics.aborted()
		s.metrics.used(a.usage())
		s.cfg.Logger.Info("serve: client left before the end of its answer", "id", a.id, "error", err)
		return
	}
	s.metrics.answered(a.usage(), begin, a.first, err)
	if err != nil {
		s.cfg.Logger.Warn("serve: answer failed", "id", a.id, "error", err)
	}
}

// check refuses models that are not served here, and more choices than a request may have.
func (s *Server) check(in *chatRequest) error {
	if in.Model != "" && !s.serves(in.Model) {
		return s.noModel(in.Model)
	}
	if in.N != nil && *in.N > s.cfg.MaxChoices {
		return invalid("n", "n is %d; this server gives at most %d choices a request", *in.N, s.cfg.MaxChoices)
	}
	return nil
}

// clientLeft reports whether err was caused by a client that went away or did not read its answer.
func clientLeft(ctx context.Context, err error) bool {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return false // the host's limit
	}
	_, unsent := errors.AsType[*unsentError](err)
	return unsent || ctx.Err() != nil
}

// collect answers with one object.
func (s *Server) collect(ctx context.Context, a *answer, req *agent.Request) error {
	responses := make([]*agent.Response, len(a.choices))
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.each(a.choices, func(c *choice) {
		if inner.Err() != nil {
			return
		}
		resp, err := agent.Generate(c.traced(inner), agent.ModelFunc(s.ask), c.request(req))
		if err != nil {
			cancel(err) // the other choices are of no use to the client
			return
		}
		responses[c.index], c.usage = resp, resp.Usage
	})
	a.first = time.Now()
	err := ctx.Err()
	if err == nil {
		err = context.Cause(inner)
	}
	if err != nil {
		writeFailure(a.w, failureOf(err))
		return err
	}
	return a.all(a.whole(responses))
}

// ask returns the model's stream. A panic of the model is turned into an error, since this server's
// other answers run in the same process.
func (s *Server) ask(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		reading, gone := false, false
		defer func() {
			if r := recover(); r != nil {
				if reading { // the reader panicked
					panic(r)
				}
				s.cfg.Logger.Error("serve: the model panicked", "panic", r, "stack", string(debug.Stack()))
				if !gone {
					yield(nil, &agent.ModelError{Kind: agent.ErrServer, Err: fmt.Errorf("the model panicked: %v", r)})
				}
			}
		}()
		for c, err := range s.model.Stream(ctx, req) {
			reading = true
			gone = !yield(c, err)
			if reading = false; gone {
				return
			}
		}
	}
}
