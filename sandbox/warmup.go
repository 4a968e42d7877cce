package sandbox

import (
	"os"
	"runtime"
	"time"

	"github.com/luthier-dev/luthier/sandbox/internal/sched"
)

// target is how many sandboxes should stand ready now. The lock is held.
func (p *Pool) target() int {
	if p.short {
		return 0
	}
	return p.demand.Target(p.now(), p.cfg.Warm, p.cfg.WarmMax)
}

// most is how many spares may be kept. The lock is held.
func (p *Pool) most() int { return max(p.cfg.Max, p.cfg.WarmMax) }

// usable is how many spares would serve another request like the last. The lock
// is held.
func (p *Pool) usable() int {
	n := 0
	for _, s := range p.spares {
		if s.blank == nil || s.domain == "" || s.domain == p.wantDomain {
			n++
		}
	}
	return n
}

// warm starts spares up to the target, a few at a time: more at once would only
// slow each other and the commands down. The lock is held.
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
	// A failure is not kept: the next request meets it itself and can tell its caller.
	if s != nil && !keep {
		_ = s.close()
	}
}

// startSpare starts a sandbox without a workspace or, where there is no such
// thing, one over snap. It returns nil if it cannot.
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
	// A copy taken ahead would be old by the time it is leased; an overlay shows
	// the directory as it is, and a commit does not change.
	if !l.ws.overlay && snap.rev == "" {
		_ = l.Close()
		return nil
	}
	return &spare{local: l, snap: snap, since: p.now()}
}

// keepUp has somebody look after the spares, from the first one on. The lock is
// held.
func (p *Pool) keepUp() {
	if p.keeping || p.once.closed() {
		return
	}
	p.keeping = true
	p.work.Go(p.keep)
}

// keepEvery is how often the spares are looked after.
const keepEvery = time.Second

// keep gives up spares that demand or memory have no room for any more, until the
// pool is closed or there are none left.
func (p *Pool) keep() {
	t := time.NewTicker(keepEvery)
	defer t.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-t.C:
		}
		gone, more := p.trim(memoryPressure())
		for _, s := range gone {
			_ = s.close()
		}
		if !more {
			return
		}
	}
}

// spareIdle is how long a spare that the target has no room for is kept.
const spareIdle = 30 * time.Second

// trim takes out the spares to be given up: the oldest half of those above the
// target that have not been of use for a while, or of all when memory is short,
// so that a passing want of either does not cost everything. more says whether
// there is anything to look after still.
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

// memoryPressure is the host's, or none where it does not tell.
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
