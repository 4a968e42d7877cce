package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

// ToolServer serves the tools of one box, for programs that have sandboxes and connections of their
// own, such as package fleet. It is an http.Handler whose requests the program passes on from the
// http.RoundTripper of [NewTools]. All requests can be repeated, and a log may be cut off anywhere:
// the client reads on. Everybody who can make a request has access.
type ToolServer struct{ s *Server }

// ToolServerConfig configures a ToolServer. All fields except Log are required.
type ToolServerConfig struct {
	// Dir is the server's own directory, which must be empty at first.
	Dir string
	// Open opens the tools for the first request. ctx ends with the server.
	Open func(ctx context.Context) (Toolbox, error)
	// Log receives what an operator should know. Nil discards it.
	Log *slog.Logger
}

// soleID is the name of the only sandbox of a ToolServer.
const soleID = "AAAAAAAAAAAAAAAAAAAAAAAAAA"

// NewToolServer makes a server. It must be closed.
func NewToolServer(cfg ToolServerConfig) (*ToolServer, error) {
	if cfg.Open == nil {
		return nil, errors.New("sandbox: open tool server: ToolServerConfig needs Open")
	}
	s, err := newServer(Config{Dir: cfg.Dir, Log: cfg.Log, Tenants: []Tenant{{Name: "sole", Token: newID()}},
		Tools: func(ctx context.Context, _ sandbox.Sandbox) (Toolbox, error) { return cfg.Open(ctx) }})
	if err != nil {
		return nil, fmt.Errorf("sandbox: open tool server: %w", err)
	}
	s.pipe = &pipeRules{over: func() {}}
	s.mux = http.NewServeMux()
	s.toolRoutes()
	a := s.accounts[0]
	b := &box{s: s, acc: a, key: a.Name + "/" + soleID, ready: make(chan struct{})}
	b.tools.ctx, b.tools.cancel = context.WithCancelCause(context.Background())
	close(b.ready)
	s.mu.Lock()
	a.sandboxes++
	s.boxes[b.key] = b
	s.mu.Unlock()
	return &ToolServer{s}, nil
}

// ServeHTTP serves one request.
func (t *ToolServer) ServeHTTP(w http.ResponseWriter, r *http.Request) { t.s.ServeHTTP(w, r) }

// Close ends all calls and closes the tools. Requests that come later fail.
func (t *ToolServer) Close() error { return t.s.Close() }

// NewTools returns the client of a [ToolServer]. rt makes its requests; paths are relative to any
// host. An error of rt means that the request may have arrived, except a *net.OpError with Op
// "dial", and is answered by another try for patience. The tools end with ctx.
func NewTools(ctx context.Context, rt http.RoundTripper, patience time.Duration) *Tools {
	c := &client{base: "http://tools", http: &http.Client{Transport: rt}, patience: patience, id: soleID}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return &Tools{c: c}
}
