package sandbox

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
)

// PoolConfig says what a pool hands out and how much of it.
type PoolConfig struct {
	// Config is the template of every sandbox. Dir and Snapshot must be empty:
	// Get names the snapshot.
	Config Config
	// Max is the most sandboxes leased at once; Get waits beyond it. Zero means
	// four times the processors.
	Max int
	// Warm is how many sandboxes are kept ready for the snapshot last asked for,
	// beside those leased. Zero keeps none.
	Warm int
}

// Pool hands out sandboxes over snapshots, some of them started ahead. Closing a
// sandbox gives its place back; nothing of it is used again.
type Pool struct {
	cfg    PoolConfig
	slots  chan struct{}
	ctx    context.Context // ends with the pool
	cancel context.CancelFunc
	once   closeOnce
	work   sync.WaitGroup // warmers, and callers of Local

	mu     sync.Mutex
	want   Snapshot // the snapshot that spares are of
	spares []*local
	making int
	leased map[*lease]struct{}
	hits   int64
	misses int64
}

// PoolStats is a pool's state at one moment.
type PoolStats struct {
	Leased int   // sandboxes in use
	Spare  int   // sandboxes ready
	Hits   int64 // leases served by a ready one
	Misses int64 // leases that had to start one
}

// NewPool makes a pool. It starts nothing until the first Get.
func NewPool(cfg PoolConfig) (*Pool, error) {
	if cfg.Max < 0 || cfg.Warm < 0 {
		return nil, errors.New("sandbox: new pool: PoolConfig.Max and PoolConfig.Warm must not be negative")
	}
	if cfg.Config.Dir != "" || !cfg.Config.Snapshot.isZero() {
		return nil, errors.New("sandbox: new pool: PoolConfig.Config must name neither Dir nor Snapshot; Get does")
	}
	if cfg.Max == 0 {
		cfg.Max = 4 * runtime.GOMAXPROCS(0)
	}
	p := &Pool{cfg: cfg, slots: make(chan struct{}, cfg.Max), leased: map[*lease]struct{}{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p, nil
}

// Get leases a sandbox over snap; closing it ends the lease. Get waits while
// Max are leased, until ctx ends.
func (p *Pool) Get(ctx context.Context, snap Snapshot) (Sandbox, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("sandbox: get from pool: all %d are leased: %w", p.cfg.Max, context.Cause(ctx))
	case <-p.ctx.Done():
		return nil, fmt.Errorf("sandbox: get from pool: %w", ErrClosed)
	}
	l, err := p.take(ctx, snap)
	if err != nil {
		<-p.slots
		return nil, err
	}
	return l, nil
}

func (p *Pool) take(ctx context.Context, snap Snapshot) (*lease, error) {
	snap, err := snap.fix()
	if err != nil {
		return nil, fmt.Errorf("sandbox: get from pool: %w", err)
	}
	inner, done, err := p.reserve(snap)
	if err != nil {
		return nil, err
	}
	defer done()
	if inner == nil {
		if inner, err = p.open(ctx, snap); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.once.closed() {
		return nil, errors.Join(fmt.Errorf("sandbox: get from pool: %w", ErrClosed), inner.Close())
	}
	l := &lease{local: inner, pool: p}
	p.leased[l] = struct{}{}
	p.warm()
	return l, nil
}

// reserve returns a spare, if there is a live one, and counts the caller among
// those that Close waits for until done is called.
func (p *Pool) reserve(snap Snapshot) (spare *local, done func(), err error) {
	var stale []*local
	p.mu.Lock()
	defer func() {
		p.mu.Unlock()
		for _, s := range stale {
			_ = s.Close()
		}
	}()
	if p.once.closed() {
		return nil, nil, fmt.Errorf("sandbox: get from pool: %w", ErrClosed)
	}
	p.work.Add(1)
	if p.want != snap {
		p.want, stale, p.spares = snap, p.spares, nil
	}
	for len(p.spares) > 0 && spare == nil {
		last := len(p.spares) - 1
		spare, p.spares = p.spares[last], p.spares[:last]
		if !spare.alive() {
			stale, spare = append(stale, spare), nil
		}
	}
	if spare != nil {
		p.hits++
	} else {
		p.misses++
	}
	return spare, p.work.Done, nil
}

func (p *Pool) open(ctx context.Context, snap Snapshot) (*local, error) {
	cfg := p.cfg.Config
	cfg.Snapshot = snap
	sb, err := Local(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return sb.(*local), nil
}

// warm starts spares up to the configured number. The lock is held.
func (p *Pool) warm() {
	for n := len(p.spares) + p.making; n < p.cfg.Warm && !p.once.closed(); n++ {
		p.making++
		snap := p.want
		p.work.Go(func() { p.makeSpare(snap) })
	}
}

func (p *Pool) makeSpare(snap Snapshot) {
	l, err := p.open(p.ctx, snap)
	p.mu.Lock()
	p.making--
	// A copy taken ahead would be old by the time it is leased; an overlay shows
	// the directory as it is, and a commit does not change.
	keep := err == nil && !p.once.closed() && p.want == snap && (l.ws.overlay || snap.rev != "")
	if keep {
		p.spares = append(p.spares, l)
	}
	p.mu.Unlock()
	// A failure is not kept: the next Get meets it itself and can tell its caller.
	if err == nil && !keep {
		_ = l.Close()
	}
}

// Stats returns the pool's state.
func (p *Pool) Stats() PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return PoolStats{Leased: len(p.leased), Spare: len(p.spares), Hits: p.hits, Misses: p.misses}
}

// Close ends all sandboxes of the pool, leased ones too, and returns when they
// are gone.
func (p *Pool) Close() error {
	return p.once.do(func() error {
		p.cancel()
		p.mu.Lock()
		spares := p.spares
		p.spares = nil
		var leased []*lease
		for l := range p.leased {
			leased = append(leased, l)
		}
		p.mu.Unlock()
		var err error
		for _, s := range spares {
			err = errors.Join(err, s.Close())
		}
		for _, l := range leased {
			err = errors.Join(err, l.Close())
		}
		p.work.Wait()
		return err
	})
}

// lease is a pool's sandbox.
type lease struct {
	*local
	pool *Pool
	back sync.Once
}

// Close ends the sandbox and gives its place back.
func (l *lease) Close() error {
	err := l.local.Close()
	l.back.Do(func() {
		l.pool.mu.Lock()
		delete(l.pool.leased, l)
		l.pool.mu.Unlock()
		<-l.pool.slots
	})
	return err
}

// fix replaces a name that may come to mean another commit by the commit's own.
func (s Snapshot) fix() (Snapshot, error) {
	if _, ok := s.layer(); ok || s.rev == "" {
		return s, nil
	}
	repo, err := git.PlainOpenWithOptions(s.dir, &git.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	if err != nil {
		return s, fmt.Errorf("snapshot %v: open repository: %w", s, err)
	}
	hash, err := repo.ResolveRevision(plumbing.Revision(s.rev))
	if err != nil {
		return s, fmt.Errorf("snapshot %v: resolve revision: %w", s, err)
	}
	s.rev = hash.String()
	return s, nil
}
