package fleet_test

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox/fleet"
)

// TestNothingIsLeft checks that nothing is left after everything that was started has been closed.
func TestNothingIsLeft(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Run("all", func(t *testing.T) { // its cleanup closes what it opened
		engines(t, func(t *testing.T, e fleet.Engine) {
			_, stop := host(t, fleet.HostConfig{Engine: e, Backend: boxes(t)})
			present(t, e, 1)
			c := fleet.NewClient(e, "test")
			if r, err := c.Run(t.Context(), job("j")); err != nil || r.Exit == nil {
				t.Errorf("%+v, %v", r, err)
			}
			s := openSession(t, e, fleet.Request{})
			if _, err := s.Exec(t.Context(), sh("true")); err != nil {
				t.Error(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, _ = s.Exec(ctx, sh("sleep 1000"))
			s.Close()
			openSession(t, e, fleet.Request{}) // a session that the host ends
			stop()
		})
	})
	tier.NoLeaks(t, before)
}

func TestServerRemovesItsDirectory(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s, err := fleet.StartServer(t.Context(), fleet.ServerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if s.URL() != "" {
		t.Errorf("it listens at %s without being asked to", s.URL())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if s, err := fleet.StartServer(t.Context(), fleet.ServerConfig{Listen: "0.0.0.0:0"}); err == nil {
		s.Close()
		t.Error("a server listens for everyone without a token")
	}
}

// TestServerRestart checks that stored data is still there after the server has been restarted.
func TestServerRestart(t *testing.T) {
	dir := t.TempDir()
	open := func() (*fleet.Server, fleet.Engine) {
		s, err := fleet.StartServer(t.Context(), fleet.ServerConfig{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		e, err := fleet.Connect(t.Context(), fleet.NATSConfig{Server: s})
		if err != nil {
			t.Fatal(err)
		}
		return s, e
	}
	s, e := open()
	if err := e.Submit(t.Context(), job("j1")); err != nil {
		t.Fatal(err)
	}
	if _, err := e.PutResult(t.Context(), &fleet.Result{Job: "j0", Host: "h", Failure: "f"}); err != nil {
		t.Fatal(err)
	}
	before, err := e.Acquire(t.Context(), fleet.Lease{Key: "k", Host: "h", TTL: 1e9 * 60})
	if err != nil {
		t.Fatal(err)
	}
	e.Close()
	s.Close()
	s, e = open()
	defer s.Close()
	defer e.Close()
	if r, err := e.Result(t.Context(), "j0"); err != nil || r.Failure != "f" {
		t.Errorf("result: %+v, %v", r, err)
	}
	if ds, err := e.Pull(t.Context(), "c", 1); err != nil || ds[0].Job.ID != "j1" {
		t.Errorf("job: %v, %v", ds, err)
	}
	if cur, err := e.Current(t.Context(), "k"); err != nil || cur.Epoch != before.Epoch {
		t.Errorf("lease: %+v, %v", cur, err)
	}
	after, err := e.Acquire(t.Context(), fleet.Lease{Key: "k2", Host: "h", TTL: 1e9 * 60})
	if err != nil || after.Epoch <= before.Epoch {
		t.Errorf("epoch %d after %d, %v", after.Epoch, before.Epoch, err)
	}
}
