package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/remote"
)

// serve is an environment server for one tenant, until ctx ends. With -tools it also runs the
// coding tools next to its sandboxes, for coder -remote.
func serve(ctx context.Context, o options) error {
	token := os.Getenv("LUTHIER_TOKEN")
	if token == "" {
		return errors.New("sandbox: -serve needs a token of at least 16 bytes in LUTHIER_TOKEN, which clients give too")
	}
	floor, err := sandbox.ParseTier(o.floor)
	if err != nil {
		return err
	}
	state := o.state
	if state == "" {
		if state, err = os.MkdirTemp("", "luthier-server-*"); err != nil {
			return err
		}
		defer os.RemoveAll(state)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	cfg := remote.Config{Dir: state, Tenants: []remote.Tenant{{Name: "user", Token: token}}, Sandbox: sandbox.Config{Floor: floor, Net: list(o.net)}, Log: log}
	if o.tools {
		cfg.Tools = luthier.ServeTools(luthier.ToolboxOptions{Logger: log})
	}
	srv, err := remote.NewServer(cfg)
	if err != nil {
		return err
	}
	defer srv.Close()
	listener, err := net.Listen("tcp", o.serve)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "sandbox: serving http://%s; use TLS or a tunnel if others can listen on the way\n", listener.Addr())
	web := &http.Server{Handler: srv, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { web.Close() })()
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
