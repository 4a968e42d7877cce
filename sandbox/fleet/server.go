package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// ServerConfig configures an embedded NATS server.
type ServerConfig struct {
	// Dir is the directory for jobs, leases and results. Empty means a temporary directory that
	// Close removes.
	Dir string
	// Listen is the address for hosts on other machines, such as "10.0.0.1:4222" or "127.0.0.1:0".
	// Empty means that only this process can connect.
	Listen string
	// Token is the token that clients must present. It is required for listening on any address
	// except loopback. Whoever has the token can run commands on every host of the fleet.
	Token string
	// Configure changes the server's options before it starts, for TLS, accounts
	// or a cluster.
	Configure func(*server.Options)
	// NoSync lets the system decide when stored data reaches the disk. Jobs and results then
	// survive a crash of the process, but not of the machine.
	NoSync bool
	// Logger receives the server's warnings and errors; nil means none.
	Logger *slog.Logger
}

// Server is a NATS server with JetStream inside this process.
type Server struct {
	srv   *server.Server
	token string
	dir   string // removed on Close
}

// StartServer starts an embedded server and returns when it is ready, after a few milliseconds. It
// handles no signals, and logs only to ServerConfig.Logger.
func StartServer(ctx context.Context, cfg ServerConfig) (*Server, error) {
	s := &Server{token: cfg.Token}
	opts, err := s.options(cfg)
	if err != nil {
		return nil, fail("start", "NATS server", err)
	}
	if s.srv, err = server.NewServer(opts); err != nil {
		return nil, errors.Join(fail("start", "NATS server", err), s.removeDir())
	}
	if cfg.Logger != nil {
		s.srv.SetLoggerV2(natsLog{cfg.Logger}, false, false, false)
	}
	s.srv.Start()
	wait := 30 * time.Second
	if end, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(end))
	}
	if !s.srv.ReadyForConnections(wait) || s.srv.JetStreamConfig() == nil {
		return nil, errors.Join(fail("start", "NATS server", fmt.Errorf("it was not ready within %v; is %s writable and the address %q free?", wait.Round(time.Second), opts.StoreDir, cfg.Listen)), s.Close())
	}
	return s, nil
}

func (s *Server) options(cfg ServerConfig) (*server.Options, error) {
	opts := &server.Options{
		ServerName: "luthier-fleet", JetStream: true, StoreDir: cfg.Dir,
		NoSigs: true, NoLog: true, DontListen: true, Authorization: cfg.Token,
		MaxPayload: MaxMessage + 4<<10, SyncAlways: !cfg.NoSync,
		// A host with a silently broken link is dropped after a few seconds.
		PingInterval: 2 * time.Second, MaxPingsOut: 2,
	}
	if cfg.Listen != "" {
		addr, err := net.ResolveTCPAddr("tcp", cfg.Listen)
		if err != nil {
			return nil, err
		}
		if cfg.Token == "" && cfg.Configure == nil && !addr.IP.IsLoopback() {
			return nil, fmt.Errorf("it would listen on %v for everyone; set ServerConfig.Token, or accounts by Configure", addr)
		}
		opts.DontListen, opts.Host, opts.Port = false, addr.IP.String(), addr.Port
		if addr.Port == 0 {
			opts.Port = server.RANDOM_PORT
		}
	}
	if cfg.Dir == "" {
		dir, err := os.MkdirTemp("", "luthier-fleet-")
		if err != nil {
			return nil, err
		}
		s.dir, opts.StoreDir = dir, dir
	}
	if cfg.Configure != nil {
		cfg.Configure(opts)
	}
	return opts, nil
}

// URL returns the address for hosts on other machines, without the token; it is empty if the server
// does not listen.
func (s *Server) URL() string {
	if s.srv.Addr() == nil {
		return ""
	}
	return s.srv.ClientURL()
}

// clientOptions returns options for connecting without the network.
func (s *Server) clientOptions() []nats.Option {
	opts := []nats.Option{nats.InProcessServer(s.srv)}
	if s.token != "" {
		opts = append(opts, nats.Token(s.token))
	}
	return opts
}

// Close stops the server. Engines connected to it fail from then on.
func (s *Server) Close() error {
	s.srv.Shutdown()
	s.srv.WaitForShutdown()
	return s.removeDir()
}

func (s *Server) removeDir() error {
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// natsLog writes the server's log to a slog.Logger.
type natsLog struct{ l *slog.Logger }

func (n natsLog) Noticef(string, ...any)    {}
func (n natsLog) Debugf(string, ...any)     {}
func (n natsLog) Tracef(string, ...any)     {}
func (n natsLog) Warnf(f string, v ...any)  { n.l.Warn("NATS server", "text", fmt.Sprintf(f, v...)) }
func (n natsLog) Errorf(f string, v ...any) { n.l.Error("NATS server", "text", fmt.Sprintf(f, v...)) }
func (n natsLog) Fatalf(f string, v ...any) { n.l.Error("NATS server", "text", fmt.Sprintf(f, v...)) }
