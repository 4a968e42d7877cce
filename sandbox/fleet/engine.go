package fleet

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Engine provides what hosts and clients share: durable work and results, leases, presence of
// hosts, and messages to one host. NewLocal makes an engine within one process; Connect makes one
// over NATS JetStream. The package fleettest contains the suite that every implementation must
// pass.
//
// All methods may be called concurrently. A method that could not reach the engine fails with an
// error that none of the Err variables match; in that case its operation may or may not have been
// carried out. Every method may be repeated after such an error.
type Engine interface {
	Queue
	Results
	Leases
	Presence
	Bus
	// Close disconnects from the engine. Durable data remains.
	Close() error
}

// Queue stores durable work, in one queue for every class of hosts.
type Queue interface {
	// Submit stores a job, which will run when a host pulls jobs of its class. Submit fails with
	// ErrDuplicate while a job with the same ID waits or runs, and with ErrQueueFull if the
	// engine's limit is reached.
	Submit(ctx context.Context, job *Job) error
	// Pull returns between 1 and most jobs of a class, waiting for the first until ctx ends. A job
	// that is neither Done nor Retried nor Extended within the engine's acknowledgement time is
	// delivered again, to any host.
	Pull(ctx context.Context, class string, most int) ([]Delivery, error)
}

// Delivery is a job assigned to one host for a time.
type Delivery struct {
	Job *Job
	// Attempt counts the job's deliveries; it is 1 for the first.
	Attempt int
	Receipt
}

// Receipt acknowledges a delivery.
type Receipt interface {
	// Extend reports that the job is still being worked on.
	Extend(ctx context.Context) error
	// Done removes the job permanently. The job's result must be stored before.
	Done(ctx context.Context) error
	// Retry returns the job, to be delivered again after a while.
	Retry(ctx context.Context, after time.Duration) error
}

// Results stores how jobs ended.
type Results interface {
	// PutResult stores the result of a job; when it returns, the result is durable. Only the first
	// result of a job counts: if there is already another one, the result first is false and
	// nothing is changed. If the same result is stored again after an error, first is true again.
	PutResult(ctx context.Context, r *Result) (first bool, err error)
	// Result returns the result of a job, or ErrNoResult.
	Result(ctx context.Context, job string) (*Result, error)
	// WatchResults yields the result of the job with the ID in the parameter job, or of all jobs if
	// job is empty. Each result is yielded once, first the existing ones and then the new ones,
	// until ctx ends. The last value yielded is the error that ended the sequence.
	WatchResults(ctx context.Context, job string) iter.Seq2[*Result, error]
}

// Lease is the right to use one thing for a time: here, a sandbox on a host.
type Lease struct {
	Key   string // name of the leased thing
	Host  string // the host of the leased thing
	Owner string // who requested it, for people
	// Epoch is greater than that of every lease that the engine granted before, for any key. The
	// guard of the leased thing refuses an epoch below the highest that it has seen, so that a
	// holder that was stopped or cut off cannot act once another one has the lease.
	Epoch uint64
	// TTL is the time that the lease lasts if it is not renewed.
	TTL time.Duration

	nonce string // distinguishes a repeated Acquire from that of another client
	rev   uint64 // the engine's version of the record
}

// Leases grants rights for a time.
type Leases interface {
	// Acquire takes a lease of want.Key for want.TTL, which engines may round up to whole seconds;
	// it fails with ErrHeld while somebody else holds it. Owner and Host are recorded.
	Acquire(ctx context.Context, want Lease) (Lease, error)
	// Renew extends a lease to its TTL from now; it fails with ErrLost if the lease has ended. The
	// returned lease must be used from then on.
	Renew(ctx context.Context, l Lease) (Lease, error)
	// Release ends a lease. If it has already ended, that is not an error.
	Release(ctx context.Context, l Lease) error
	// Current returns the current lease of key, or ErrNoLease.
	Current(ctx context.Context, key string) (Lease, error)
}

// HostStatus describes a host's state, for placement.
type HostStatus struct {
	ID        string
	Classes   []string
	Snapshots []string // snapshots that it has ready
	Slots     int      // number of jobs it can run at once
	Jobs      int      // number of jobs it runs now
	Places    int      // number of sandboxes it can lease out at once
	Leased    int      // number of sandboxes leased out now
	Waiting   int      // requests for a sandbox that wait for a place
	Draining  bool     // it accepts no new work
}

// Load returns the number of taken and requested places as a fraction of the host's places; above
// 1, requests wait.
func (s HostStatus) Load() float64 {
	if s.Places <= 0 {
		return 1
	}
	return float64(s.Leased+s.Waiting) / float64(s.Places)
}

// Presence records which hosts are available.
type Presence interface {
	// Announce registers a host for the engine's presence time.
	Announce(ctx context.Context, s HostStatus) error
	// Hosts lists the available hosts, ordered by ID.
	Hosts(ctx context.Context) ([]HostStatus, error)
}

// Bus carries messages to one host.
type Bus interface {
	// Call sends a request to a host and returns its answer; it fails with ErrNoHost if no host of
	// that ID serves. A call may have been carried out even if it fails, so it must be safe to
	// repeat requests.
	Call(ctx context.Context, host string, request []byte) ([]byte, error)
	// Serve answers the requests sent to host until stop is called. The returned function stop
	// cancels the context of running handlers and waits for them.
	Serve(host string, handle func(ctx context.Context, request []byte) []byte) (stop func(), err error)
}

// Errors that callers may test for with errors.Is.
var (
	// ErrDuplicate means that a job of that ID already waits or runs.
	ErrDuplicate = errors.New("a job of this ID is queued already")
	// ErrQueueFull means that the engine already holds the maximum number of jobs.
	ErrQueueFull = errors.New("the queue is full")
	// ErrNoResult means that a job has no result yet.
	ErrNoResult = errors.New("no result yet")
	// ErrHeld means that somebody else holds the lease.
	ErrHeld = errors.New("the lease is held by another")
	// ErrLost means that a lease has ended: it expired, was released, or somebody else holds it.
	// Work that began under the lease may have been interrupted.
	ErrLost = errors.New("the lease has ended")
	// ErrNoLease means that nobody holds the lease.
	ErrNoLease = errors.New("nobody holds the lease")
	// ErrNoHost means that no host serves requests under that name, or that none could accept the
	// request.
	ErrNoHost = errors.New("no such host is there")
	// ErrClosed means that the engine or the session was closed.
	ErrClosed = errors.New("closed")
)

// fail returns an error of this package in the form "fleet: verb object: cause".
func fail(verb, object string, err error) error {
	return fmt.Errorf("fleet: %s %s: %w", verb, object, err)
}
