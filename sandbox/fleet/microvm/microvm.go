// Package microvm runs a fleet's commands in virtual machines: it talks to the API socket of a
// Firecracker process, or to the QMP socket of a QEMU process, and to an agent in the guest
// ([ServeGuest]).
//
// The tests cover the protocols, against servers on real sockets that check every message, with the
// agent running real commands outside of any machine. The project's tests do not boot a guest. The
// host must provide the kernel and the root file system, and start the VMM's process
// (Config.Launch).
package microvm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/fleet"
)

// Machine is a virtual machine whose VMM is already running.
type Machine interface {
	// Start boots or resumes the guest.
	Start(ctx context.Context) error
	// Dial connects to the agent in the guest.
	Dial(ctx context.Context) (net.Conn, error)
	// Stop ends the guest and its VMM.
	Stop(ctx context.Context) error
}

// Config configures how machines are made.
type Config struct {
	// Launch starts a VMM process for a box and returns its machine, for example from
	// NewFirecracker or NewQEMU.
	Launch func(ctx context.Context, spec fleet.Spec) (Machine, error)
}

// New makes a back end for a host: each box is a separate machine.
func New(cfg Config) (fleet.Backend, error) {
	if cfg.Launch == nil {
		return nil, errors.New("microvm: make back end: Config.Launch is required")
	}
	return fleet.BackendFunc(func(ctx context.Context, spec fleet.Spec) (fleet.Box, error) {
		m, err := cfg.Launch(ctx, spec)
		if err != nil {
			return nil, fmt.Errorf("microvm: launch machine: %w", err)
		}
		if err := m.Start(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("microvm: start machine: %w", err), m.Stop(context.WithoutCancel(ctx)))
		}
		return &box{m: m}, nil
	}), nil
}

type box struct {
	m    Machine
	once sync.Once
	err  error
}

func (b *box) Exec(ctx context.Context, cmd sandbox.Cmd) (*sandbox.Exit, error) {
	conn, err := b.m.Dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("microvm: reach guest: %w", err)
	}
	defer conn.Close()
	exit, err := ask(ctx, conn, cmd)
	if err != nil {
		return nil, fmt.Errorf("microvm: run command: %w", err)
	}
	exit.Isolation = b.Isolation() // do not trust the guest's own report
	return exit, nil
}

// Isolation reports that the machine provides the isolation.
func (b *box) Isolation() sandbox.Isolation {
	iso := sandbox.Isolation{Tier: sandbox.TierNamespaces, Missing: []string{"the walls are those of the machine as it was launched; they were not observed from inside"}}
	for _, w := range []string{sandbox.WallFilesystem, sandbox.WallProcesses, sandbox.WallIPC, sandbox.WallIdentity, sandbox.WallPrivileges, sandbox.WallSyscalls} {
		iso.Walls = append(iso.Walls, sandbox.Wall{Name: w, Enforced: true, Detail: "own kernel in a virtual machine"})
	}
	return iso
}

func (b *box) Close() error {
	b.once.Do(func() {
		if err := b.m.Stop(context.Background()); err != nil {
			b.err = fmt.Errorf("microvm: stop machine: %w", err)
		}
	})
	return b.err
}
