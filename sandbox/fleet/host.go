package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/luthier-dev/luthier/sandbox/fleet/internal/fair"
	"github.com/luthier-dev/luthier/sandbox/remote"
)

// HostConfig configures a host. Engine, Classes and one of Backend and Run are required.
type HostConfig struct {
	// ID names the host and must be unique. Empty means a random one.
	ID     string
	Engine Engine
	// Classes are the queues the host pulls jobs from, and the classes of
	// sandboxes it leases out.
	Classes []string
	// Backend opens the boxes for jobs and leases. Without it the host only runs jobs.
	Backend Backend
	// Tools opens the tools of a leased box, for the first client that asks for them; see
	// [Session.Tools]. ctx ends with the lease. Nil means that there are none.
	Tools func(ctx context.Context, box Box) (remote.Toolbox, error)
	// Run runs jobs instead of BoxRunner(Backend).
	Run Runner
	// Slots limits the jobs that run at once; zero means twice the number of processors, and a
	// negative number means none.
	Slots int
	// Places limits the sandboxes leased out at once; zero means four times the number of
	// processors, and a negative number means none. Further requests wait and are served in fair
	// turns between tenants; Waiting limits their number (zero means 16 for each place).
	Places, Waiting int
	// Snapshots returns the snapshots that the host has ready, for placement; nil means none.
	Snapshots func() []string
	// Heartbeat is the interval at which the host reports that it, and each job it runs, is alive;
	// default 1 s. It must be well below the engine's AckWait and Presence.
	Heartbeat time.Duration
	// Logger receives problems that the host handles by itself; nil discards them.
	Logger *slog.Logger
}

// Host is the agent of one machine: it pulls jobs and runs them, and leases sandboxes to clients.
type Host struct {
	cfg     HostConfig
	slots   chan struct{} // holds an entry for each job that runs
	freed   chan struct{} // signals that a slot was returned
	gate    *fair.Gate
	stats   hostStats
	running atomic.Bool

	mu       sync.Mutex
	ctx      context.Context // the context of Run
	sessions map[string]*hostSession
	draining bool
	closing  sync.WaitGroup // sessions that are ending
}

type hostStats struct {
	jobs, counted, repeated, retried, opened, stale, expired atomic.Int64
}

// HostStats counts what a host has done since it started.
type HostStats struct {
	Jobs     int64 // commands of jobs that were run
	Counted  int64 // results that were the first of their job
	Repeated int64 // deliveries of jobs that already had a result, and results that were not the first
	Retried  int64 // jobs returned to the queue
	Opened   int64 // sandboxes leased out
	Stale    int64 // commands refused because the epoch of their lease has ended
	Expired  int64 // sandboxes ended because their lease had ended
}

// NewHost makes a host. It does nothing before Run.
func NewHost(cfg HostConfig) (*Host, error) {
	if cfg.ID == "" {
		cfg.ID = "host-" + strings.ToLower(rand.Text())
	}
	if cfg.Slots == 0 {
		cfg.Slots = 2 * runtime.GOMAXPROCS(0)
	}
	if cfg.Places == 0 {
		cfg.Places = 4 * runtime.GOMAXPROCS(0)
	}
	cfg.Slots, cfg.Places = max(cfg.Slots, 0), max(cfg.Places, 0)
	cfg.Waiting = orDefault(cfg.Waiting, 16*cfg.Places)
	cfg.Heartbeat = orDefault(cfg.Heartbeat, time.Second)
	if cfg.Run == nil && cfg.Backend != nil {
		cfg.Run = BoxRunner(cfg.Backend)
	}
	if cfg.Backend == nil {
		cfg.Places = 0
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	err := ValidName("HostConfig.ID", cfg.ID)
	for _, c := range cfg.Classes {
		err = errors.Join(err, ValidName("HostConfig.Classes", c))
	}
	switch {
	case err != nil:
	case cfg.Engine == nil || len(cfg.Classes) == 0 || cfg.Run == nil:
		err = errors.New("HostConfig needs Engine, Classes, and Backend or Run")
	case cfg.Heartbeat < 0:
		err = errors.New("HostConfig.Heartbeat is negative")
	}
	if err != nil {
		return nil, fail("make host", cfg.ID, err)
	}
	return &Host{
		cfg: cfg, slots: make(chan struct{}, cfg.Slots), freed: make(chan struct{}, 1),
		gate: fair.NewGate(cfg.Places, cfg.Waiting), sessions: map[string]*hostSession{},
	}, nil
}

// ID returns the host's name in the fleet.
func (h *Host) ID() string { return h.cfg.ID }

// Run serves until ctx ends. It then kills running commands, returns their jobs to the queue, ends
// the leased sandboxes and returns. While the engine is unreachable, Run continues with its current
// jobs and sandboxes, and retries. It can be called only once.
func (h *Host) Run(ctx context.Context) error {
	if h.running.Swap(true) {
		return fail("run host", h.cfg.ID, errors.New("it was run already; make another"))
	}
	h.mu.Lock()
	h.ctx = ctx
	h.mu.Unlock()
	stop, err := h.cfg.Engine.Serve(h.cfg.ID, h.handle)
	if err != nil {
		return fail("run host", h.cfg.ID, err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { h.announce(ctx) })
	wg.Go(func() { h.sweep(ctx) })
	if h.cfg.Slots > 0 {
		for _, class := range h.cfg.Classes {
			wg.Go(func() { h.pull(ctx, class, &wg) })
		}
	}
	<-ctx.Done()
	h.endAll()
	stop()
	wg.Wait()
	h.closing.Wait()
	return nil
}

// announce repeatedly announces the host's status.
func (h *Host) announce(ctx context.Context) {
	tick := time.NewTicker(h.cfg.Heartbeat)
	defer tick.Stop()
	for {
		h.say(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.cfg.Heartbeat)
			h.say(bye)
			cancel()
			return
		}
	}
}

func (h *Host) say(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*h.cfg.Heartbeat)
	defer cancel()
	if err := h.cfg.Engine.Announce(ctx, h.Status()); err != nil && ctx.Err() == nil {
		h.cfg.Logger.Warn("host could not announce itself", "host", h.cfg.ID, "error", err)
	}
}

// Status returns the status that the host announces.
func (h *Host) Status() HostStatus {
	s := HostStatus{ID: h.cfg.ID, Classes: h.cfg.Classes, Slots: h.cfg.Slots, Jobs: len(h.slots),
		Places: h.cfg.Places, Waiting: h.gate.Waiting()}
	if h.cfg.Snapshots != nil {
		s.Snapshots = h.cfg.Snapshots()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s.Leased = max(0, len(h.sessions)-s.Waiting)
	s.Draining = h.draining
	return s
}

// Stats returns the host's counters since it started.
func (h *Host) Stats() HostStats {
	s := &h.stats
	return HostStats{Jobs: s.jobs.Load(), Counted: s.counted.Load(), Repeated: s.repeated.Load(), Retried: s.retried.Load(),
		Opened: s.opened.Load(), Stale: s.stale.Load(), Expired: s.expired.Load()}
}

// backoff waits before the n-th attempt, longer each time; it returns false once ctx has ended.
func backoff(ctx context.Context, n int) bool {
	d := min(50*time.Millisecond<<min(n, 10), 2*time.Second)
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
