package remote

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

// output holds exported data for its client to fetch: a diff, a patch, or changes with the contents
// of their files. It is made once, kept in files that can be read from any byte, and outlives its
// sandbox until the client drops it.
type output struct {
	s      *Server
	acc    *account
	key    string
	dir    string
	made   time.Time
	cancel context.CancelFunc

	ready   chan struct{} // closed once the fields below are set
	err     error
	reply   outputReply
	at      map[string]string // location of each content, by hash
	counted int64             // bytes counted against the quota
}

// maxOutputs bounds the outputs that a tenant has at once.
const maxOutputs = 64

// makeOutput makes an output. It answers a repeated request with the same output.
func (s *Server) makeOutput(a *account, r *http.Request) (any, error) {
	var q outputRequest
	if err := body(r, &q); err != nil {
		return nil, err
	}
	key := a.Name + "/" + r.PathValue("out")
	s.mu.Lock()
	o := s.outs[key]
	s.mu.Unlock()
	if o == nil {
		b, err := s.box(a, r)
		if err != nil {
			return nil, err
		}
		var mine bool
		var ctx context.Context
		if o, ctx, mine, err = s.claimOutput(a, key, r.PathValue("out")); err != nil {
			return nil, err
		}
		if mine {
			o.err = o.make(ctx, b, q)
			close(o.ready)
			if o.err != nil {
				_ = s.discard(o)
			}
		}
	}
	<-o.ready
	return o.reply, o.err
}

// claimOutput returns the output of that name. If mine is set, the caller must make it, within ctx.
func (s *Server) claimOutput(a *account, key, id string) (o *output, ctx context.Context, mine bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o = s.outs[key]; o != nil {
		return o, nil, false, nil
	}
	if s.closed {
		return nil, nil, false, errStopping
	}
	if err := a.take(&a.outputs, maxOutputs, "outputs"); err != nil {
		return nil, nil, false, err
	}
	o = &output{s: s, acc: a, key: key, dir: filepath.Join(s.part(a, dirOuts), id), made: time.Now(), ready: make(chan struct{}), at: map[string]string{}}
	// Do not use the request's context: the request may be cut off and repeated.
	ctx, o.cancel = context.WithCancel(s.ctx)
	s.outs[key] = o
	return o, ctx, true, nil
}

// discard ends an output, even while it is being made.
func (s *Server) discard(o *output) error {
	s.mu.Lock()
	mine := s.outs[o.key] == o
	if mine {
		delete(s.outs, o.key)
	}
	s.mu.Unlock()
	if !mine {
		return nil
	}
	o.cancel()
	<-o.ready
	err := removeTree(o.dir)
	_ = o.acc.keep(-o.counted)
	o.acc.give(&o.acc.outputs)
	return err
}

func (o *output) make(ctx context.Context, b *box, q outputRequest) error {
	e, err := can[sandbox.Exporter](b, "be exported")
	if err == nil {
		err = os.Mkdir(o.dir, 0o700)
	}
	if err != nil {
		return err
	}
	switch q.Kind {
	case outputDiff:
		return o.text(func(w io.Writer) error { return e.Diff(ctx, q.Since, w) })
	case outputPatch:
		return o.text(func(w io.Writer) error {
			r, err := e.Export(ctx, sandbox.ExportOptions{Patch: w, Allow: allowAll})
			if r == nil || errors.Is(err, ErrQuota) {
				return err
			}
			o.reply.Review, o.reply.Error = reviewToWire(r), toWire(err)
			return nil
		})
	case outputTree:
		return o.tree(ctx, b, e)
	}
	return fmt.Errorf("%w: kind of output", errRequest)
}

// allowAll leaves the decision to the client, which has the review and neither applies nor passes
// on anything that its caller does not allow. Here nothing leaves the server's own directory.
func allowAll(sandbox.Finding) bool { return true }

// text stores what write writes.
func (o *output) text(write func(io.Writer) error) error {
	f, err := os.Create(filepath.Join(o.dir, "text"))
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	w := &counted{o, io.MultiWriter(f, h)}
	if err := write(w); err != nil {
		return err
	}
	o.reply.Hash, o.reply.Size = sum(h), o.counted
	o.at[o.reply.Hash] = f.Name()
	return f.Close()
}

// counted writes within the tenant's quota.
type counted struct {
	o *output
	w io.Writer
}

func (c *counted) Write(b []byte) (int, error) {
	if err := c.o.acc.keep(int64(len(b))); err != nil {
		return 0, err
	}
	c.o.counted += int64(len(b))
	return c.w.Write(b)
}

// tree applies the changes to a directory that contains only those parts of the snapshot that
// changed, and lists the result.
func (o *output) tree(ctx context.Context, b *box, e sandbox.Exporter) error {
	d, err := can[sandbox.Differ](b, "tell what changed")
	if err != nil {
		return err
	}
	b.gate.Lock() // what is listed must be what is applied
	defer b.gate.Unlock()
	for range 4 { // calls of tools do not wait for the gate
		changes, err := d.Changes(ctx)
		if err != nil {
			return err
		}
		r, err := o.apply(ctx, b, e, changes)
		if err == nil && slices.Equal(changes, r.Changes) {
			o.reply.Review = reviewToWire(r)
			return o.list(r.Changes)
		}
		if err != nil && !errors.Is(err, sandbox.ErrConflict) {
			return err
		}
		if err := errors.Join(removeTree(o.dir), os.Mkdir(o.dir, 0o700)); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: tools change the workspace meanwhile", sandbox.ErrBusy)
}

// apply applies the changes to a directory with the parts of the snapshot that they are about.
func (o *output) apply(ctx context.Context, b *box, e sandbox.Exporter, changes []sandbox.Change) (*sandbox.Review, error) {
	if b.tree == nil {
		return nil, sandbox.ErrInPlace
	}
	if err := stage(b.tree.dir, o.dir, changes); err != nil {
		return nil, fmt.Errorf("stage export: %w", err)
	}
	return e.Export(ctx, sandbox.ExportOptions{Dir: o.dir, Allow: allowAll})
}

// list describes the paths that exist after the changes, and counts their contents.
func (o *output) list(changes []sandbox.Change) error {
	all, err := scan(o.dir)
	if err != nil {
		return err
	}
	there := make(map[string]entry, len(all))
	for _, e := range all {
		there[e.Path] = e
	}
	for _, c := range changes {
		e, ok := there[c.Path]
		if !ok || c.Kind == sandbox.Deleted {
			continue
		}
		if _, seen := o.at[e.Hash]; e.Kind == 'f' && !seen {
			if err := o.acc.keep(e.Size); err != nil {
				return err
			}
			o.counted += e.Size
			o.at[e.Hash] = filepath.Join(o.dir, filepath.FromSlash(e.Path))
		}
		o.reply.Files = append(o.reply.Files, e)
	}
	return nil
}

// find returns an output of the tenant.
func (s *Server) find(a *account, r *http.Request) *output {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outs[a.Name+"/"+r.PathValue("out")]
}

func (s *Server) dropOutput(a *account, r *http.Request) (any, error) {
	if o := s.find(a, r); o != nil {
		return struct{}{}, s.discard(o)
	}
	return struct{}{}, nil
}

// serveOutput serves one content of an output, or a range of it.
func (s *Server) serveOutput(w http.ResponseWriter, r *http.Request) {
	a, err := s.enter(r)
	if err != nil {
		fail(w, err)
		return
	}
	defer s.work.Done()
	f, err := s.openOutput(a, r)
	if err != nil {
		fail(w, err)
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, f)
}

func (s *Server) openOutput(a *account, r *http.Request) (*os.File, error) {
	o := s.find(a, r)
	if o == nil {
		return nil, fmt.Errorf("output: %w", ErrLost)
	}
	<-o.ready
	path, ok := o.at[r.PathValue("hash")]
	if !ok || o.err != nil {
		return nil, fmt.Errorf("content of an output: %w", ErrLost)
	}
	return os.Open(path)
}
