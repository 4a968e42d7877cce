package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// lease is a pool's sandbox in use.
type lease struct {
	*local
	pool  *Pool
	req   Request
	blank *blank // what local runs in, if it may be used again
	back  closeOnce
	timer *time.Timer
}

// take makes a lease for r, which has its place.
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
		armed := make(chan struct{}) // Close stops the timer, so that it must be there
		l.timer = time.AfterFunc(r.Hold, func() {
			<-armed
			_ = l.Close()
		})
		close(armed)
	}
	p.warm()
	return l, nil
}

// reserve returns a spare that may serve r, if there is a live one, and counts the
// caller among those that Close waits for until done is called.
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
	// What only others may use makes room for what anyone may.
	if len(p.spares) > 0 && len(p.spares) >= p.most() {
		stale, p.spares = append(stale, p.spares[0]), p.spares[1:]
		p.counts.Evicted++
	}
	return nil, p.work.Done, nil
}

// choose returns the index of the best spare for r, or -1: one of r's own domain
// before an unused one, so that those are left for others. The lock is held.
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

// use turns a spare into the lease's sandbox. It leaves none if that fails.
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

// open starts a sandbox for the lease. One that may be used again is started
// without its workspace.
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

// blankTries is how often in a row a blank sandbox may fail before the pool takes
// it that this host has none.
const blankTries = 3

func (p *Pool) canBlank() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed < blankTries
}

// noteBlank remembers how the making of a blank sandbox went, and returns err.
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

// Close ends the lease: it kills everything that runs, and the sandbox is made
// ready for the next of its domain, or destroyed.
func (l *lease) Close() error {
	return l.back.do(func() error {
		if l.timer != nil {
			l.timer.Stop()
		}
		kept, err := l.end()
		return errors.Join(err, l.pool.returned(l, kept))
	})
}

// end ends the sandbox or, if it may be used again, cleans it; kept says which.
func (l *lease) end() (kept bool, err error) {
	if l.blank == nil || l.req.Domain == "" || l.pool.ctx.Err() != nil || l.blank.uses >= l.pool.cfg.MaxUses {
		return false, l.local.Close()
	}
	err = l.local.once.do(func() error {
		l.killAll()
		releaseNet(l.spawner())
		// A start that is under way must not come to an end in the next lease. One
		// that hangs is a doubt like any other.
		if !lockSoon(l.gate.TryLock) {
			return errors.Join(l.run.Close(), l.ws.remove())
		}
		defer l.gate.Unlock()
		if !l.blank.holds(l.local) { // a fork moved the workspace to another sandbox
			return errors.Join(l.spawner().Close(), l.ws.remove())
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

// recyclePatience is how long the cleaning of a sandbox may take.
const recyclePatience = 10 * time.Second

// lockSoon tries for a while.
func lockSoon(try func() bool) bool {
	for limit := time.Now().Add(2 * time.Second); time.Now().Before(limit); time.Sleep(100 * time.Microsecond) {
		if try() {
			return true
		}
	}
	return false
}

// doubted notes why a sandbox was not used again.
func (p *Pool) doubted(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Doubted++
	p.counts.LastDoubt = err.Error()
}

// returned takes a lease off the books, keeps its sandbox if it is clean and there
// is use for it, and gives the place to the next.
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
