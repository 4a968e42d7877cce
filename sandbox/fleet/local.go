package fleet

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"
)

// LocalConfig configures the engine of one process. Zero values are the defaults.
type LocalConfig struct {
	AckWait  time.Duration // time after which an unacknowledged job is delivered again; default 30 s
	Presence time.Duration // how long an announcement lasts; default 5 s
	MaxQueue int           // limit of jobs that wait or run; default 1,000,000
}

// NewLocal makes an engine for hosts and clients of one process. It has the same guarantees as the
// engine over NATS, except that all data is lost when the process ends.
func NewLocal(cfg LocalConfig) Engine {
	cfg.AckWait = orDefault(cfg.AckWait, defaultAckWait)
	cfg.Presence = orDefault(cfg.Presence, defaultPresence)
	cfg.MaxQueue = orDefault(cfg.MaxQueue, defaultMaxQueue)
	return &localEngine{
		cfg: cfg, done: make(chan struct{}),
		jobs: map[string]*localJob{}, classes: map[string]*localClass{},
		results: map[string][]byte{}, news: make(chan struct{}),
		leases: map[string]localLease{}, hosts: map[string]localHost{}, servers: map[string]*localServer{},
	}
}

const (
	defaultAckWait  = 30 * time.Second
	defaultPresence = 5 * time.Second
	defaultMaxQueue = 1_000_000
)

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

type localEngine struct {
	cfg  LocalConfig
	done chan struct{} // closed when the engine is closed

	mu      sync.Mutex
	closed  bool
	jobs    map[string]*localJob // waiting or delivered
	classes map[string]*localClass
	results map[string][]byte
	order   []string      // job IDs in order of their results
	news    chan struct{} // closed and replaced when a result arrives
	leases  map[string]localLease
	epoch   uint64
	hosts   map[string]localHost
	servers map[string]*localServer
}

type localHost struct {
	status HostStatus
	until  time.Time
}

// PutResult implements Results.
func (e *localEngine) PutResult(_ context.Context, r *Result) (bool, error) {
	b, err := EncodeResult(r)
	if err != nil {
		return false, fail("put result of job", r.Job, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false, fail("put result of job", r.Job, ErrClosed)
	}
	if have, ok := e.results[r.Job]; ok {
		return sameResult(have, r), nil
	}
	e.results[r.Job] = b
	e.order = append(e.order, r.Job)
	close(e.news)
	e.news = make(chan struct{})
	return true, nil
}

// sameResult reports whether the stored result is the one that is stored again. Host and attempt
// are not enough to identify it, since a job that was queued twice may have two first attempts.
func sameResult(stored []byte, r *Result) bool {
	have, err := DecodeResult(stored)
	return err == nil && have.Host == r.Host && have.Attempt == r.Attempt && have.Run == r.Run
}

// Result implements Results.
func (e *localEngine) Result(_ context.Context, job string) (*Result, error) {
	e.mu.Lock()
	b, ok := e.results[job]
	e.mu.Unlock()
	if !ok {
		return nil, fail("get result of job", job, ErrNoResult)
	}
	return DecodeResult(b)
}

// WatchResults implements Results.
func (e *localEngine) WatchResults(ctx context.Context, job string) iter.Seq2[*Result, error] {
	return func(yield func(*Result, error) bool) {
		for next := 0; ; {
			e.mu.Lock()
			var found [][]byte
			for ; next < len(e.order); next++ {
				if id := e.order[next]; job == "" || id == job {
					found = append(found, e.results[id])
				}
			}
			news := e.news
			e.mu.Unlock()
			for _, b := range found {
				r, err := DecodeResult(b)
				if !yield(r, err) || err != nil {
					return
				}
			}
			select {
			case <-news:
			case <-ctx.Done():
				yield(nil, fail("watch results of", "jobs", context.Cause(ctx)))
				return
			case <-e.done:
				yield(nil, fail("watch results of", "jobs", ErrClosed))
				return
			}
		}
	}
}

// Announce implements Presence.
func (e *localEngine) Announce(_ context.Context, s HostStatus) error {
	if err := ValidName("HostStatus.ID", s.ID); err != nil {
		return fail("announce", "host", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hosts[s.ID] = localHost{s, time.Now().Add(e.cfg.Presence)}
	return nil
}

// Hosts implements Presence.
func (e *localEngine) Hosts(context.Context) ([]HostStatus, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []HostStatus
	for id, h := range e.hosts {
		if time.Now().After(h.until) {
			delete(e.hosts, id)
			continue
		}
		out = append(out, h.status)
	}
	sortHosts(out)
	return out, nil
}

func sortHosts(hs []HostStatus) {
	slices.SortFunc(hs, func(a, b HostStatus) int { return strings.Compare(a.ID, b.ID) })
}

// Close implements Engine.
func (e *localEngine) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	close(e.done)
	var stops []func()
	for _, s := range e.servers {
		stops = append(stops, s.stop)
	}
	for _, j := range e.jobs {
		j.stopTimer()
	}
	e.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
	return nil
}
