package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

// PipeConfig configures ServePipe. Dir is required.
type PipeConfig struct {
	// Dir is the workspace, a directory of this machine. Commands and tools change it in place.
	Dir string
	// Sandbox is the template of the sandbox over it. Dir and Snapshot must be empty.
	Sandbox sandbox.Config
	// Open opens the sandbox. Nil means sandbox.Local.
	Open func(ctx context.Context, cfg sandbox.Config) (sandbox.Sandbox, error)
	// Tools opens the tools; see [Config].
	Tools func(ctx context.Context, sb sandbox.Sandbox) (Toolbox, error)
	// State is where logs and artifacts are kept while it serves. It is made below the directory
	// for temporary files if it is empty, and removed at the end.
	State string
	// TTL is the time without any sign of the client after which everything ends, in case the pipe
	// of a client that has gone is never closed. Default 15 min.
	TTL time.Duration
	// Log receives what an operator should know. Nil discards it.
	Log *slog.Logger
}

// ServePipe serves one client over a pipe, such as standard input and output: the far side of
// [DialCommand]. The client gets one sandbox, over a directory in place, and no other. ServePipe
// returns when the client has closed the sandbox, the pipe or its input ended, or ctx ended. Then
// everything that was started is killed, and the pipe is closed. Nothing else may write to it.
func ServePipe(ctx context.Context, pipe io.ReadWriteCloser, cfg PipeConfig) error {
	conn := newPipeConn(pipe)
	defer conn.Close()
	if err := servePipe(ctx, conn, cfg); err != nil {
		return fmt.Errorf("sandbox: serve pipe: %w", err)
	}
	return nil
}

// Stdio returns standard input and output as a pipe for [ServePipe]. The program must print nothing
// to standard output then; standard error is free.
func Stdio() io.ReadWriteCloser { return stdio{} }

type stdio struct{}

func (stdio) Read(b []byte) (int, error)  { return os.Stdin.Read(b) }
func (stdio) Write(b []byte) (int, error) { return os.Stdout.Write(b) }
func (stdio) Close() error                { return errors.Join(os.Stdin.Close(), os.Stdout.Close()) }

func servePipe(ctx context.Context, conn *pipeConn, cfg PipeConfig) (err error) {
	if cfg.Dir == "" {
		return errors.New("PipeConfig needs Dir")
	}
	if cfg.State == "" {
		if cfg.State, err = os.MkdirTemp("", "luthier-toolhost-*"); err != nil {
			return fmt.Errorf("%w; name a directory that can be written in PipeConfig.State", err)
		}
	}
	defer func() { err = errors.Join(err, removeTree(cfg.State)) }()
	if cfg.TTL == 0 {
		cfg.TTL = 15 * time.Minute
	}
	// Whoever has the pipe has access. Nobody needs the token, which the server requires.
	s, err := newServer(Config{Dir: cfg.State, Sandbox: cfg.Sandbox, Open: cfg.Open, Tools: cfg.Tools, TTL: cfg.TTL, Log: cfg.Log,
		Tenants: []Tenant{{Name: "pipe", Token: newID(), Quota: Quota{Sandboxes: 1}}}})
	if err != nil {
		return err
	}
	over := make(chan struct{})
	s.pipe = &pipeRules{dir: cfg.Dir, over: sync.OnceFunc(func() { close(over) })}
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, err := io.WriteString(conn, "\n"+pipeHello+pipeVersion+"\n"); err != nil {
		return err
	}
	h := &http.Server{Handler: s, Protocols: onlyHTTP2(), HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 10_000},
		ErrorLog: slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelDebug)}
	defer h.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	go func() {
		select {
		case <-over: // the answer is still to be sent
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			_ = h.Shutdown(ctx)
			conn.Close()
		case <-conn.ended:
		}
	}()
	if err := h.Serve(&oneConn{conn: conn}); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		return err
	}
	<-conn.ended
	return context.Cause(ctx)
}

// pipeRules holds how a server over a pipe differs from others.
type pipeRules struct {
	dir  string // the only workspace, in place
	over func() // called when the sandbox was closed
}

// oneConn is a listener for one connection.
type oneConn struct {
	conn *pipeConn
	used bool
}

// Accept returns the connection, and then waits for its end.
func (l *oneConn) Accept() (net.Conn, error) {
	if !l.used {
		l.used = true
		return l.conn, nil
	}
	<-l.conn.ended
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return pipeAddr{} }
