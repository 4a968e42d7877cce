package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// lease is a sandbox of a pool in use.
type lease struct {
	*local
	pool  *Pool
	req   Request
	blank *blank // the sandbox that local runs in, if it may be reused
	back  closeOnce
	timer *time.Timer
}

// take makes a lease for r, which already has a place in the pool.
func (p *Pool) take(ctx context.Context, r Request) (*lease, error) {
	s, done, err := p.reserve(r)
	if err != nil {
		return nil, err
	}
	defer done()
	l := &lease{pool: p, req: r}
	if s != nil {
		err = l.use(ctx, s)
	}
	if l.local == nil {
		if err = l.open(ctx); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.once.closed() {
		return nil, errors.Join(fmt.Errorf("sandbox: get from pool: %w", ErrClosed), l.local.Close())
	}
	p.leased[l] = struct{}{}
	if r.Hold > 0 {
		armed := make(chan struct{}) // Close stops the timer, which must therefore be set first
		l.timer = time.AfterFunc(r.Hold, func() {
			<-armed
			_ = l.Close()
		})
		close(armed)
	}
	p.warm()
	return l, nil
}

// reserve returns a live spare that may serve r, if there is one. Close waits for the caller until
// it calls done.
func (p *Pool) reserve(r Request) (found *spare, done func(), err error) {
	var stale []*spare
	p.mu.Lock()
	defer func() {
		p.mu.Unlock()
		for _, s := range stale {
			_ = s.close()
		}
	}()
	if p.once.closed() {
		return nil, nil, fmt.Errorf("sandbox: get from pool: %w", ErrClosed)
	}
	p.work.Add(1)
	p.want, p.wantDomain = r.Snapshot, r.Domain
	for found == nil {
		i := p.choose(r)
		if i < 0 {
			break
		}
		found = p.spares[i]
		p.spares = append(p.spares[:i], p.spares[i+1:]...)
		if !found.alive() {
			p.counts.Destroyed++
			stale, found = append(stale, found), nil
		}
	}
	if found != nil {
		p.counts.Hits++
		return found, p.work.Done, nil
	}
	p.counts.Misses++
	// A spare that only other requests may use makes way for one that any request may use.
	if len(p.spares) > 0 && len(p.spares) >= p.most() {
		stale, p.spares = append(stale, p.spares[0]), p.spares[1:]
		p.counts.Evicted++
	}
	return nil, p.work.Done, nil
}

// choose returns the index of the best spare for r, or -1. It prefers a spare of r's own domain to
// an unused one, which is left for others. The caller holds the lock.
func (p *Pool) choose(r Request) int {
	best := -1
	for i := len(p.spares) - 1; i >= 0; i-- {
		s := p.spares[i]
		switch {
		case s.blank == nil:
			if s.snap == r.Snapshot && best < 0 {
				best = i
			}
		case s.domain != "" && s.domain == r.Domain:
			return i
		case s.domain == "" && best < 0:
			best = i
		}
	}
	return best
}

// use turns a spare into the lease's sandbox. If it fails, the lease has none.
func (l *lease) use(ctx context.Context, s *spare) error {
	if s.blank == nil {
		l.local = s.local
		return nil
	}
	return l.attach(ctx, s.blank)
}

func (l *lease) attach(ctx context.Context, b *blank) error {
	inner, err := b.attach(ctx, l.req.Snapshot)
	if err != nil {
		return errors.Join(err, b.close())
	}
	l.local, l.blank = inner, b
	return nil
}

// open starts a sandbox for the lease. A sandbox that may be reused is started without its
// workspace.
func (l *lease) open(ctx context.Context) error {
	p := l.pool
	begun := p.now()
	if l.req.Domain != "" && p.canBlank() {
		b, err := makeBlank(ctx, &p.blanks)
		if err == nil {
			err = l.attach(ctx, b)
		}
		if p.noteBlank(err, begun) == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("sandbox: get from pool: %w", context.Cause(ctx))
		}
	}
	cfg := p.cfg.Config
	cfg.Snapshot = l.req.Snapshot
	sb, err := Local(ctx, cfg)
	if err != nil {
		return err
	}
	l.local = sb.(*local)
	p.mu.Lock()
	p.demand.Made(p.now().Sub(begun))
	p.mu.Unlock()
	return nil
}

// blankTries is the number of consecutive failures to make a blank sandbox after which the pool
// assumes that this host does not support them.
const blankTries = 3

func (p *Pool) canBlank() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed < blankTries
}

// noteBlank records whether making a blank sandbox succeeded, and returns err.
func (p *Pool) noteBlank(err error, begun time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		if p.ctx.Err() == nil {
			p.failed++
		}
		return err
	}
	p.failed = 0
	p.demand.Made(p.now().Sub(begun))
	return nil
}

// Close ends the lease: it kills all processes, and the sandbox is prepared for the next lease of
// its domain, or destroyed.
func (l *lease) Close() error {
	return l.back.do(func() error {
		if l.timer != nil {
			l.timer.Stop()
		}
		kept, err := l.end()
		return errors.Join(err, l.pool.returned(l, kept))
	})
}

// end ends the sandbox or, if it may be reused, cleans it; kept reports which.
func (l *lease) end() (kept bool, err error) {
	if l.blank == nil || l.req.Domain == "" || l.pool.ctx.Err() != nil || l.blank.uses >= l.pool.cfg.MaxUses {
		return false, l.local.Close()
	}
	err = l.local.once.do(func() error {
		l.files.Stop()
		l.killAll()
		releaseNet(l.spawner())
		open := l.files.Drain(true)
		// A start in progress must not finish in the next lease. If it hangs, the sandbox counts as
		// unclean.
		if !lockSoon(l.gate.TryLock) {
			return errors.Join(l.run.Close(), l.ws.remove())
		}
		defer l.gate.Unlock()
		if !l.blank.holds(l.local) { // a fork moved the workspace to another sandbox
			return errors.Join(l.spawner().Close(), l.ws.remove())
		}
		if open != nil { // somebody could still write through the lease's tree
			l.pool.doubted(open)
			return l.blank.close()
		}
		ctx, cancel := context.WithTimeout(context.Background(), recyclePatience)
		defer cancel()
		if doubt := l.blank.recycle(ctx); doubt != nil {
			l.pool.doubted(doubt)
			return l.blank.close()
		}
		kept = true
		return nil
	})
	return kept, err
}

// recyclePatience limits the time for cleaning a sandbox.
const recyclePatience = 10 * time.Second

// lockSoon calls try repeatedly for a limited time.
func lockSoon(try func() bool) bool {
	for limit := time.Now().Add(2 * time.Second); time.Now().Before(limit); time.Sleep(100 * time.Microsecond) {
		if try() {
			return true
		}
	}
	return false
}

// doubted records why a sandbox was not reused.
func (p *Pool) doubted(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Doubted++
	p.counts.LastDoubt = err.Error()
}

// returned unregisters a lease. It keeps the sandbox if it is clean and needed, and gives the place
// to the next request.
func (p *Pool) returned(l *lease, kept bool) error {
	p.mu.Lock()
	delete(p.leased, l)
	keep := kept && !p.once.closed() && !p.short && len(p.spares) < p.most()
	if keep {
		p.spares = append(p.spares, &spare{blank: l.blank, domain: l.req.Domain, since: p.now()})
		p.counts.Recycled++
		p.keepUp()
	} else {
		p.counts.Destroyed++
	}
	p.plan.Release(l.req.Tenant)
	p.serve()
	p.mu.Unlock()
	if kept && !keep {
		return l.blank.close()
	}
	return nil
}
