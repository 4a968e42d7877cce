package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

var errToolTimeout = errors.New("agent: the tool's time limit was reached")

// deadline cancels a call at its time limit, and abandons it when it ignores that for the grace
// period.
type deadline struct {
	mu      sync.Mutex // guards what follows
	timer   *time.Timer
	expired bool // the limit was reached
	stopped bool // the call returned
}

// start begins to count. Cancel ends the call, abandon leaves it behind.
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

// first reports whether the limit is reached for the first time.
func (d *deadline) first() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	first := !d.expired
	d.expired = true
	return first
}

// again counts the grace period, unless the call has returned meanwhile.
func (d *deadline) again(grace time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.stopped {
		d.timer.Reset(grace)
	}
}

// stop ends the count: the call returned.
func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	d.timer.Stop()
}
