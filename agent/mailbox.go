package agent

import (
	"context"
	"sync"
	"sync/atomic"
)

// mailbox carries a run's events to the caller. Each of its verbs has one meaning:
//
//   - send passes an event to the caller now; only the loop's goroutine may call it.
//   - post queues an event from any goroutine.
//   - flush sends what was posted; only the loop's goroutine may call it.
//   - wake wakes a loop that waits for its calls.
//   - interrupt makes a loop that reads a stream check for work at the next chunk.
//   - leave and close end the traffic: nothing more is sent or queued.
type mailbox struct {
	yield  func(Event, error) bool
	cancel context.CancelCauseFunc // ends the run when the caller leaves its event loop
	watch  *watchdog               // notified when the caller is done with an event
	left   bool                    // the caller left: yield must not be called again
	spare  []Event                 // memory of the last queue
	log    *debugLog               // logs what is sent; nil if nobody reads it

	waiting atomic.Bool   // something was posted, or the loop must check for work for another reason
	bell    chan struct{} // signalled by wake

	mu     sync.Mutex // guards the fields below; the innermost lock of a run
	queue  []Event
	closed bool
}

// send passes an event to the caller and reports whether the caller is still listening. Once the
// caller has left, send does nothing; the run's context has ended by then.
func (m *mailbox) send(ev Event) bool {
	if m.left {
		return false
	}
	m.log.event(ev)
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

// post queues an event, which the loop sends later. After the run has ended, nobody would send it,
// so it is dropped.
func (m *mailbox) post(ev Event) {
	m.mu.Lock()
	if !m.closed {
		m.queue = append(m.queue, ev)
		m.waiting.Store(true)
	}
	m.mu.Unlock()
	m.wake()
}

// wake signals a waiting loop.
func (m *mailbox) wake() {
	select {
	case m.bell <- struct{}{}:
	default:
	}
}

// interrupt makes a loop that reads a stream check for work, even if nothing was posted.
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

// close drops everything posted from now on, for example by an abandoned tool call.
func (m *mailbox) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.queue = true, nil
}
