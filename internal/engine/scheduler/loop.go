package scheduler

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// loop is the scheduler's goroutine.
func (e *Engine) loop() {
	defer close(e.done)
	for e.admit() {
		e.network.Lock()
		e.pass()
		e.network.Unlock()
	}
	for len(e.running) > 0 {
		e.fail(e.running[0], ErrClosed)
	}
	e.mu.Lock()
	waiting := e.queue
	e.queue = nil
	e.mu.Unlock()
	for _, s := range waiting {
		e.fail(s, ErrClosed)
	}
	closeIfCloser(e.f)
	if d := e.cfg.Speculation.Draft; d != nil {
		d.Close()
	}
}

func closeIfCloser(f forwarder) {
	if c, ok := f.(io.Closer); ok {
		_ = c.Close() // it only frees memory
	}
}

// admit assigns free slots to waiting sequences, and blocks while there is nothing to do. It
// returns false to end the engine.
func (e *Engine) admit() bool {
	for {
		e.reap()
		abort, idle := e.fill()
		if abort {
			return false
		}
		if len(e.running) > 0 {
			return true
		}
		if idle {
			return false
		}
		if e.cfg.Speculation.Off || !e.measure() {
			<-e.wake
		}
	}
}

// measure measures one more point of the cost curve. It returns false if there are none left.
func (e *Engine) measure() bool {
	n := 1 << e.cost.known
	if n > min(maxMeasured, e.cfg.Context-1) {
		return false
	}
	e.network.Lock()
	defer e.network.Unlock()
	err := e.guard(func() error {
		seconds, err := measurePass(e.f, n, e.cfg.Now)
		if err == nil && seconds > 0 {
			e.cost.measured(seconds)
		}
		return err
	})
	if err != nil || e.cost.known == 0 { // there is no free page, or the network fails, so the assumed curve must be used
		e.cost.known = costPoints
	}
	return true
}

// reap ends the sequences whose readers have left.
func (e *Engine) reap() {
	for i := 0; i < len(e.running); {
		if s := e.running[i]; s.gone() {
			s.err = context.Cause(s.ctx)
			e.end(s, true)
			continue
		}
		i++
	}
	e.mu.Lock()
	var gone []*sequence
	e.queue = slices.DeleteFunc(e.queue, func(s *sequence) bool {
		if s.gone() {
			gone = append(gone, s)
			return true
		}
		return false
	})
	e.mu.Unlock()
	for _, s := range gone {
		s.err = context.Cause(s.ctx)
		e.end(s, false)
	}
}

// fill moves sequences from the queue to slots, first come first served, as long as their prompts
// fit the cache.
func (e *Engine) fill() (abort, idle bool) {
	for {
		e.mu.Lock()
		abort = e.abort
		if abort || len(e.queue) == 0 || !e.queue[0].rider && withoutRiders(e.running) >= e.cfg.Slots {
			idle = e.closing && len(e.queue) == 0
			e.mu.Unlock()
			return abort, idle
		}
		s := e.queue[0]
		before := s.admitted
		s.admitted = true // if it is cancelled from now on, reap ends it
		e.mu.Unlock()
		ok := e.begin(s)
		e.mu.Lock()
		if ok {
			e.queue = slices.Delete(e.queue, 0, 1)
		} else {
			s.admitted = before
		}
		e.mu.Unlock()
		if !ok {
			return false, false
		}
	}
}

// begin assigns a sequence a slot and the cached pages of its prefix. It returns false if its pages
// would not fit now.
func (e *Engine) begin(s *sequence) bool {
	e.reuse(s)
	missing := transformer.PagesFor(len(s.tokens)+1) - len(s.kv.Pages)
	for _, r := range e.running {
		missing += max(0, transformer.PagesFor(len(r.tokens)+1)-len(r.kv.Pages))
	}
	if len(e.running) > 0 && e.f.free() < missing && e.f.free()+e.tree.evictable(missing) < missing {
		e.drop(s)
		return false
	}
	e.running = append(e.running, s)
	if err := e.guard(func() error { s.start(e, e.cfg.Now()); return nil }); err != nil {
		e.fail(s, err)
		return true
	}
	s.stats.Cached = max(s.stats.Cached, min(s.kv.Len, len(s.req.Prompt)))
	e.metrics.admitted(s)
	if s.task == taskGenerate && s.generated() == 0 {
		if err := e.guard(func() error { return e.force(s) }); err != nil {
			e.fail(s, err)
		} else if s.ended {
			e.end(s, true)
		} else {
			s.flush()
		}
	}
	return true
}

// guard turns a panic into an error, so that one request's failure does not affect others.
func (e *Engine) guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("scheduler: generate: internal failure: %v", r)
		}
	}()
	return f()
}

// endSpeculation closes the drafters of a sequence.
func (e *Engine) endSpeculation(s *sequence) {
	if sp := s.spec; sp != nil {
		s.spec = nil
		_ = e.guard(func() error { sp.close(e); return nil })
	}
}

// fail ends a sequence with an error and discards its pages.
func (e *Engine) fail(s *sequence, err error) {
	s.err = err
	e.end(s, false)
}

// end removes a sequence from the engine; the parameter keep reports whether its keys and values
// stay in the prompt cache.
func (e *Engine) end(s *sequence, keep bool) {
	if i := slices.Index(e.running, s); i >= 0 {
		e.running = slices.Delete(e.running, i, i+1)
	}
	s.fed = 0
	if keep {
		e.remember(s)
	}
	e.drop(s)
	e.endSpeculation(s)
	now := e.cfg.Now()
	if s.first.IsZero() {
		s.first = now
	}
	s.stats.Prefill, s.stats.Decode = s.first.Sub(s.started), now.Sub(s.first)
	if !s.started.IsZero() && s.task != taskExpand {
		e.mu.Lock()
		took := now.Sub(s.started)
		if e.turn == 0 {
			e.turn = took
		}
		e.turn += (took - e.turn) / 8
		e.mu.Unlock()
	}
	e.metrics.finished(s, e.f.free(), len(e.running))
	if s.err == nil {
		stats := s.stats
		s.out = append(s.out, Token{ID: -1, Final: &stats})
	}
	s.send(s.out, true, s.err)
	s.out = nil
}
