package serve

import (
	"context"
	"errors"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// item is a chunk or an error of one choice.
type item struct {
	choice *choice
	chunk  agent.Chunk
	err    error
}

// stream answers with server-sent events. The model is read on goroutines, so that a heartbeat can
// be sent while it is silent; they have ended when stream returns.
func (s *Server) stream(ctx context.Context, a *answer, req *agent.Request) error {
	ctx, cancel := context.WithCancel(ctx)
	items := make(chan item)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.each(a.choices, func(c *choice) { s.feed(ctx, c, c.request(req), items) })
	}()
	defer func() { cancel(); <-done }()
	beat := time.NewTicker(s.cfg.Heartbeat)
	defer beat.Stop()
	for left := len(a.choices); left > 0; {
		select {
		case it := <-items:
			if it.err != nil {
				return a.fail(it.err)
			}
			finished, err := a.chunk(it.choice, it.chunk)
			if err != nil {
				return err
			}
			if finished {
				left--
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
	return a.end()
}

// feed sends the chunks of one choice to items. The last item is the finish or an error, unless ctx
// ends.
func (s *Server) feed(ctx context.Context, c *choice, req *agent.Request, items chan<- item) {
	send := func(it item) bool {
		it.choice = c
		select {
		case items <- it:
			return true
		case <-ctx.Done():
			return false
		}
	}
	if ctx.Err() != nil {
		return
	}
	finished := false
	for chunk, err := range s.ask(c.traced(ctx), req) {
		if finished {
			continue // let the model end by itself
		}
		if !send(item{chunk: chunk, err: err}) || err != nil {
			return
		}
		_, finished = chunk.(agent.Finish)
	}
	if !finished {
		send(item{err: &agent.ModelError{Kind: agent.ErrIncomplete, Err: errors.New("the model's answer ended without a finish")}})
	}
}
