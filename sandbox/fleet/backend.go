package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/luthier-dev/luthier/sandbox"
)

// Box is an open environment in which commands run. A [sandbox.Sandbox] is one,
// and so is a [Session] with a box on another machine.
type Box interface {
	Exec(ctx context.Context, cmd sandbox.Cmd) (*sandbox.Exit, error)
	Isolation() sandbox.Isolation
	Close() error
}

// Spec says what kind of box is asked for.
type Spec struct {
	Class    string // the kind of host
	Snapshot string // name of the starting state; empty is an empty workspace
	Tenant   string // on whose behalf; boxes of two tenants must share nothing
}

func (s Spec) validate() error {
	return errors.Join(ValidName("Spec.Class", s.Class), short("Spec.Snapshot", s.Snapshot), short("Spec.Tenant", s.Tenant))
}

// Backend opens boxes. The packages oci and microvm have further ones.
type Backend interface {
	Open(ctx context.Context, spec Spec) (Box, error)
}

// BackendFunc is a function as a Backend.
type BackendFunc func(ctx context.Context, spec Spec) (Box, error)

// Open calls f.
func (f BackendFunc) Open(ctx context.Context, spec Spec) (Box, error) { return f(ctx, spec) }

// PoolBackend opens the sandboxes of a pool. The names of snapshots are those of
// snaps and no others: what comes over the network cannot name a path of the
// host. A job without a snapshot gets that of the empty name.
func PoolBackend(pool *sandbox.Pool, snaps map[string]sandbox.Snapshot) Backend {
	return BackendFunc(func(ctx context.Context, spec Spec) (Box, error) {
		snap, ok := snaps[spec.Snapshot]
		if !ok {
			return nil, fmt.Errorf("%w: this host has no snapshot %q; add it to PoolBackend's", ErrRefused, spec.Snapshot)
		}
		return pool.Get(ctx, snap)
	})
}

// ErrRefused is wrapped by a Backend's or Runner's error to say that there is no
// use in another attempt.
var ErrRefused = errors.New("refused")

// Runner runs a job to its end. An error says that the command could not be
// run, not that it failed; the job is tried again unless the error wraps
// ErrRefused. When ctx ends the command must be killed and Runner return.
type Runner func(ctx context.Context, job *Job) (*sandbox.Exit, error)

// BoxRunner runs every job in a box of its own.
func BoxRunner(backend Backend) Runner {
	return func(ctx context.Context, job *Job) (*sandbox.Exit, error) {
		box, err := backend.Open(ctx, Spec{Class: job.Class, Snapshot: job.Snapshot, Tenant: job.Tenant})
		if err != nil {
			return nil, err
		}
		exit, err := box.Exec(ctx, job.Command.Cmd())
		err = refusal(ctx, exit, err)
		// A box that does not close is the host's trouble, not the command's.
		_ = box.Close()
		return exit, err
	}
}

// refusal marks the error of a command that no other host could run either.
func refusal(ctx context.Context, exit *sandbox.Exit, err error) error {
	if err == nil || exit != nil || ctx.Err() != nil || errors.Is(err, sandbox.ErrClosed) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

// clip bounds what a runner kept of its command's output to what travels.
func clip(exit *sandbox.Exit) *sandbox.Exit {
	if exit == nil {
		return nil
	}
	c := *exit
	c.Stdout, c.Stderr = clipOutput(c.Stdout), clipOutput(c.Stderr)
	return &c
}

func clipOutput(o sandbox.Output) sandbox.Output {
	if len(o.Head)+len(o.Tail) <= MaxOutput {
		return o
	}
	total := max(o.Total, int64(len(o.Head)+len(o.Tail)))
	end := o.Tail
	if len(end) == 0 {
		end = o.Head
	}
	return sandbox.Output{
		Head:  o.Head[:min(len(o.Head), MaxOutput/2)],
		Tail:  end[max(0, len(end)-MaxOutput/2):],
		Total: total,
	}
}
