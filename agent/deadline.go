package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

var errToolTimeout = errors.New("agent: the tool's time limit was reached")

// deadline cancels a call at its time limit, and abandons it if it ignores the cancellation during
// the grace period.
type deadline struct {
	mu      sync.Mutex // guards the fields below
	timer   *time.Timer
	expired bool // the limit was reached
	stopped bool // the call returned
}

// start starts the timer. cancel cancels the call, abandon abandons it.
func (d *deadline) start(limit, grace time.Duration, cancel context.CancelCauseFunc, abandon func(text string)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer = time.AfterFunc(limit, func() {
		if d.first() {
			cancel(errToolTimeout)
			d.again(grace)
			return
		}
		abandon(fmt.Sprintf("The tool did not stop %s after its time limit of %s: it was left behind and may still be running.", grace, limit))
	})
}

// first reports whether this is the first time that the limit is reached.
func (d *deadline) first() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	first := !d.expired
	d.expired = true
	return first
}

// again starts the grace period, unless the call has returned meanwhile.
func (d *deadline) again(grace time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.stopped {
		d.timer.Reset(grace)
	}
}

// stop stops the timer because the call returned.
func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	d.timer.Stop()
}
