package agent

// emit gives an event to the consumer. It runs on the loop's goroutine only. It reports whether the consumer is still
// there; after it left, nothing more is sent and the run's context has ended.
func (r *run) emit(ev Event) bool {
	if r.left {
		return false
	}
	if !r.yield(ev, nil) {
		r.left = true
		r.cancel(errLeft)
		return false
	}
	r.watch.consumed()
	return true
}

// post queues an event from any goroutine; the loop sends it on. After the run nobody would: the event is dropped.
func (r *run) post(ev Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.queue = append(r.queue, ev)
		r.wakeLoop()
	}
}

// closeQueue drops what is posted from now on, such as by a tool that was left behind.
func (r *run) closeQueue() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended, r.queue = true, nil
}

// poke changes shared state under the lock and wakes the loop and the calls that wait their turn.
func (r *run) poke(change func()) {
	r.mu.Lock()
	if change != nil {
		change()
	}
	r.signal()
	r.mu.Unlock()
}

// signal wakes everyone who waits for shared state. r.mu is held.
func (r *run) signal() {
	r.turn.Broadcast()
	r.wakeLoop()
}

// wakeLoop wakes the loop only, to send what is queued. r.mu is held.
func (r *run) wakeLoop() {
	if len(r.queue) > 0 {
		r.queued.Store(true)
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// drain sends what is queued.
func (r *run) drain() {
	for r.queued.Load() {
		r.mu.Lock()
		evs := r.queue
		r.queue = r.spare[:0]
		r.queued.Store(false)
		r.mu.Unlock()
		for i, ev := range evs {
			r.emit(ev)
			evs[i] = nil
		}
		r.spare = evs
	}
}
