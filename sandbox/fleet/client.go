package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	mrand "math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

// Client submits jobs to a fleet and leases sandboxes on its hosts.
type Client struct {
	engine Engine
	owner  string
}

// NewClient makes a client of a fleet. The owner is recorded in the client's leases, for people to
// read.
func NewClient(engine Engine, owner string) *Client { return &Client{engine, owner} }

// Submit stores a job. It repeats until the job is stored or ctx ends. Submitting a job that is
// already stored is not an error. An empty Job.ID is filled in.
func (c *Client) Submit(ctx context.Context, job *Job) error {
	if job.ID == "" {
		job.ID = strings.ToLower(rand.Text())
	}
	if _, err := EncodeJob(job); err != nil {
		return fail("submit job", job.ID, err)
	}
	for n := 0; ; n++ {
		err := c.engine.Submit(ctx, job)
		switch {
		case err == nil, errors.Is(err, ErrDuplicate):
			return nil
		case errors.Is(err, ErrQueueFull), errors.Is(err, ErrTooLarge), errors.Is(err, ErrClosed):
			return err
		}
		if !backoff(ctx, n) {
			return err
		}
	}
}

// Run submits a job and waits for its result. If a job with the same ID was run before, its result
// is returned and the job is not run again.
func (c *Client) Run(ctx context.Context, job *Job) (*Result, error) {
	if job.ID != "" {
		if r, err := c.engine.Result(ctx, job.ID); err == nil {
			return r, nil
		}
	}
	if err := c.Submit(ctx, job); err != nil {
		return nil, err
	}
	return c.Wait(ctx, job.ID)
}

// Wait waits for the result of a job and returns it.
func (c *Client) Wait(ctx context.Context, job string) (*Result, error) {
	if err := ValidName("job", job); err != nil {
		return nil, fail("wait for", "job", err)
	}
	for n := 0; ; n++ {
		var last error
		for r, err := range c.engine.WatchResults(ctx, job) {
			if err == nil {
				return r, nil
			}
			last = err
		}
		if errors.Is(last, ErrClosed) || errors.Is(last, ErrMalformed) || !backoff(ctx, n) {
			return nil, last
		}
	}
}

// Results yields the results of all jobs of the fleet, existing and future ones, until ctx ends.
func (c *Client) Results(ctx context.Context) iter.Seq2[*Result, error] {
	return c.engine.WatchResults(ctx, "")
}

// Request is a request for a sandbox.
type Request struct {
	Spec
	// Key names the sandbox; empty means a random name. Opening the same key while it is leased
	// fails with ErrHeld.
	Key string
	// TTL limits how long the sandbox outlives a silent client; default 30 s, at least 1 s.
	TTL time.Duration
}

// Open leases a sandbox on the host that Place chooses and opens it there. If that host is full or
// unavailable, Open tries another one. The session keeps its lease until Close.
func (c *Client) Open(ctx context.Context, req Request) (*Session, error) {
	if req.Key == "" {
		req.Key = strings.ToLower(rand.Text())
	}
	req.TTL = max(orDefault(req.TTL, 30*time.Second), time.Second)
	if err := errors.Join(ValidName("Request.Key", req.Key), req.Spec.validate()); err != nil {
		return nil, fail("open sandbox", req.Key, err)
	}
	hosts, err := c.engine.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	r := mrand.New(mrand.NewPCG(mrand.Uint64(), mrand.Uint64()))
	var tried []error
	for {
		h, err := Place(hosts, req.Spec, r)
		if err != nil {
			return nil, fail("open sandbox", req.Key, errors.Join(append(tried, err)...))
		}
		s, err := c.openOn(ctx, h.ID, req)
		if err == nil {
			return s, nil
		}
		if errors.Is(err, ErrHeld) || errors.Is(err, ErrRefused) || ctx.Err() != nil {
			return nil, fail("open sandbox", req.Key, err)
		}
		tried = append(tried, fmt.Errorf("host %s: %w", h.ID, err))
		hosts = slices.DeleteFunc(hosts, func(x HostStatus) bool { return x.ID == h.ID })
	}
}

func (c *Client) openOn(ctx context.Context, host string, req Request) (*Session, error) {
	lease, err := c.engine.Acquire(ctx, Lease{Key: req.Key, Host: host, Owner: c.owner, TTL: req.TTL})
	if err != nil {
		return nil, err
	}
	s := newSession(c.engine, lease)
	a, err := s.ask(ctx, &hostRequest{Op: opOpen, Spec: req.Spec}, unreachable)
	if err == nil {
		err = a.err()
	}
	if err != nil {
		_ = s.Close() // otherwise the lease would expire by itself
		return nil, err
	}
	s.dir = a.Dir
	if a.Isolation != nil {
		s.isolation = *a.Isolation
	}
	return s, nil
}

// unreachable limits how long Open waits for a host that does not answer before it tries another.
const unreachable = 10 * time.Second

// CommandOf returns the command in the form that can be sent. It fails for output callbacks, for
// spill files, and for input that is kept open or too long.
func CommandOf(cmd sandbox.Cmd) (*Command, error) {
	if cmd.OnOutput != nil || cmd.Spill != nil || cmd.SpillStderr != nil || cmd.OpenStdin {
		return nil, errors.New("Cmd.OnOutput, Spill, SpillStderr and OpenStdin need a sandbox on this machine")
	}
	c := &Command{Args: cmd.Args, Dir: cmd.Dir, Env: cmd.Env, Timeout: cmd.Timeout, Grace: cmd.Grace,
		MergeStderr: cmd.MergeStderr, Limit: max(cmd.Limit, 0)}
	if cmd.Stdin != nil {
		b, err := readAtMost(cmd.Stdin, MaxMessage/2)
		if err != nil {
			return nil, fmt.Errorf("Cmd.Stdin: %w", err)
		}
		c.Stdin = b
	}
	return c, c.validate()
}
