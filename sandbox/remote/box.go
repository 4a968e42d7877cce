package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

// box is a sandbox on the server, and its lease.
type box struct {
	s   *Server
	acc *account
	key string

	ready chan struct{} // closed when opening has ended, one way or the other
	err   error
	sb    sandbox.Sandbox
	tree  string
	ttl   time.Duration
	lease *time.Timer

	once sync.Once
	fail error
}

// open answers a request that was made before with the same sandbox.
func (s *Server) open(a *account, r *http.Request) (any, error) {
	var q openRequest
	if err := body(r, &q); err != nil {
		return nil, err
	}
	if err := checkManifest(q.Files); err != nil {
		return nil, fmt.Errorf("%w: %w", errRequest, err)
	}
	key := a.Name + "/" + r.PathValue("id")
	s.mu.Lock()
	b := s.boxes[key]
	if b != nil {
		s.mu.Unlock()
		<-b.ready
		return b.reply()
	}
	if s.closed {
		s.mu.Unlock()
		return nil, errStopping
	}
	if err := a.take(&a.sandboxes, a.Quota.Sandboxes, "sandboxes"); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	b = &box{s: s, acc: a, key: key, ready: make(chan struct{}), ttl: s.cfg.TTL}
	if q.TTL > 0 && q.TTL < b.ttl {
		b.ttl = q.TTL
	}
	s.boxes[key] = b
	s.mu.Unlock()
	// Not the request's context: it may be cut off and asked again.
	b.err = b.open(s.ctx, q.Files, r.PathValue("id"))
	if b.err == nil {
		b.lease = time.AfterFunc(b.ttl, func() {
			s.cfg.Log.Info("lease ran out", "tenant", a.Name, "sandbox", r.PathValue("id"))
			_ = b.close()
		})
	}
	close(b.ready)
	if b.err != nil {
		_ = b.close()
	}
	return b.reply()
}

func (b *box) open(ctx context.Context, files []entry, id string) error {
	b.tree = filepath.Join(b.s.part(b.acc, dirTrees), id)
	if err := os.Mkdir(b.tree, 0o755); err != nil {
		return err
	}
	if err := b.s.stores[b.acc.Name].build(files, b.tree); err != nil {
		return err
	}
	cfg := b.s.cfg.Sandbox
	cfg.Snapshot = sandbox.SnapshotDir(b.tree)
	var err error
	b.sb, err = b.s.cfg.Open(ctx, cfg)
	return err
}

func (b *box) reply() (any, error) {
	if b.err != nil {
		return nil, b.err
	}
	return openReply{Dir: b.sb.Dir(), Isolation: b.sb.Isolation(), TTL: b.ttl}, nil
}

// close ends the sandbox and all that runs in it.
func (b *box) close() error {
	<-b.ready
	b.once.Do(func() {
		if b.lease != nil {
			b.lease.Stop()
		}
		if b.sb != nil {
			b.fail = b.sb.Close()
		}
		b.fail = errors.Join(b.fail, os.RemoveAll(b.tree))
		b.acc.give(&b.acc.sandboxes)
		b.s.mu.Lock()
		delete(b.s.boxes, b.key)
		b.s.mu.Unlock()
	})
	return b.fail
}

// box finds an open sandbox of the tenant's.
func (s *Server) box(a *account, r *http.Request) (*box, error) {
	s.mu.Lock()
	b := s.boxes[a.Name+"/"+r.PathValue("id")]
	s.mu.Unlock()
	if b == nil {
		return nil, fmt.Errorf("%w, or its lease ran out", sandbox.ErrClosed)
	}
	<-b.ready
	return b, b.err
}

func (s *Server) renew(a *account, r *http.Request) (any, error) {
	b, err := s.box(a, r)
	if err != nil {
		return nil, err
	}
	if !b.lease.Stop() {
		return nil, fmt.Errorf("%w: its lease ran out", sandbox.ErrClosed)
	}
	b.lease.Reset(b.ttl)
	return struct{}{}, nil
}

func (s *Server) release(a *account, r *http.Request) (any, error) {
	b, err := s.box(a, r)
	if errors.Is(err, sandbox.ErrClosed) {
		return struct{}{}, nil
	}
	if err != nil {
		return nil, err
	}
	return struct{}{}, b.close()
}

func (s *Server) changes(a *account, r *http.Request) (any, error) {
	b, err := s.box(a, r)
	if err != nil {
		return nil, err
	}
	d, ok := b.sb.(sandbox.Differ)
	if !ok {
		return nil, errors.New("this server's sandboxes cannot tell what changed")
	}
	return d.Changes(r.Context())
}
