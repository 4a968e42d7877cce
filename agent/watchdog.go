package agent

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// watchdog cancels a stream that stays silent. It costs one atomic store when a chunk arrives and one when it was
// consumed: a timer looks at the counter a few times per idle period, and time the consumer takes does not count.
type watchdog struct {
	state atomic.Uint64 // even: waiting for the model; odd: with the consumer
	n     uint64        // last value stored, for the loop's goroutine only

	mu      sync.Mutex
	timer   *time.Timer
	period  time.Duration
	cancel  context.CancelCauseFunc // of the stream in progress; nil between streams
	seen    uint64
	strikes int
}

const watchChecks = 4 // looks per idle period

// consumer says that the consumer has control.
func (w *watchdog) consumer() { w.n++; w.state.Store(w.n) }

// model says that the model has control again.
func (w *watchdog) model() { w.n++; w.state.Store(w.n) }

// watch begins to watch a stream.
func (w *watchdog) watch(idle time.Duration, cancel context.CancelCauseFunc) {
	if idle <= 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancel, w.period, w.strikes, w.seen = cancel, max(idle/watchChecks, time.Millisecond), 0, w.state.Load()
	if w.timer == nil {
		w.timer = time.AfterFunc(w.period, w.look)
	} else {
		w.timer.Reset(w.period)
	}
}

// unwatch ends the watch of the stream.
func (w *watchdog) unwatch() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancel = nil
	if w.timer != nil {
		w.timer.Stop()
	}
}

func (w *watchdog) close() { w.unwatch() }

func (w *watchdog) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cancel == nil {
		return
	}
	now := w.state.Load()
	if now != w.seen || now%2 == 1 {
		w.seen, w.strikes = now, 0
	} else if w.strikes++; w.strikes >= watchChecks {
		w.cancel(errIdle)
		return
	}
	w.timer.Reset(w.period)
}
