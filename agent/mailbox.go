package agent

import (
	"context"
	"sync"
	"sync/atomic"
)

// mailbox carries a run's events to the caller. Its words, each with one meaning:
//
//   - send gives an event to the caller now; only the loop's goroutine may.
//   - post queues an event from any goroutine.
//   - flush sends what was posted; only the loop's goroutine may.
//   - wake ends the wait of a loop that waits for its calls.
//   - interrupt makes a loop that reads a stream look up at the next chunk.
//   - leave and close end the traffic: nothing is sent, or queued, any more.
type mailbox struct {
	yield  func(Event, error) bool
	cancel context.CancelCauseFunc // ends the run when the caller leaves its event loop
	watch  *watchdog               // told that the caller is done with an event
	left   bool                    // the caller left: yield must not be called again
	spare  []Event                 // room of the last queue

	waiting atomic.Bool   // something was posted, or the loop is to look up for another reason
	bell    chan struct{} // rung by wake

	mu     sync.Mutex // guards what follows; the innermost lock of a run
	queue  []Event
	closed bool
}

// send passes an event to the caller and reports whether the caller still listens. Once the caller
// has left, send does nothing; the run's context has ended by then.
func (m *mailbox) send(ev Event) bool {
	if m.left {
		return false
	}
	if !m.yield(ev, nil) {
		m.leave()
		return false
	}
	m.watch.consumed()
	return true
}

// leave ends the run because its caller is gone.
func (m *mailbox) leave() {
	m.left = true
	m.cancel(errLeft)
}

// post queues an event; the loop sends it on. After the run nobody would, so it is dropped.
func (m *mailbox) post(ev Event) {
	m.mu.Lock()
	if !m.closed {
		m.queue = append(m.queue, ev)
		m.waiting.Store(true)
	}
	m.mu.Unlock()
	m.wake()
}

// wake rings for a loop that waits.
func (m *mailbox) wake() {
	select {
	case m.bell <- struct{}{}:
	default:
	}
}

// interrupt makes the loop look up from its stream, even when nothing was posted.
func (m *mailbox) interrupt() { m.waiting.Store(true) }

// flush sends what was posted.
func (m *mailbox) flush() {
	for m.waiting.Load() {
		m.mu.Lock()
		evs := m.queue
		m.queue = m.spare[:0]
		m.waiting.Store(false)
		m.mu.Unlock()
		for i, ev := range evs {
			m.send(ev)
			evs[i] = nil
		}
		m.spare = evs
	}
}

// close drops what is posted from now on, such as by a tool that was left behind.
func (m *mailbox) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.queue = true, nil
}
