package scheduler

import (
	"context"
	"slices"
	"time"
)

// submit puts sequences into the queue: one sequence, or one with its riders.
func (e *Engine) submit(seqs ...*sequence) error {
	if ctx := seqs[0].ctx; ctx.Err() != nil {
		return context.Cause(ctx)
	}
	now := e.cfg.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closing {
		return ErrClosed
	}
	if withoutRiders(e.queue) >= e.cfg.Queue {
		e.metrics.refused()
		turn := e.turn
		if turn == 0 { // no request has ended yet
			turn = time.Second
		}
		return &BusyError{Queued: len(e.queue), Wait: turn * time.Duration(len(e.queue)+1) / time.Duration(e.cfg.Slots)}
	}
	for _, s := range seqs {
		e.nextID++
		s.id, s.queued = e.nextID, now
		e.queue = append(e.queue, s)
	}
	e.poke()
	return nil
}

// withoutRiders returns the number of sequences that need a separate slot.
func withoutRiders(list []*sequence) int {
	n := 0
	for _, s := range list {
		if !s.rider {
			n++
		}
	}
	return n
}

// cancel ends a sequence that its reader has left. It does nothing if the sequence has already
// ended.
func (e *Engine) cancel(s *sequence) {
	if s.cancelled.Swap(true) {
		return
	}
	e.mu.Lock()
	if i := slices.Index(e.queue, s); i >= 0 && !s.admitted {
		e.queue = slices.Delete(e.queue, i, i+1)
		if s.task != taskExpand {
			e.metrics.left()
		}
	}
	e.mu.Unlock()
	e.poke()
}

func (e *Engine) poke() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}
