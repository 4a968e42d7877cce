package sandbox

import (
	"os"
	"runtime"
	"time"

	"github.com/luthier-dev/luthier/sandbox/internal/sched"
)

// target returns the number of sandboxes that should be ready now. The caller holds the lock.
func (p *Pool) target() int {
	if p.short {
		return 0
	}
	return p.demand.Target(p.now(), p.cfg.Warm, p.cfg.WarmMax)
}

// most returns the largest number of spares to keep. The caller holds the lock.
func (p *Pool) most() int { return max(p.cfg.Max, p.cfg.WarmMax) }

// usable returns the number of spares that would serve another request like the last. The caller
// holds the lock.
func (p *Pool) usable() int {
	n := 0
	for _, s := range p.spares {
		if s.blank == nil || s.domain == "" || s.domain == p.wantDomain {
			n++
		}
	}
	return n
}

// warm starts spares up to the target, a few at a time: more at once would only slow down each
// other and the commands. The caller holds the lock.
func (p *Pool) warm() {
	want := p.target()
	for p.making < max(2, runtime.GOMAXPROCS(0)) && p.usable()+p.making < want && len(p.spares)+p.making < p.most() && !p.once.closed() {
		p.making++
		snap := p.want
		p.work.Go(func() { p.makeSpare(snap) })
	}
}

func (p *Pool) makeSpare(snap Snapshot) {
	s := p.startSpare(snap)
	p.mu.Lock()
	p.making--
	keep := s != nil && !p.once.closed() && !p.short && (s.blank != nil || p.want == snap)
	if keep {
		p.spares = append(p.spares, s)
		p.keepUp()
		p.warm()
	}
	p.mu.Unlock()
	// A failure is not recorded: the next request will meet it itself and can report it to its
	// caller.
	if s != nil && !keep {
		_ = s.close()
	}
}

// startSpare starts a sandbox without a workspace or, if that is not possible, one over snap. If it
// fails, it returns nil.
func (p *Pool) startSpare(snap Snapshot) *spare {
	begun := p.now()
	if p.canBlank() {
		b, err := makeBlank(p.ctx, &p.blanks)
		if p.noteBlank(err, begun) == nil {
			return &spare{blank: b, since: p.now()}
		}
	}
	cfg := p.cfg.Config
	cfg.Snapshot = snap
	sb, err := Local(p.ctx, cfg)
	if err != nil {
		return nil
	}
	l := sb.(*local)
	// A copy made in advance would be outdated by the time it is leased; an overlay shows the
	// current directory, and a commit does not change.
	if !l.ws.overlay && snap.rev == "" {
		_ = l.Close()
		return nil
	}
	return &spare{local: l, snap: snap, since: p.now()}
}

// keepUp starts the goroutine that looks after the spares, once there are any. The caller holds the
// lock.
func (p *Pool) keepUp() {
	if p.keeping || p.once.closed() {
		return
	}
	p.keeping = true
	p.work.Go(p.keep)
}

// keepEvery is the interval at which the spares are checked.
const keepEvery = time.Second

// keep releases spares that demand or memory do not justify, until the pool is closed or none are
// left.
func (p *Pool) keep() {
	t := time.NewTicker(keepEvery)
	defer t.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-t.C:
		}
		gone, more := p.trim(p.memory())
		for _, s := range gone {
			_ = s.close()
		}
		if !more {
			return
		}
	}
}

// spareIdle is the time for which a spare above the target is kept.
const spareIdle = 30 * time.Second

// trim removes the spares to be released: the oldest half of those above the target that have been
// idle for a while, or, if memory is short, of all above the target. Because it takes only half, a
// brief shortage does not cost everything. more reports whether there is still anything to look
// after.
func (p *Pool) trim(now sched.Pressure) (gone []*spare, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.short = now.Short(p.short)
	over := len(p.spares) - p.target()
	if !p.short {
		idle := 0 // spares are in order of age
		for idle < len(p.spares) && p.now().Sub(p.spares[idle].since) > spareIdle {
			idle++
		}
		over = min(over, idle)
	}
	if over > 0 {
		n := (over + 1) / 2
		gone = append(gone, p.spares[:n]...)
		p.spares = append([]*spare(nil), p.spares[n:]...)
		p.counts.Evicted += int64(n)
	}
	p.warm()
	more = len(p.spares) > 0 || p.making > 0 || p.short || p.target() > 0
	p.keeping = more
	return gone, more
}

// memoryPressure returns the host's memory pressure, or none if the host does not report it.
func memoryPressure() sched.Pressure {
	b, err := os.ReadFile("/proc/pressure/memory")
	if err != nil {
		return 0
	}
	now, err := sched.ParsePressure(b)
	if err != nil {
		return 0
	}
	return now
}
