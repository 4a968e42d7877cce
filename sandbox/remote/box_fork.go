package remote

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/luthier-dev/luthier/sandbox"
)

// fork opens a sandbox that goes on from where another is. It has a lease and a
// place in the quota of its own, and answers a request that was made before with
// the same sandbox.
func (s *Server) fork(a *account, r *http.Request) (any, error) {
	b, f, err := boxThatCan[sandbox.Forker](s, a, r, "be forked")
	if err != nil {
		return nil, err
	}
	return s.enroll(a, r.PathValue("fork"), b.ttl, func(ctx context.Context, out *box) error {
		// Before the fork: the original may end at any time.
		out.tree = b.tree.share()
		var err error
		out.sb, err = f.Fork(ctx)
		return err
	})
}

// restores are numbered by the client, so that one whose answer was lost is not
// done again over what came after it.
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
