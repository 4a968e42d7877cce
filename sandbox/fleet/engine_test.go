package fleet_test

import (
	"context"
	"testing"

	"github.com/luthier-dev/luthier/sandbox/fleet"
	"github.com/luthier-dev/luthier/sandbox/fleet/fleettest"
)

func TestLocalEngine(t *testing.T) {
	fleettest.Engine(t, func(t testing.TB) (fleet.Engine, fleet.Engine) {
		e := fleet.NewLocal(fleet.LocalConfig{AckWait: fleettest.AckWait, Presence: fleettest.Presence})
		t.Cleanup(func() { e.Close() })
		return e, e
	})
}

// embedded starts a server that ends with the test.
func embedded(t testing.TB, cfg fleet.ServerConfig) *fleet.Server {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	s, err := fleet.StartServer(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close server: %v", err)
		}
	})
	return s
}

// connect connects to a fleet until the test ends.
func connect(t testing.TB, cfg fleet.NATSConfig) fleet.Engine {
	t.Helper()
	e, err := fleet.Connect(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// Evidence: remote · The fleet's engine over NATS passes its suite
func TestNATSEngine(t *testing.T) {
	fleettest.Engine(t, func(t testing.TB) (fleet.Engine, fleet.Engine) {
		s := embedded(t, fleet.ServerConfig{NoSync: true, Listen: "127.0.0.1:0"})
		cfg := fleet.NATSConfig{Server: s, AckWait: fleettest.AckWait, Presence: fleettest.Presence}
		a := connect(t, cfg)
		cfg.Server, cfg.URL = nil, s.URL() // the other engine connects over the network
		return a, connect(t, cfg)
	})
}
