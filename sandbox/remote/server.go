package remote

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

// Config configures a server. Dir and Tenants are required.
type Config struct {
	// Dir is the server's own directory: contents, results and workspaces. One
	// server uses it at a time.
	Dir string
	// Tenants lists the users of the server.
	Tenants []Tenant
	// Sandbox is the template of every sandbox. Dir and Snapshot must be empty.
	Sandbox sandbox.Config
	// Open opens a sandbox. Nil means sandbox.Local.
	Open func(ctx context.Context, cfg sandbox.Config) (sandbox.Sandbox, error)
	// Tools opens the tools of a sandbox, for the first client that needs them. ctx ends when the
	// sandbox is closed. Nil means that there are none.
	Tools func(ctx context.Context, sb sandbox.Sandbox) (Toolbox, error)
	// TTL is the maximum lease time, and the default. Default 2 min.
	TTL time.Duration
	// Keep is the time for which results wait for their acknowledgement, and contents for their
	// next use. Default 24 h.
	Keep time.Duration
	// Log receives what an operator should know. Nil discards it.
	Log *slog.Logger
}

// Server is an environment server, an http.Handler.
type Server struct {
	cfg      Config
	accounts []*account
	mux      *http.ServeMux
	pipe     *pipeRules      // of a server over a pipe; nil for others
	grace    time.Duration   // callGrace
	ctx      context.Context // ends when the server is closed
	cancel   context.CancelFunc
	work     sync.WaitGroup

	mu     sync.Mutex
	closed bool
	boxes  map[string]*box
	runs   map[string]*run
	calls  map[string]*call
	stores map[string]*store
	outs   map[string]*output
}

// The parts of a server's directory.
const (
	dirBlobs = "blobs"
	dirRuns  = "runs"
	dirCalls = "calls"
	dirTrees = "trees"
	dirOuts  = "outputs"
)

// NewServer opens a server over its directory. Results that an earlier server left are still
// served; commands that ran under it have ended with ErrLost. The server must be closed.
func NewServer(cfg Config) (*Server, error) {
	s, err := newServer(cfg)
	if err != nil {
		return nil, fmt.Errorf("sandbox: open remote server: %w", err)
	}
	return s, nil
}

func newServer(cfg Config) (*Server, error) {
	if cfg.Dir == "" || len(cfg.Tenants) == 0 {
		return nil, errors.New("Config needs Dir and Tenants")
	}
	if cfg.Sandbox.Dir != "" || cfg.Sandbox.Snapshot != (sandbox.Snapshot{}) {
		return nil, errors.New("Config.Sandbox must name neither Dir nor Snapshot; clients send the workspace")
	}
	if cfg.Open == nil {
		cfg.Open = sandbox.Local
	}
	if cfg.TTL == 0 {
		cfg.TTL = 2 * time.Minute
	}
	if cfg.Keep == 0 {
		cfg.Keep = 24 * time.Hour
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{cfg: cfg, grace: callGrace, boxes: map[string]*box{}, runs: map[string]*run{}, calls: map[string]*call{}, stores: map[string]*store{}, outs: map[string]*output{}}
	names := map[string]bool{}
	for _, t := range cfg.Tenants {
		if err := t.check(); err != nil {
			return nil, err
		}
		if names[t.Name] {
			return nil, fmt.Errorf("tenant %q is there twice", t.Name)
		}
		names[t.Name] = true
		t.Quota = t.Quota.normalize()
		s.accounts = append(s.accounts, &account{Tenant: t, token: sha256.Sum256([]byte(t.Token))})
	}
	for _, of := range []string{dirTrees, dirOuts} { // of an earlier server's sandboxes
		if err := removeTree(filepath.Join(cfg.Dir, of)); err != nil {
			return nil, err
		}
	}
	for _, a := range s.accounts {
		if err := s.recover(a); err != nil {
			return nil, err
		}
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.routes()
	s.work.Go(s.janitor)
	return s, nil
}

// part returns a tenant's own directory below one of the server's.
func (s *Server) part(a *account, name string) string {
	sum := sha256.Sum256([]byte(a.Name))
	return filepath.Join(s.cfg.Dir, name, fmt.Sprintf("%x", sum[:12]))
}

// recover takes over the data that an earlier server left for a tenant.
func (s *Server) recover(a *account) error {
	st, err := openStore(s.part(a, dirBlobs), a)
	if err != nil {
		return err
	}
	s.stores[a.Name] = st
	for _, of := range []string{dirTrees, dirOuts} {
		if err := os.MkdirAll(s.part(a, of), 0o700); err != nil {
			return err
		}
	}
	err = recoverJobs(s, s.runs, a, dirRuns, func(j *job) (*run, func(byte, []byte)) {
		return &run{job: j}, func(byte, []byte) {}
	})
	if err != nil {
		return err
	}
	return recoverJobs(s, s.calls, a, dirCalls, func(j *job) (*call, func(byte, []byte)) {
		c := &call{job: j, store: st}
		return c, c.recall
	})
}

// handle registers a request with a JSON answer.
func (s *Server) handle(pattern string, f func(a *account, r *http.Request) (any, error)) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		a, err := s.enter(r)
		if err != nil {
			fail(w, err)
			return
		}
		defer s.work.Done()
		v, err := f(a, r)
		if err != nil {
			fail(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	})
}

func (s *Server) routes() {
	s.mux = http.NewServeMux()
	s.handle("POST /v1/missing", s.missing)
	s.handle("PUT /v1/blobs/{hash}", s.putBlob)
	s.handle("PUT /v1/sandboxes/{id}", s.open)
	s.handle("POST /v1/sandboxes/{id}/lease", s.renew)
	s.handle("DELETE /v1/sandboxes/{id}", s.release)
	s.handle("GET /v1/sandboxes/{id}/changes", s.changes)
	s.handle("GET /v1/sandboxes/{id}/review", s.review)
	s.handle("PUT /v1/sandboxes/{id}/forks/{fork}", s.fork)
	s.handle("POST /v1/sandboxes/{id}/adopt/{fork}", s.adopt)
	s.handle("POST /v1/sandboxes/{id}/restore", s.restore)
	s.handle("PUT /v1/sandboxes/{id}/outputs/{out}", s.makeOutput)
	s.handle("DELETE /v1/outputs/{out}", s.dropOutput)
	s.handle("PUT /v1/sandboxes/{id}/commands/{run}", s.start)
	s.handle("POST /v1/commands/{run}/stdin", s.stdin)
	s.handle("POST /v1/commands/{run}/signal", s.signal)
	s.handle("POST /v1/commands/{run}/kill", s.kill)
	s.handle("DELETE /v1/commands/{run}", s.acknowledge)
	s.mux.HandleFunc("GET /v1/outputs/{out}/{hash}", s.serveOutput)
	s.mux.HandleFunc("GET /v1/commands/{run}/log", func(w http.ResponseWriter, r *http.Request) {
		s.serveLog(w, r, func(a *account) (*job, error) { return jobOf(find(s, s.runs, a, r.PathValue("run"))) })
	})
	s.toolRoutes()
}

// toolRoutes registers the requests about tools.
func (s *Server) toolRoutes() {
	s.handle("GET /v1/sandboxes/{id}/checkpoints", s.checkpoints)
	s.handle("GET /v1/sandboxes/{id}/instructions", s.instructions)
	s.handle("POST /v1/sandboxes/{id}/prepare", s.prepare)
	s.handle("POST /v1/calls/{call}/answers/{n}", s.answer)
	s.handle("POST /v1/calls/{call}/cancel", s.cancelCall)
	s.handle("DELETE /v1/calls/{call}", s.acknowledgeCall)
	s.mux.HandleFunc("GET /v1/sandboxes/{id}/tools", s.serveTools)
	s.mux.HandleFunc("PUT /v1/sandboxes/{id}/calls/{call}", s.serveCall)
	s.mux.HandleFunc("PUT /v1/sandboxes/{id}/checkpoints/{call}", s.serveCall)
	s.mux.HandleFunc("GET /v1/calls/{call}/artifacts/{hash}", s.serveArtifact)
	s.mux.HandleFunc("GET /v1/calls/{call}/log", func(w http.ResponseWriter, r *http.Request) {
		s.serveLog(w, r, func(a *account) (*job, error) { return jobOf(s.wantCall(a, r)) })
	})
}

// ServeHTTP serves the protocol that Open uses.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// enter authenticates a request and adds it to those that Close waits for.
func (s *Server) enter(r *http.Request) (*account, error) {
	a, err := s.who(r)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"id", "run", "call", "fork", "out"} {
		if v := r.PathValue(name); v != "" && !validID(v) {
			return nil, fmt.Errorf("%w: %s", errRequest, name)
		}
	}
	s.settle(a, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errStopping
	}
	s.work.Add(1)
	return a, nil
}

// settle acknowledges the calls that a request lists in its header.
func (s *Server) settle(a *account, r *http.Request) {
	ids := strings.Split(r.Header.Get(doneHeader), ",")
	for _, id := range ids[:min(len(ids), maxDone)] {
		if validID(id) && errors.Is(acknowledge(s, s.calls, a, id), errRuns) {
			if c, err := find(s, s.calls, a, id); err == nil {
				c.drop()
				_ = acknowledge(s, s.calls, a, id) // it may have ended meanwhile
			}
		}
	}
}

var (
	errRequest  = errors.New("malformed request")
	errStopping = errors.New("server is stopping")
)

// fail answers with an error that the client can decode.
func fail(w http.ResponseWriter, err error) {
	status := http.StatusUnprocessableEntity
	switch {
	case errors.Is(err, ErrDenied):
		status = http.StatusUnauthorized
	case errors.Is(err, errRequest):
		status = http.StatusBadRequest
	case errors.Is(err, ErrQuota):
		status = http.StatusTooManyRequests
	case errors.Is(err, errStopping):
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(toWire(err))
}

func body(r *http.Request, v any) error {
	if err := decode(r.Body, v); err != nil {
		return fmt.Errorf("%w: %w", errRequest, err)
	}
	return nil
}

func number(r *http.Request, name string) (int64, error) {
	n, err := strconv.ParseInt(r.URL.Query().Get(name), 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%w: %s", errRequest, name)
	}
	return n, nil
}

func (s *Server) missing(a *account, r *http.Request) (any, error) {
	var hashes []string
	if err := body(r, &hashes); err != nil {
		return nil, err
	}
	out := []string{}
	for _, h := range hashes {
		if !validHash(h) {
			return nil, fmt.Errorf("%w: hash", errRequest)
		}
		if !s.stores[a.Name].has(h) {
			out = append(out, h)
		}
	}
	return out, nil
}

func (s *Server) putBlob(a *account, r *http.Request) (any, error) {
	h := r.PathValue("hash")
	if !validHash(h) || r.ContentLength < 0 {
		return nil, fmt.Errorf("%w: hash or length", errRequest)
	}
	return struct{}{}, s.stores[a.Name].put(h, r.Body, r.ContentLength)
}

// serveLog streams the log of a command or call from a byte on.
func (s *Server) serveLog(w http.ResponseWriter, req *http.Request, find func(*account) (*job, error)) {
	a, err := s.enter(req)
	if err != nil {
		fail(w, err)
		return
	}
	defer s.work.Done()
	j, err := find(a)
	if err == nil {
		err = s.follow(w, req, j.log)
	}
	if err != nil {
		fail(w, err)
	}
}

// janitor drops contents and results that nobody has used for Config.Keep.
func (s *Server) janitor() {
	t := time.NewTicker(max(min(s.cfg.Keep/4, 10*time.Minute), 10*time.Millisecond))
	defer t.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-t.C:
		}
		before := time.Now().Add(-s.cfg.Keep)
		for _, st := range s.stores {
			st.collect(before)
		}
		s.mu.Lock()
		runs, calls := overdue(s.runs, before), overdue(s.calls, before)
		var stale []*output
		for _, o := range s.outs {
			if o.made.Before(before) {
				stale = append(stale, o)
			}
		}
		s.mu.Unlock()
		for _, r := range runs {
			forget(s, s.runs, r)
		}
		for _, c := range calls {
			forget(s, s.calls, c)
		}
		for _, o := range stale {
			_ = s.discard(o)
		}
	}
}

// Close ends every sandbox and request. Results stay in the directory.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	boxes := make([]*box, 0, len(s.boxes))
	for _, b := range s.boxes {
		boxes = append(boxes, b)
	}
	s.mu.Unlock()
	s.cancel()
	var err error
	for _, b := range boxes {
		err = errors.Join(err, b.close())
	}
	s.work.Wait()
	s.mu.Lock()
	outs := slices.Collect(maps.Values(s.outs))
	s.mu.Unlock()
	for _, o := range outs {
		err = errors.Join(err, s.discard(o))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.runs {
		err = errors.Join(err, r.log.close())
	}
	for _, c := range s.calls {
		err = errors.Join(err, c.log.close())
	}
	return err
}

var _ io.Closer = (*Server)(nil)
