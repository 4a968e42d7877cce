package fleet

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Engine is what hosts and clients share: durable work and results, leases, who
// is there, and messages to one host. NewLocal is the engine of one process,
// Connect one over NATS JetStream. The package fleettest has the suite that
// every implementation must pass.
//
// All methods may be called concurrently. A method that could not reach the
// engine fails with an error that none of the Err variables match, and what it
// was to do may or may not have been done; every method may be repeated then.
type Engine interface {
	Queue
	Results
	Leases
	Presence
	Bus
	// Close lets go of the engine. What is durable stays.
	Close() error
}

// Queue is durable work, one queue for every class of hosts.
type Queue interface {
	// Submit stores a job; it will run when a host pulls its class. It fails with
	// ErrDuplicate while a job of the same ID waits or runs, and with ErrQueueFull
	// when the engine's bound is reached.
	Submit(ctx context.Context, job *Job) error
	// Pull returns between 1 and most jobs of a class, waiting for the first
	// until ctx ends. A job that is neither Done nor Retried nor Extended within
	// the engine's acknowledgement time is delivered again, to anyone.
	Pull(ctx context.Context, class string, most int) ([]Delivery, error)
}

// Delivery is a job handed to one host for a time.
type Delivery struct {
	Job *Job
	// Attempt counts the job's deliveries; it is 1 for the first.
	Attempt int
	Receipt
}

// Receipt answers for a delivery.
type Receipt interface {
	// Extend says that the job is still being worked on.
	Extend(ctx context.Context) error
	// Done removes the job for good. The result must be stored before.
	Done(ctx context.Context) error
	// Retry gives the job back, to be delivered again after a while.
	Retry(ctx context.Context, after time.Duration) error
}

// Results keeps how jobs ended.
type Results interface {
	// PutResult stores the result of a job, durably when it returns. The first
	// result of a job counts: first is false, and nothing is changed, if there is
	// one already. Repeating the same result after an error says first again.
	PutResult(ctx context.Context, r *Result) (first bool, err error)
	// Result returns the result of a job, or ErrNoResult.
	Result(ctx context.Context, job string) (*Result, error)
	// WatchResults yields the result of a job, or of all jobs if none is named:
	// each once, those that are there already and then those to come, until ctx
	// ends. The error that ends it is the last thing yielded.
	WatchResults(ctx context.Context, job string) iter.Seq2[*Result, error]
}

// Lease is the right to use one thing for a time: here, a sandbox on a host.
type Lease struct {
	Key   string // what is leased
	Host  string // where it is
	Owner string // who asked for it, for people
	// Epoch is greater than that of every lease the engine granted before, of
	// whatever key. Whoever guards the leased thing refuses an epoch below the
	// highest it has seen, so that a holder that was stopped or cut off cannot
	// act once another holds the lease.
	Epoch uint64
	// TTL is how long the lease lasts without being renewed.
	TTL time.Duration

	nonce string // tells a repeated Acquire from another's
	rev   uint64 // the engine's version of the record
}

// Leases grants rights for a time.
type Leases interface {
	// Acquire takes a lease of want.Key for want.TTL, which engines may round up
	// to whole seconds; it fails with ErrHeld while another holds it. Owner and
	// Host are recorded.
	Acquire(ctx context.Context, want Lease) (Lease, error)
	// Renew makes a lease last for its TTL from now on; it fails with ErrLost if
	// it has ended. The lease that it returns is to be used from then on.
	Renew(ctx context.Context, l Lease) (Lease, error)
	// Release ends a lease. It is no error if it has ended already.
	Release(ctx context.Context, l Lease) error
	// Current returns the lease that holds key now, or ErrNoLease.
	Current(ctx context.Context, key string) (Lease, error)
}

// HostStatus is what a host says of itself, for placement.
type HostStatus struct {
	ID        string
	Classes   []string
	Snapshots []string // those it has ready
	Slots     int      // jobs it runs at once
	Jobs      int      // jobs it runs now
	Places    int      // sandboxes it leases out at once
	Leased    int      // sandboxes leased out now
	Waiting   int      // requests for a sandbox that wait for a place
	Draining  bool     // it takes nothing new
}

// Load is the part of a host's places that is taken or asked for; above 1,
// requests wait.
func (s HostStatus) Load() float64 {
	if s.Places <= 0 {
		return 1
	}
	return float64(s.Leased+s.Waiting) / float64(s.Places)
}

// Presence tells which hosts are there.
type Presence interface {
	// Announce makes a host known for the engine's presence time.
	Announce(ctx context.Context, s HostStatus) error
	// Hosts lists the hosts that are there, in the order of their IDs.
	Hosts(ctx context.Context) ([]HostStatus, error)
}

// Bus carries messages to one host.
type Bus interface {
	// Call sends a request to a host and returns its answer; ErrNoHost if none
	// of that ID serves. A call may be carried out although it failed, so
	// requests must bear repetition.
	Call(ctx context.Context, host string, request []byte) ([]byte, error)
	// Serve answers the requests sent to host until stop is called; stop waits
	// for the handlers that run, whose context it ends.
	Serve(host string, handle func(ctx context.Context, request []byte) []byte) (stop func(), err error)
}

// Errors that callers may test for with errors.Is.
var (
	// ErrDuplicate means that a job of that ID waits or runs already.
	ErrDuplicate = errors.New("a job of this ID is queued already")
	// ErrQueueFull means that the engine holds as many jobs as it may.
	ErrQueueFull = errors.New("the queue is full")
	// ErrNoResult means that a job has no result yet.
	ErrNoResult = errors.New("no result yet")
	// ErrHeld means that another holds the lease.
	ErrHeld = errors.New("the lease is held by another")
	// ErrLost means that a lease ended: it expired, was released, or another
	// holds it. What the holder began under it may have been cut short.
	ErrLost = errors.New("the lease has ended")
	// ErrNoLease means that nobody holds the lease.
	ErrNoLease = errors.New("nobody holds the lease")
	// ErrNoHost means that no host serves requests under that name, or that none
	// could take the request.
	ErrNoHost = errors.New("no such host is there")
	// ErrClosed means that the engine or the session was closed.
	ErrClosed = errors.New("closed")
)

// fail words an error of this package: fleet: verb object: cause.
func fail(verb, object string, err error) error {
	return fmt.Errorf("fleet: %s %s: %w", verb, object, err)
}
