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
		writeFailure(w, badBody(err))
		return
	}
	in, req, err := decodeChat(body)
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
	a := &answer{id: s.cfg.NewID(), patience: s.cfg.WriteTimeout, created: s.cfg.Now().Unix(), model: s.cfg.Name, w: w, logProbs: in.LogProbs}
	ctx := r.Context()
	if in.LogProbs {
		ctx = agent.WithTokenTrace(ctx, &agent.TokenTrace{Top: in.TopLogProbs, Token: a.token})
	}
	if in.Stream {
		a.includeUsage = in.StreamOptions != nil && in.StreamOptions.IncludeUsage
		err = s.stream(ctx, a, req)
	} else {
		err = s.collect(ctx, a, req)
	}
	s.metrics.answered(a.usage, begin, a.first, err)
	if err != nil {
		s.cfg.Logger.Warn("serve: answer failed", "id", a.id, "error", err)
	}
}

// collect answers with one object.
func (s *Server) collect(ctx context.Context, a *answer, req *agent.Request) error {
	resp, err := agent.Generate(ctx, agent.ModelFunc(s.ask), req)
	a.first = time.Now()
	if err != nil {
		writeFailure(a.w, failureOf(err))
		return err
	}
	a.usage = resp.Usage
	return a.all(a.whole(resp))
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

// item is a chunk or an error of the model's stream.
type item struct {
	chunk agent.Chunk
	err   error
}

// stream answers with server-sent events. The model is read on its own goroutine, so that a
// heartbeat can be sent while it is silent; that goroutine has ended when stream returns.
func (s *Server) stream(ctx context.Context, a *answer, req *agent.Request) error {
	ctx, cancel := context.WithCancel(ctx)
	items := make(chan item)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(items)
		for c, err := range s.ask(ctx, req) {
			select {
			case items <- item{chunk: c, err: err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	defer func() { cancel(); <-done }()
	beat := time.NewTicker(s.cfg.Heartbeat)
	defer beat.Stop()
	for {
		select {
		case it, ok := <-items:
			if !ok {
				return a.fail(&agent.ModelError{Kind: agent.ErrIncomplete, Err: errors.New("the model's answer ended without a finish")})
			}
			if it.err != nil {
				return a.fail(it.err)
			}
			if finished, err := a.chunk(it.chunk); err != nil || finished {
				return err
			}
			beat.Reset(s.cfg.Heartbeat)
		case <-beat.C:
			if err := a.raw(": still working\n\n"); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
