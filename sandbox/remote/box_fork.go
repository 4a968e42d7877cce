package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/luthier-dev/luthier/sandbox"
)

// fork opens a sandbox that continues from the state of another. The fork has its own lease and
// counts against the quota. A repeated request is answered with the same sandbox.
func (s *Server) fork(a *account, r *http.Request) (any, error) {
	b, f, err := boxThatCan[sandbox.Forker](s, a, r, "be forked")
	if err != nil {
		return nil, err
	}
	if s.pipe != nil {
		return nil, sandbox.ErrInPlace
	}
	return s.enroll(a, r.PathValue("fork"), b.ttl, func(ctx context.Context, out *box) error {
		// Share before forking: the original may end at any time.
		out.tree = b.tree.share()
		var err error
		out.sb, err = f.Fork(ctx)
		return err
	})
}

// restores are numbered by the client, so that a restore whose answer was lost is not repeated
// after later changes.
type restores struct {
	mu   sync.Mutex
	last int64
	err  error
}

func (s *Server) restore(a *account, r *http.Request) (any, error) {
	to, err := number(r, "to")
	if err != nil {
		return nil, err
	}
	n, err := number(r, "n")
	if err != nil {
		return nil, err
	}
	b, d, err := boxThatCan[sandbox.Restorer](s, a, r, "go back")
	if err != nil {
		return nil, err
	}
	did := &b.restores
	did.mu.Lock()
	defer did.mu.Unlock()
	switch {
	case n < did.last:
		return nil, fmt.Errorf("%w: a later restore was asked for already", errRequest)
	case n > did.last:
		did.last, did.err = n, d.Restore(s.ctx, sandbox.Point(to))
	}
	return struct{}{}, did.err
}

// adopted records the forks that a sandbox has adopted, by name, so that a repeated request whose
// answer was lost gets the same answer.
type adopted struct {
	mu    sync.Mutex
	names map[string]bool
}

// adopt makes a sandbox take over the state of a fork, which ends, or on request its changes. A
// repeated request after a
// failure tries again and gets the current result.
func (s *Server) adopt(a *account, r *http.Request) (any, error) {
	b, d, err := boxThatCan[sandbox.Adopter](s, a, r, "go on from a fork")
	if err != nil {
		return nil, err
	}
	id := r.PathValue("fork")
	b.adopted.mu.Lock()
	defer b.adopted.mu.Unlock()
	if b.adopted.names[id] {
		return struct{}{}, nil
	}
	s.mu.Lock()
	f := s.boxes[a.Name+"/"+id]
	s.mu.Unlock()
	if f == nil {
		return nil, fmt.Errorf("the fork: %w, or its lease ran out", sandbox.ErrClosed)
	}
	if <-f.ready; f.err != nil {
		return nil, f.err
	}
	take := d.Adopt
	if r.URL.Query().Get("merge") != "" {
		m, ok := sandbox.As[sandbox.Merger](b.sb)
		if !ok {
			return nil, fmt.Errorf("merge: the server's sandboxes cannot: %w", errors.ErrUnsupported)
		}
		take = m.Merge
	}
	// Do not use the request's context: the request may be cut off and repeated.
	if err := take(s.ctx, f.sb); err != nil {
		return nil, err
	}
	if b.adopted.names == nil {
		b.adopted.names = map[string]bool{}
	}
	b.adopted.names[id] = true
	if err := f.close(); err != nil && !errors.Is(err, sandbox.ErrClosed) {
		s.cfg.Log.Warn("adopted fork did not close", "tenant", a.Name, "sandbox", id, "error", err)
	}
	return struct{}{}, nil
}
