package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

// boxTools holds the toolbox of a sandbox. It is opened for the first request that needs it.
type boxTools struct {
	ctx    context.Context // ends when the sandbox is closed, with ErrClosed
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	box    Toolbox
	closed bool
	users  sync.WaitGroup
}

// enter returns the toolbox. The caller must call leave when it has used it.
func (t *boxTools) enter(b *box) (box Toolbox, leave func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return nil, nil, sandbox.ErrClosed
	case b.s.cfg.Tools == nil:
		return nil, nil, ErrNoTools
	}
	if t.box == nil {
		// Do not use a request's context: the toolbox stays.
		if t.box, err = b.s.cfg.Tools(t.ctx, b.sb); err != nil {
			t.box = nil
			return nil, nil, fmt.Errorf("open tools: %w", err)
		}
	}
	t.users.Add(1)
	return t.box, sync.OnceFunc(t.users.Done), nil
}

// close ends all calls and the toolbox. Calls have a time of grace to return.
func (t *boxTools) close(grace time.Duration) error {
	t.cancel(sandbox.ErrClosed) // an opening too, which holds the lock
	t.mu.Lock()
	t.closed = true
	box := t.box
	t.mu.Unlock()
	if box == nil {
		return nil
	}
	left := make(chan struct{})
	go func() {
		t.users.Wait()
		close(left)
	}()
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-left:
	case <-late.C: // the commands of the call end with the sandbox
	}
	if err := box.Close(); err != nil && !errors.Is(err, sandbox.ErrClosed) {
		return fmt.Errorf("close tools: %w", err)
	}
	return nil
}

// toolsOf finds the toolbox of a request's sandbox, and a context that ends with the request and
// with the sandbox.
func (s *Server) toolsOf(a *account, r *http.Request) (ctx context.Context, box Toolbox, leave func(), err error) {
	b, err := s.box(a, r)
	if err != nil {
		return nil, nil, nil, err
	}
	box, out, err := b.tools.enter(b)
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(b.tools.ctx, cancel)
	return ctx, box, func() { stop(); cancel(); out() }, nil
}

// ask lets f use the toolbox of a request's sandbox as the interface T.
func ask[T, V any](s *Server, a *account, r *http.Request, f func(context.Context, T) (V, error)) (v V, err error) {
	ctx, box, leave, err := s.toolsOf(a, r)
	if err != nil {
		return v, err
	}
	defer leave()
	defer func() {
		if p := recover(); p != nil {
			s.cfg.Log.Error("tools panicked", "tenant", a.Name, "panic", p)
			err = fmt.Errorf("the tools panicked: %v", p)
		}
	}()
	t, ok := box.(T)
	if !ok {
		return v, ErrNoTools
	}
	return f(ctx, t)
}

// serveTools sends the specs, unless the client has them.
func (s *Server) serveTools(w http.ResponseWriter, r *http.Request) {
	a, err := s.enter(r)
	if err != nil {
		fail(w, err)
		return
	}
	defer s.work.Done()
	out, err := ask(s, a, r, specsOf)
	if err != nil {
		fail(w, err)
		return
	}
	tag := `"` + out.Hash + `"`
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out)
}

func specsOf(ctx context.Context, box Toolbox) (*Specs, error) {
	list, err := box.Specs(ctx)
	if err != nil {
		return nil, err
	}
	if !json.Valid(list) {
		return nil, errors.New("the specs of the tools are not JSON")
	}
	out := &Specs{Tools: list}
	_, out.Prepares = box.(Preparer)
	_, out.Checkpoints = box.(Checkpointer)
	_, out.Undoes = box.(Undoer)
	_, out.Instructs = box.(Instructor)
	out.Hash = out.hash()
	return out, nil
}

// hash returns the hash of everything except Hash.
func (s *Specs) hash() string {
	h := sha256.New()
	fmt.Fprintf(h, "%t %t %t %t\n", s.Prepares, s.Checkpoints, s.Undoes, s.Instructs)
	h.Write(s.Tools)
	return hex.EncodeToString(h.Sum(nil))
}

func (s *Server) prepare(a *account, r *http.Request) (any, error) {
	var q ToolRequest
	if err := body(r, &q); err != nil {
		return nil, err
	}
	return ask(s, a, r, func(ctx context.Context, box Toolbox) (*Prepared, error) { return prepare(ctx, box, q) })
}

// prepare returns what a call would do, with the digest.
func prepare(ctx context.Context, box Toolbox, q ToolRequest) (*Prepared, error) {
	t, ok := box.(Preparer)
	if !ok {
		return nil, fmt.Errorf("prepare %s: %w", q.Name, ErrNoTools)
	}
	p, err := t.Prepare(ctx, q)
	if err != nil {
		return nil, asToolError(err)
	}
	if n := len(p.Effects) + len(p.Description); n > maxPrepared {
		return nil, fmt.Errorf("prepare %s: the description has %d bytes, more than %d", q.Name, n, maxPrepared)
	}
	p.Digest = digest(q, p)
	return &p, nil
}

func (s *Server) checkpoints(a *account, r *http.Request) (any, error) {
	return ask(s, a, r, func(ctx context.Context, l CheckpointLister) (json.RawMessage, error) { return l.Checkpoints(ctx) })
}

func (s *Server) instructions(a *account, r *http.Request) (any, error) {
	return ask(s, a, r, func(ctx context.Context, i Instructor) (json.RawMessage, error) {
		return i.Instructions(ctx, r.URL.Query().Get("dir"))
	})
}
