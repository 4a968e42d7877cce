package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/sandbox"
)

// Box is an open environment in which commands run. A [sandbox.Sandbox] is a Box, and so is a
// [Session] with a box on another machine.
type Box interface {
	Exec(ctx context.Context, cmd sandbox.Cmd) (*sandbox.Exit, error)
	Isolation() sandbox.Isolation
	Close() error
}

// Spec describes the requested box.
type Spec struct {
	Class    string // the kind of host
	Snapshot string // name of the starting state; empty means an empty workspace
	Tenant   string // the tenant; boxes of two tenants must share nothing
	Priority int    `json:",omitempty"` // orders requests that wait for a place of the back end, higher first
}

// MaxPriority is the highest priority of a job or box; the lowest is its negative.
const MaxPriority = 1000

func (s Spec) validate() error {
	return errors.Join(ValidName("Spec.Class", s.Class), short("Spec.Snapshot", s.Snapshot), short("Spec.Tenant", s.Tenant), validPriority("Spec.Priority", s.Priority))
}

func validPriority(what string, p int) error {
	if p < -MaxPriority || p > MaxPriority {
		return fmt.Errorf("%s is %d, must be between %d and %d", what, p, -MaxPriority, MaxPriority)
	}
	return nil
}

// Backend opens boxes. The packages oci and microvm provide further ones.
type Backend interface {
	Open(ctx context.Context, spec Spec) (Box, error)
}

// BackendFunc makes a function a Backend.
type BackendFunc func(ctx context.Context, spec Spec) (Box, error)

// Open calls f.
func (f BackendFunc) Open(ctx context.Context, spec Spec) (Box, error) { return f(ctx, spec) }

// PoolBackend opens the sandboxes of a pool. Only the names in snaps are valid snapshots, so that a
// request from the network cannot name a path of the host. A job without a snapshot gets the
// snapshot with the empty name.
//
// Requests that wait for a place of the pool are served by priority, and within one priority in
// fair turns between tenants. This requires that the host has more slots and places than the pool
// has sandboxes: requests that the host does not accept wait in the engine, which has no fair
// turns.
func PoolBackend(pool *sandbox.Pool, snaps map[string]sandbox.Snapshot) Backend {
	return BackendFunc(func(ctx context.Context, spec Spec) (Box, error) {
		snap, ok := snaps[spec.Snapshot]
		if !ok {
			return nil, fmt.Errorf("%w: this host has no snapshot %q; add it to PoolBackend's", ErrRefused, spec.Snapshot)
		}
		sb, err := pool.Acquire(ctx, sandbox.Request{Snapshot: snap, Tenant: spec.Tenant, Priority: spec.Priority})
		if full := (*sandbox.QueueFullError)(nil); errors.As(err, &full) {
			err = fmt.Errorf("%w: %w", ErrNoHost, err) // another host may have a place
		}
		if err != nil {
			return nil, err
		}
		return sb, nil
	})
}

// ErrRefused is wrapped by a Backend's or Runner's error to report that another attempt is useless.
var ErrRefused = errors.New("refused")

// Runner runs a job to its end. An error means that the command could not be run, not that it
// failed; the job is tried again unless the error wraps ErrRefused. When ctx ends, the command must
// be killed and Runner must return.
type Runner func(ctx context.Context, job *Job) (*sandbox.Exit, error)

// BoxRunner returns a Runner that runs every job in a new box.
func BoxRunner(backend Backend) Runner {
	return func(ctx context.Context, job *Job) (*sandbox.Exit, error) {
		box, err := backend.Open(ctx, Spec{Class: job.Class, Snapshot: job.Snapshot, Tenant: job.Tenant, Priority: job.Priority})
		if err != nil {
			return nil, err
		}
		exit, err := box.Exec(ctx, job.Command.Cmd())
		err = refusal(ctx, exit, err)
		// A box that does not close is the host's problem, not the command's.
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

// clip cuts the output and denials of a result to the limits of a message.
func clip(exit *sandbox.Exit) *sandbox.Exit {
	if exit == nil {
		return nil
	}
	c := *exit
	c.Stdout, c.Stderr = clipOutput(c.Stdout), clipOutput(c.Stderr)
	c.Denials = clipDenials(c.Denials)
	c.Hint = strings.ToValidUTF8(c.Hint[:min(len(c.Hint), maxHintBytes)], "")
	return &c
}

// maxHintBytes is the most of a hint that is sent.
const maxHintBytes = 4 << 10

// clipDenials keeps the first denials that fit in maxDenialBytes. They are in order of arrival, and
// the first one is usually the cause of the others.
func clipDenials(list []sandbox.Denial) []sandbox.Denial {
	room := maxDenialBytes
	for i, d := range list {
		b, err := json.Marshal(d)
		if room -= len(b) + 1; err != nil || room < 0 {
			return list[:i]
		}
	}
	return list
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
