package fleet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/fleet"
)

// roleEnv makes the test binary take one role of a test in a separate process.
const roleEnv = "LUTHIER_FLEET_ROLE"

func runRole(role string) int {
	if role != "host" {
		fmt.Fprintln(os.Stderr, "no such role: "+role)
		return 2
	}
	if err := hostRole(os.Getenv("FLEET_ID"), os.Getenv("FLEET_ADDR"), os.Getenv("FLEET_URL"), os.Getenv("FLEET_TOKEN")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// hostRole runs a host until its standard input ends; then it prints the host's stats.
func hostRole(id, addr, url, token string) error {
	if err := setUpLink(addr); err != nil {
		return err
	}
	start, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var e fleet.Engine
	var err error
	for {
		e, err = fleet.Connect(start, fleet.NATSConfig{URL: url, AckWait: 3 * time.Second, Presence: 3 * time.Second, Options: []nats.Option{nats.Token(token)}})
		if err == nil || start.Err() != nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	defer e.Close()
	h, err := fleet.NewHost(fleet.HostConfig{ID: id, Engine: e, Classes: []string{"c", id}, Slots: 4, Heartbeat: 300 * time.Millisecond,
		Run: func(ctx context.Context, j *fleet.Job) (*sandbox.Exit, error) {
			select { // do the work
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
			}
			return says(ctx, j)
		},
		Backend: fleet.BackendFunc(func(ctx context.Context, _ fleet.Spec) (fleet.Box, error) {
			dir, err := os.MkdirTemp("", "fleet-test-box-")
			if err != nil {
				return nil, err
			}
			return sandbox.Local(ctx, sandbox.Config{Dir: dir, Floor: sandbox.TierNone, Ceiling: sandbox.TierNone})
		}),
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); stop() }()
	if err := h.Run(ctx); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(h.Stats())
}
