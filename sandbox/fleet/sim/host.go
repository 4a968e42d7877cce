package sim

import (
	"slices"
	"time"
)

// serve admits waiting requests while there are places.
func (w *world) serve(h *host) {
	for h.busy < w.cfg.Places && !h.dead {
		q, ok := h.wait.Pop()
		if !ok {
			return
		}
		h.busy++
		h.serving[q] = true
		q.tries++
		try := q.tries
		d := w.fetch(h, q.snapshot) + w.open(h, q)
		w.after(d, func() {
			if q.tries == try {
				w.opened(h, q, try)
			}
		})
	}
}

// fetch returns the time until the host has a snapshot.
func (w *world) fetch(h *host, snapshot int) time.Duration {
	_, have := h.snapshots[snapshot]
	h.snapshots[snapshot] = w.now
	if have {
		return 0
	}
	w.report.fetched++
	if w.cfg.Cache > 0 && len(h.snapshots) > w.cfg.Cache {
		oldest, at := -1, time.Duration(-1)
		for i := range w.cfg.Snapshots {
			if used, ok := h.snapshots[i]; ok && i != snapshot && (at < 0 || used < at) {
				oldest, at = i, used
			}
		}
		delete(h.snapshots, oldest)
	}
	return w.cfg.Measured.Fetch.Draw(w.r)
}

// open returns the time until a sandbox is open. It takes a sandbox that the same tenant used
// before, or else a ready one, or else a new one.
func (w *world) open(h *host, q *request) time.Duration {
	m := &w.cfg.Measured
	if i := slices.IndexFunc(h.idle, func(b *box) bool { return b.tenant == q.tenant }); i >= 0 {
		q.box = h.idle[i]
		h.idle = slices.Delete(h.idle, i, i+1)
		q.box.uses++
		w.report.recycled++
		return m.Lease.Draw(w.r) // it was prepared when the tenant returned it
	}
	q.box = &box{tenant: q.tenant, uses: 1}
	if h.spares > 0 {
		h.spares--
		w.report.warm++
		w.after(m.Create.Draw(w.r), func() { h.spares = min(h.spares+1, w.cfg.Spares) })
		return m.Lease.Draw(w.r)
	}
	w.report.cold++
	return m.Create.Draw(w.r)
}

// opened handles the event that a client gets its sandbox.
func (w *world) opened(h *host, q *request, try int) {
	w.report.wait(q.tenant, w.now-q.asked)
	hold := w.cfg.Measured.Hold.Draw(w.r)
	if w.r.Float64() < w.cfg.Dying { // the client dies, so nobody returns the sandbox
		w.report.expired++
		hold = time.Duration(float64(hold)*w.r.Float64()) + w.cfg.TTL
		q.box.uses = w.cfg.MaxUses // and its content cannot be trusted
	}
	w.after(hold, func() {
		if q.tries == try {
			w.over(h, q)
		}
	})
}

// over returns a sandbox. Its place becomes free when the sandbox is clean or gone.
func (w *world) over(h *host, q *request) {
	w.done++
	delete(h.serving, q)
	b := q.box
	w.after(w.cfg.Measured.Recycle.Draw(w.r), func() {
		if h.dead {
			return
		}
		h.busy--
		if b.uses < w.cfg.MaxUses && len(h.idle) < w.cfg.Places {
			h.idle = append(h.idle, b)
		}
		w.serve(h)
	})
}

// die removes a host with everything it holds. The host's clients notice after a while and request
// again; their waiting time counts from the first request.
func (w *world) die(h *host) {
	h.dead = true
	var lost []*request
	for q := range h.serving {
		lost = append(lost, q)
	}
	for q, ok := h.wait.Pop(); ok; q, ok = h.wait.Pop() {
		lost = append(lost, q)
	}
	slices.SortFunc(lost, func(a, b *request) int { return int(a.asked - b.asked) })
	for _, q := range lost {
		q.tries++
		w.report.moved++
		w.after(w.cfg.Presence, func() { w.place(q) })
	}
}
