package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/remote"
)

// Session is a leased sandbox on another machine. All methods may be called
// concurrently.
type Session struct {
	engine    Engine
	dir       string
	isolation sandbox.Isolation

	ctx  context.Context // ends with the lease; its cause is the reason
	end  context.CancelCauseFunc
	keep sync.WaitGroup
	once sync.Once

	tools *remote.Tools

	mu    sync.Mutex
	lease Lease
	next  uint64          // number of the next command
	had   uint64          // all outcomes below it have arrived
	got   map[uint64]bool // arrived outcomes at or above had
}

func newSession(e Engine, l Lease) *Session {
	s := &Session{engine: e, lease: l, next: 1, had: 1, got: map[uint64]bool{}}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	s.tools = remote.NewTools(s.ctx, toolTrip{s}, unreachable)
	s.keep.Go(s.renew)
	return s
}

// Lease returns the session's lease.
func (s *Session) Lease() Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease
}

// Dir returns the workspace's path as commands see it.
func (s *Session) Dir() string { return s.dir }

// Isolation reports what the host enforces on every command.
func (s *Session) Isolation() sandbox.Isolation { return s.isolation }

// Lost is closed when the lease has ended. The content of the sandbox is then gone.
func (s *Session) Lost() <-chan struct{} { return s.ctx.Done() }

// renew keeps the lease. If renewing does not succeed in time, the lease counts as lost, as in the
// engine.
func (s *Session) renew() {
	ttl := s.lease.TTL
	renewed := time.Now()
	for {
		select {
		case <-time.After(ttl / 3):
		case <-s.ctx.Done():
			return
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(s.ctx, ttl/3)
		l, err := s.engine.Renew(ctx, s.Lease())
		cancel()
		switch {
		case err == nil:
			renewed = began
			s.mu.Lock()
			s.lease = l
			s.mu.Unlock()
		case errors.Is(err, ErrLost):
			s.end(err)
			return
		case time.Since(renewed) > ttl:
			s.end(fmt.Errorf("%w: it could not be renewed for %v: %w", ErrLost, ttl, err))
			return
		}
	}
}

// Exec runs a command in the sandbox. While the host is unreachable, Exec waits as long as ctx and
// the lease last. The command is run only once, however often its answer is lost. After ErrLost, it
// is unknown whether the command ran.
func (s *Session) Exec(ctx context.Context, cmd sandbox.Cmd) (*sandbox.Exit, error) {
	c, err := CommandOf(cmd)
	if err != nil {
		return nil, fail("run command on", s.lease.Host, err)
	}
	number := s.number()
	defer s.arrived(number)
	a, err := s.ask(ctx, &hostRequest{Op: opExec, Number: number, Command: c}, 0)
	if err != nil && ctx.Err() != nil && s.ctx.Err() == nil {
		return s.cancel(ctx, number, c, err)
	}
	if err == nil {
		err = a.err()
	}
	if err != nil {
		return nil, fail("run command on", s.lease.Host, err)
	}
	return a.Exit.exit(), nil
}

// number returns a number for a command.
func (s *Session) number() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	return s.next - 1
}

// cancel ends a command whose context ended. It returns how the command ended, if the host can be
// reached.
func (s *Session) cancel(ctx context.Context, number uint64, c *Command, cause error) (*sandbox.Exit, error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), c.Grace+unreachable)
	defer stop()
	cause = fail("run command on", s.lease.Host, cause)
	if _, err := s.ask(ctx, &hostRequest{Op: opCancel, Number: number}, 0); err != nil {
		return nil, cause
	}
	a, err := s.ask(ctx, &hostRequest{Op: opExec, Number: number, Command: c}, 0)
	if err != nil || a.Exit == nil {
		return nil, cause
	}
	return a.Exit.exit(), cause
}

// arrived records that the host no longer needs to remember a command.
func (s *Session) arrived(number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got[number] = true
	for s.got[s.had] {
		delete(s.got, s.had)
		s.had++
	}
}

// ask repeats a request until it is answered, until ctx or the lease ends, or, if patience is not
// 0, until the host has not answered for the duration patience.
func (s *Session) ask(ctx context.Context, r *hostRequest, patience time.Duration) (*hostAnswer, error) {
	if s.ctx.Err() != nil {
		return nil, context.Cause(s.ctx)
	}
	ctx, stop := merge(ctx, s.ctx)
	defer stop()
	heard := time.Now()
	for n := 0; ; n++ {
		s.mu.Lock()
		r.Key, r.Epoch, r.Had, r.Hold = s.lease.Key, s.lease.Epoch, s.had, 2*time.Second
		host := s.lease.Host
		s.mu.Unlock()
		b, err := encode(r)
		if err != nil {
			return nil, err
		}
		try, cancel := context.WithTimeout(ctx, maxHold+r.Hold)
		b, lastErr := s.engine.Call(try, host, b)
		cancel()
		if lastErr == nil {
			a, err := decodeAnswer(b)
			switch {
			case err != nil:
				return nil, err
			case a.Code == codePending:
				heard, n = time.Now(), 0
			case a.Code == codeLater:
				lastErr = a.err()
			default:
				return a, nil
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case lastErr == nil: // pending
		case errors.Is(lastErr, ErrNoHost) && (r.Op == opOpen || r.Op == opClose), errors.Is(lastErr, ErrTooLarge), errors.Is(lastErr, ErrClosed):
			return nil, lastErr
		case patience > 0 && time.Since(heard) > patience:
			return nil, lastErr
		case !backoff(ctx, n):
			return nil, context.Cause(ctx)
		}
	}
}

// merge returns a context that ends with the first of two contexts, with its cause.
func merge(ctx, other context.Context) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(other, func() { end(context.Cause(other)) })
	return ctx, func() { stop(); end(nil) }
}

// Close ends the sandbox and releases the lease. If the host is unreachable, the host ends the
// sandbox when the lease expires.
func (s *Session) Close() error {
	var err error
	s.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), unreachable/2)
		defer cancel()
		if s.ctx.Err() == nil {
			_, _ = s.ask(ctx, &hostRequest{Op: opClose}, unreachable/4)
		}
		s.end(fail("use session of", s.lease.Key, ErrClosed))
		s.keep.Wait()
		err = s.engine.Release(ctx, s.Lease())
	})
	return err
}

// readAtMost reads r to its end. If r has more than n bytes, it fails.
func readAtMost(r io.Reader, n int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, n+1))
	if err == nil && int64(len(b)) > n {
		err = fmt.Errorf("%w: more than %d bytes", ErrTooLarge, n)
	}
	return b, err
}
