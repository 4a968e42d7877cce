package router

import (
	"slices"
	"sync"
	"time"
)

// latency knows the quantiles of the last durations it was told. It is safe for concurrent use.
type latency struct {
	mu    sync.Mutex
	ring  [latencyWindow]time.Duration
	n     int // told so far
	fresh int // told since the quantile was computed
	share float64
	value time.Duration
	room  [latencyWindow]time.Duration
}

const (
	latencyWindow = 256 // how far back it looks: far enough for a 99th percentile, short enough to follow a provider's day
	latencyStale  = 16  // how many new durations make it compute anew
)

// add tells a duration.
func (l *latency) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ring[l.n%latencyWindow] = d
	l.n++
	l.fresh++
}

// quantile returns the smallest duration that a share q of the last ones did not exceed, and how
// many it knows.
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
