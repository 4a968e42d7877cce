// Package sim simulates how a fleet of a given size would serve a given load. Placement and
// queueing use the code that clients and hosts run; time is simulated, and durations are drawn from
// measured ones. The same Config gives exactly the same Report.
//
// It does not model hosts whose speed depends on their load, network delays, or engines that fail.
package sim

import (
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/luthier-dev/luthier/sandbox/fleet"
	"github.com/luthier-dev/luthier/sandbox/fleet/internal/fair"
)

// Config describes a fleet and its load. The zero value of an optional field is 0.
type Config struct {
	Seed      uint64
	Leases    int           // number of leases requested, required
	Hosts     int           // required
	Places    int           // of each host, required
	Spares    int           // ready sandboxes kept by each host
	Tenants   []int         // each tenant's share of the requests, required
	Snapshots int           // number of snapshots that requests name, the first ones more often; at least 1
	Cache     int           // number of snapshots that a host keeps; 0 means all that it ever had
	MaxUses   int           // leases that a sandbox serves before it is destroyed; at most 1 means no recycling
	Rate      float64       // requests per second, required
	Heartbeat time.Duration // how outdated the clients' view of the hosts may be
	TTL       time.Duration // how long a lease outlives its client
	Dying     float64       // fraction of clients that die while they hold a lease
	HostsDie  int           // number of hosts that die, one after another, evenly over the run
	Presence  time.Duration // time until a dead host is noticed
	Measured  Measured
}

func (c *Config) validate() error {
	if c.Leases < 1 || c.Hosts < 1 || c.Places < 1 || c.Rate <= 0 || c.Snapshots < 1 || len(c.Tenants) == 0 {
		return errors.New("Config needs Leases, Hosts, Places, Rate, Snapshots and Tenants")
	}
	if c.HostsDie >= c.Hosts {
		return errors.New("Config.HostsDie would leave no host")
	}
	for _, share := range c.Tenants {
		if share < 1 {
			return errors.New("Config.Tenants has a share below 1")
		}
	}
	return c.Measured.validate()
}

// request is one lease, from the time of its request.
type request struct {
	tenant, snapshot int
	asked            time.Duration
	host             *host
	box              *box
	tries            int // incremented when its host dies, so that earlier events are ignored
}

// box is a used sandbox.
type box struct{ tenant, uses int }

type host struct {
	id        string
	dead      bool
	busy      int
	spares    int
	idle      []*box // used and ready for the same tenant
	wait      fair.Queue[*request]
	serving   map[*request]bool
	snapshots map[int]time.Duration // by time of last use
}

// event is something that happens at a simulated time.
type event struct {
	at  time.Duration
	seq int
	do  func()
}

type world struct {
	cfg    Config
	r      *rand.Rand
	now    time.Duration
	events events
	seq    int
	hosts  []*host
	known  []fleet.HostStatus // the clients' view
	done   int
	report tally
}

// Run simulates a fleet until every lease was served and returned.
func Run(cfg Config) (*Report, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("sim: run fleet: %w", err)
	}
	w := &world{cfg: cfg, r: rand.New(rand.NewPCG(cfg.Seed, 0x5eed)), report: newTally(len(cfg.Tenants))}
	for i := range cfg.Hosts {
		w.hosts = append(w.hosts, &host{id: fmt.Sprintf("h%03d", i), spares: cfg.Spares, serving: map[*request]bool{}, snapshots: map[int]time.Duration{}})
	}
	w.look()
	w.after(0, func() { w.arrive(cfg.Leases) })
	length := time.Duration(float64(cfg.Leases) / cfg.Rate * float64(time.Second))
	for i := range cfg.HostsDie {
		w.after(length*time.Duration(i+1)/time.Duration(cfg.HostsDie+1), func() { w.die(w.hosts[i]) })
	}
	for len(w.events) > 0 && w.done < cfg.Leases {
		e := heap.Pop(&w.events).(event)
		w.now = e.at
		e.do()
	}
	if w.done < cfg.Leases {
		return nil, fmt.Errorf("sim: run fleet: it stands still after %d of %d leases", w.done, cfg.Leases)
	}
	return w.report.report(w.now, cfg.Leases), nil
}

func (w *world) after(d time.Duration, do func()) {
	w.seq++
	heap.Push(&w.events, event{w.now + d, w.seq, do})
}

// look updates the clients' view of the hosts from time to time.
func (w *world) look() {
	w.known = w.known[:0]
	for _, h := range w.hosts {
		if h.dead {
			continue
		}
		s := fleet.HostStatus{ID: h.id, Classes: []string{"c"}, Places: w.cfg.Places, Leased: h.busy, Waiting: h.wait.Len()}
		for i := range w.cfg.Snapshots { // in order: map iteration would be random
			if _, ok := h.snapshots[i]; ok {
				s.Snapshots = append(s.Snapshots, name(i))
			}
		}
		w.known = append(w.known, s)
	}
	if w.cfg.Heartbeat > 0 {
		w.after(w.cfg.Heartbeat, w.look)
	}
}

func name(snapshot int) string { return fmt.Sprintf("s%d", snapshot) }

// arrive handles a request and schedules the next.
func (w *world) arrive(left int) {
	total := 0
	for _, share := range w.cfg.Tenants {
		total += share
	}
	pick := w.r.IntN(total)
	q := &request{asked: w.now}
	for pick >= w.cfg.Tenants[q.tenant] {
		pick -= w.cfg.Tenants[q.tenant]
		q.tenant++
	}
	// Most requests are for a few of the snapshots.
	q.snapshot = min(w.r.IntN(w.cfg.Snapshots), w.r.IntN(w.cfg.Snapshots))
	w.place(q)
	if left > 1 {
		w.after(time.Duration(w.r.ExpFloat64()/w.cfg.Rate*float64(time.Second)), func() { w.arrive(left - 1) })
	}
}

// place sends a request to a host, as a client would.
func (w *world) place(q *request) {
	if w.cfg.Heartbeat <= 0 {
		w.look()
	}
	s, err := fleet.Place(w.known, fleet.Spec{Class: "c", Snapshot: name(q.snapshot)}, w.r)
	if err != nil {
		w.after(max(w.cfg.Heartbeat, time.Second), func() { w.place(q) })
		return
	}
	for _, h := range w.hosts {
		if h.id != s.ID {
			continue
		}
		if h.dead { // the host is still listed although it is dead: choose again without it, from the same view
			w.look()
			w.place(q)
			return
		}
		q.host = h
		h.wait.Push(fmt.Sprint(q.tenant), 1, q)
		w.serve(h)
	}
}

type events []event

func (h events) Len() int { return len(h) }
func (h events) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h events) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *events) Push(x any)   { *h = append(*h, x.(event)) }
func (h *events) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
