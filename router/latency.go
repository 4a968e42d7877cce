package router

import (
	"slices"
	"sync"
	"time"
)

// latency computes quantiles of the last durations added. It is safe for concurrent use.
type latency struct {
	mu    sync.Mutex
	ring  [latencyWindow]time.Duration
	n     int // durations added so far
	fresh int // durations added since the quantile was computed
	share float64
	value time.Duration
	room  [latencyWindow]time.Duration
}

const (
	latencyWindow = 256 // number of durations considered: enough for a 99th percentile, few enough to follow a provider through the day
	latencyStale  = 16  // number of new durations after which the quantile is recomputed
)

// add adds a duration.
func (l *latency) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ring[l.n%latencyWindow] = d
	l.n++
	l.fresh++
}

// quantile returns the smallest duration that a share q of the last durations did not exceed, and
// the number of durations considered.
func (l *latency) quantile(q float64) (d time.Duration, known int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known = min(l.n, latencyWindow)
	if known == 0 {
		return 0, 0
	}
	if l.fresh >= latencyStale || l.share != q || l.n <= latencyStale {
		sorted := l.room[:known]
		copy(sorted, l.ring[:known])
		slices.Sort(sorted)
		at := int(q * float64(known))
		l.value = sorted[min(at, known-1)]
		l.fresh, l.share = 0, q
	}
	return l.value, known
}
