package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/luthier-dev/luthier/sandbox/fleet/internal/fair"
)

// open starts the session of a lease, or finds the existing one. It looks up the lease in the
// engine, since it must not rely on the client's claim.
func (h *Host) open(ctx context.Context, r *hostRequest) (*hostSession, error) {
	if s := h.session(r.Key); s != nil && s.epoch == r.Epoch {
		return s, nil
	}
	before := time.Now()
	lease, err := h.cfg.Engine.Current(ctx, r.Key)
	if errors.Is(err, ErrNoLease) || err == nil && (lease.Epoch != r.Epoch || lease.Host != h.cfg.ID) {
		return nil, ErrLost
	}
	if err != nil {
		return nil, fmt.Errorf("%w: host %s: %w", errLater, h.cfg.ID, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining || h.ctx.Err() != nil {
		return nil, fmt.Errorf("%w: host %s is about to stop", ErrNoHost, h.cfg.ID)
	}
	if old := h.sessions[r.Key]; old != nil {
		switch {
		case old.epoch == r.Epoch:
			return old, nil
		case old.epoch > r.Epoch:
			return nil, ErrLost
		}
		h.drop(old)
	}
	s := &hostSession{key: r.Key, epoch: r.Epoch, ttl: lease.TTL, verified: before,
		ready: make(chan struct{}), commands: map[uint64]*hostCommand{}, opener: h.cfg.Tools, log: h.cfg.Logger}
	s.ctx, s.end = context.WithCancel(h.ctx)
	h.sessions[r.Key] = s
	h.closing.Go(func() { h.fill(s, r.Spec) })
	return s, nil
}

// errLater means that a lease could not be looked up because the engine was unreachable.
var errLater = errors.New("the lease cannot be looked up")

// fill opens the session's box as soon as there is a place for it, and releases the place when the
// session has ended.
func (h *Host) fill(s *hostSession, spec Spec) {
	s.err = h.gate.Enter(s.ctx, spec.Tenant)
	if s.err != nil {
		if errors.Is(s.err, fair.ErrFull) {
			s.err = fmt.Errorf("%w: host %s: %w", ErrNoHost, h.cfg.ID, s.err)
		}
		close(s.ready)
		h.remove(s)
		return
	}
	defer h.gate.Leave()
	s.box, s.err = h.cfg.Backend.Open(s.ctx, spec)
	close(s.ready)
	if s.err != nil {
		h.remove(s)
		return
	}
	h.stats.opened.Add(1)
	<-s.ctx.Done()
	if err := s.close(); err != nil {
		h.cfg.Logger.Warn("box of a lease could not be closed cleanly", "host", h.cfg.ID, "lease", s.key, "error", err)
	}
}

func (h *Host) session(key string) *hostSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[key]
}

// remove ends a session.
func (h *Host) remove(s *hostSession) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(s)
}

// drop is like remove, but requires that the caller holds the lock.
func (h *Host) drop(s *hostSession) {
	if h.sessions[s.key] == s {
		delete(h.sessions, s.key)
	}
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.end()
}

// fence returns the session to which a request belongs, if the request's epoch is that of a lease
// that is still valid. It is called before every command.
func (h *Host) fence(ctx context.Context, r *hostRequest) (*hostSession, error) {
	s := h.session(r.Key)
	if s == nil || s.epoch != r.Epoch {
		h.stats.stale.Add(1)
		if s == nil {
			return nil, fmt.Errorf("%w: host %s has no sandbox for it", ErrLost, h.cfg.ID)
		}
		return nil, fmt.Errorf("%w: epoch %d was given, %d is in force", ErrLost, r.Epoch, s.epoch)
	}
	if s.age() > s.ttl/3 {
		if err := h.verify(ctx, s); err != nil {
			if !errors.Is(err, errLater) {
				h.stats.stale.Add(1)
			}
			return nil, err
		}
	}
	return s, nil
}

// verify asks the engine whether a session's lease is still valid. It ends the session if the lease
// has ended, or if the lease could not be looked up for so long that it may have expired. While the
// lease cannot be looked up, the error is errLater: running commands continue but none may begin,
// since the lease may have ended right after the last check.
func (h *Host) verify(ctx context.Context, s *hostSession) error {
	ctx, cancel := context.WithTimeout(ctx, min(s.ttl, 5*time.Second))
	defer cancel()
	before := time.Now()
	lease, err := h.cfg.Engine.Current(ctx, s.key)
	switch {
	case err == nil && lease.Epoch == s.epoch && lease.Host == h.cfg.ID:
		s.mu.Lock()
		s.verified = before
		s.mu.Unlock()
		return nil
	case err == nil || errors.Is(err, ErrNoLease):
		err = fmt.Errorf("%w: it expired, was released or has another holder", ErrLost)
	case s.age() <= s.ttl:
		return fmt.Errorf("%w: host %s: %w", errLater, h.cfg.ID, err)
	default:
		err = fmt.Errorf("%w: the host cannot reach the engine to see that it holds: %w", ErrLost, err)
	}
	h.stats.expired.Add(1)
	h.remove(s)
	return err
}

// sweep ends the sessions of ended leases, even if no command arrives.
func (h *Host) sweep(ctx context.Context) {
	tick := time.NewTicker(h.cfg.Heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for _, s := range h.due() {
			_ = h.verify(ctx, s) // sessions that end are counted in the stats
		}
	}
}

// due returns the sessions whose lease should be checked.
func (h *Host) due() (out []*hostSession) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.sessions {
		if s.age() > s.ttl/2 {
			out = append(out, s)
		}
	}
	return out
}

// endAll ends every session and prevents new ones.
func (h *Host) endAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.draining = true
	for _, s := range h.sessions {
		h.drop(s)
	}
}
