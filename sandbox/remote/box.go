package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

// box is a sandbox on the server with its lease.
type box struct {
	s   *Server
	acc *account
	key string

	ready chan struct{} // closed when opening has ended, successfully or not
	err   error
	sb    sandbox.Sandbox
	tree  *tree
	tools boxTools
	ttl   time.Duration
	lease *time.Timer

	gate     sync.RWMutex // held for reading while a command starts, for writing while none may start
	restores restores
	adopted  adopted

	once sync.Once
	fail error
}

// open opens a sandbox. It answers a repeated request with the same sandbox.
func (s *Server) open(a *account, r *http.Request) (any, error) {
	var q openRequest
	if err := body(r, &q); err != nil {
		return nil, err
	}
	if err := checkManifest(q.Files); err != nil {
		return nil, fmt.Errorf("%w: %w", errRequest, err)
	}
	ttl := s.cfg.TTL
	if q.TTL > 0 && q.TTL < ttl {
		ttl = q.TTL
	}
	id := r.PathValue("id")
	return s.enroll(a, id, ttl, func(ctx context.Context, b *box) error { return b.open(ctx, q.Files, id) })
}

// enroll makes the tenant's sandbox of that name by calling fill, or finds the one that an earlier
// request made.
func (s *Server) enroll(a *account, id string, ttl time.Duration, fill func(context.Context, *box) error) (any, error) {
	key := a.Name + "/" + id
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
	b = &box{s: s, acc: a, key: key, ready: make(chan struct{}), ttl: ttl}
	b.tools.ctx, b.tools.cancel = context.WithCancelCause(context.Background()) // ended by close
	s.boxes[key] = b
	s.mu.Unlock()
	// Do not use the request's context: the request may be cut off and repeated.
	b.err = fill(s.ctx, b)
	if b.err == nil {
		armed := make(chan struct{})
		b.lease = time.AfterFunc(b.ttl, func() {
			<-armed
			s.cfg.Log.Info("lease ran out", "tenant", a.Name, "sandbox", id)
			_ = b.close()
		})
		close(armed)
	}
	close(b.ready)
	if b.err != nil {
		_ = b.close()
	}
	return b.reply()
}

func (b *box) open(ctx context.Context, files []entry, id string) error {
	var err error
	if b.s.pipe != nil {
		return b.openInPlace(ctx, files)
	}
	if b.tree, err = plant(filepath.Join(b.s.part(b.acc, dirTrees), id)); err != nil {
		return err
	}
	if err := b.s.stores[b.acc.Name].build(files, b.tree.dir); err != nil {
		return err
	}
	cfg := b.s.cfg.Sandbox
	cfg.Snapshot = sandbox.SnapshotDir(b.tree.dir)
	b.sb, err = b.s.cfg.Open(ctx, cfg)
	return err
}

// openInPlace opens the only sandbox of a server over a pipe.
func (b *box) openInPlace(ctx context.Context, files []entry) error {
	if len(files) > 0 {
		return fmt.Errorf("%w: the workspace is the far side's; send no files", errRequest)
	}
	cfg := b.s.cfg.Sandbox
	cfg.Dir = b.s.pipe.dir
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

// close ends the sandbox and everything that runs in it.
func (b *box) close() error {
	<-b.ready
	b.once.Do(func() {
		if b.lease != nil {
			b.lease.Stop()
		}
		b.fail = b.tools.close(b.s.grace)
		if b.sb != nil {
			b.fail = errors.Join(b.fail, b.sb.Close())
		}
		b.fail = errors.Join(b.fail, b.tree.release())
		b.acc.give(&b.acc.sandboxes)
		b.s.mu.Lock()
		delete(b.s.boxes, b.key)
		b.s.mu.Unlock()
		if b.s.pipe != nil && b.err == nil {
			b.s.pipe.over()
		}
	})
	return b.fail
}

// box finds an open sandbox of the tenant.
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
	since, err := point(r)
	if err != nil {
		return nil, err
	}
	b, d, err := boxThatCan[sandbox.Differ](s, a, r, "tell what changed")
	if err != nil {
		return nil, err
	}
	var list []sandbox.Change
	if full, ok := sandbox.As[sandbox.Adopter](b.sb); ok {
		list, err = full.ChangesSince(r.Context(), since)
	} else if since == sandbox.AtSnapshot {
		list, err = d.Changes(r.Context())
	} else {
		err = errSince
	}
	return changesToWire(list), err
}

func (s *Server) review(a *account, r *http.Request) (any, error) {
	since, err := point(r)
	if err != nil {
		return nil, err
	}
	b, d, err := boxThatCan[sandbox.Reviewer](s, a, r, "be reviewed")
	if err != nil {
		return nil, err
	}
	var rev *sandbox.Review
	if full, ok := sandbox.As[sandbox.Adopter](b.sb); ok {
		rev, err = full.ReviewSince(r.Context(), since)
	} else if since == sandbox.AtSnapshot {
		rev, err = d.Review(r.Context())
	} else {
		err = errSince
	}
	return reviewToWire(rev), err
}

// errSince is the error for sandboxes of other kinds.
var errSince = fmt.Errorf("this server's sandboxes cannot tell what changed since a fork: %w", errors.ErrUnsupported)

// point returns the point that a request refers to; the default is the snapshot.
func point(r *http.Request) (sandbox.Point, error) {
	if r.URL.Query().Get("since") == "" {
		return sandbox.AtSnapshot, nil
	}
	n, err := number(r, "since")
	if p := sandbox.Point(n); err == nil && p != sandbox.AtSnapshot && p != sandbox.AtFork {
		err = fmt.Errorf("%w: since", errRequest)
	}
	return sandbox.Point(n), err
}

// boxThatCan returns the box that r names, and its sandbox converted by can.
func boxThatCan[T any](s *Server, a *account, r *http.Request, what string) (b *box, v T, err error) {
	if b, err = s.box(a, r); err == nil {
		v, err = can[T](b, what)
	}
	return b, v, err
}

// can returns the box's sandbox as one of the optional interfaces.
func can[T any](b *box, what string) (T, error) {
	v, ok := sandbox.As[T](b.sb)
	if !ok {
		return v, fmt.Errorf("this server's sandboxes cannot %s: %w", what, errors.ErrUnsupported)
	}
	return v, nil
}
