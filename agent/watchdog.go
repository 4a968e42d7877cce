package agent

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// watchdog cancels a stream that stays silent. From time to time a timer sets the probe, and the
// loop clears it at its next sign of life: when a chunk arrives, and when the consumer is done with
// one. That costs two plain loads per event; an atomic store per event would cost as much as all
// the rest of its delivery. A consumer that keeps one event for the whole idle time looks like a
// silent model. The loop can distinguish them when the consumer returns; then the request is sent
// again without counting a failure.
type watchdog struct {
	probe   atomic.Bool
	fired   atomic.Bool
	stalled bool // the consumer, not the model, was silent; only for the loop's goroutine
	stalls  uint // number of times in a row: each time the consumer gets twice as long

	mu      sync.Mutex
	timer   *time.Timer
	period  time.Duration
	cancel  context.CancelCauseFunc // of the stream in progress; nil between streams
	strikes int
}

const watchChecks = 4 // checks per idle period

// alive clears the probe.
func (w *watchdog) alive() {
	if w.probe.Load() {
		w.probe.Store(false)
	}
}

// consumed is alive for the moment when the consumer returns control.
func (w *watchdog) consumed() {
	if w.probe.Load() {
		if w.fired.Load() && !w.stalled {
			w.stalled = true
			w.stalls++
		}
		w.probe.Store(false)
	}
}

// watch starts watching a stream.
func (w *watchdog) watch(idle time.Duration, cancel context.CancelCauseFunc) {
	if idle <= 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancel, w.period, w.strikes, w.stalled = cancel, max(idle/watchChecks, time.Millisecond)<<min(w.stalls, 16), 0, false
	w.probe.Store(false)
	w.fired.Store(false)
	if w.timer == nil {
		w.timer = time.AfterFunc(w.period, w.look)
	} else {
		w.timer.Reset(w.period)
	}
}

// unwatch stops watching the stream.
func (w *watchdog) unwatch() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancel = nil
	if w.timer != nil {
		w.timer.Stop()
	}
}

func (w *watchdog) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cancel == nil {
		return
	}
	if !w.probe.Swap(true) {
		w.strikes = 0
	}
	if w.strikes++; w.strikes > watchChecks {
		w.fired.Store(true)
		w.cancel(errIdle)
		return
	}
	w.timer.Reset(w.period)
}
