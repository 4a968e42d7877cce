package agent

import "context"

// Compactor shortens a history to a token budget without losing what matters. Package compaction
// implements it.
type Compactor interface {
	Compact(ctx context.Context, msgs []Message, budget int) ([]Message, CompactionReport, error)
}

// CompactionReport describes the effects of a compaction.
type CompactionReport struct {
	Before  int      `json:"before"`            // estimated tokens before
	After   int      `json:"after"`             // estimated tokens after
	Pruned  int      `json:"pruned,omitempty"`  // results replaced by stubs
	Summary bool     `json:"summary,omitempty"` // a model wrote a summary
	Notes   []string `json:"notes,omitempty"`
	Usage   Usage    `json:"usage,omitzero"` // tokens the compaction itself spent
	// Estimated is the part of Usage in calls that broke or were cancelled, so that the provider
	// did not report it in full; see [CallUsage].
	Estimated Usage `json:"estimated,omitzero"`
}

// compactionPlanner is a [Compactor] that also decides when compacting a history within its budget
// pays, because removing text saves more than the broken prompt cache costs.
type compactionPlanner interface {
	Due(msgs []Message) bool
}

type liveRequestKey struct{}

type liveRequest struct {
	req    *Request
	tokens int64
}

// WithLiveRequest returns a context that carries the request a compaction is for. The loop calls a
// [Compactor] with one; a host that compacts on its own may do the same. tokens is the size of the
// prompt, or 0 if unknown.
func WithLiveRequest(ctx context.Context, req *Request, tokens int64) context.Context {
	return context.WithValue(ctx, liveRequestKey{}, &liveRequest{req, tokens})
}

// LiveRequest returns the request in which a [Compactor] makes room. Its instructions and tools
// take up room too, and asking for a summary as a continuation of it finds the prompt cache warm.
// It is nil outside a run. tokens is the size of its prompt according to the provider's reports, or
// 0 without reports.
func LiveRequest(ctx context.Context) (req *Request, tokens int64) {
	if l, ok := ctx.Value(liveRequestKey{}).(*liveRequest); ok {
		return l.req, l.tokens
	}
	return nil, 0
}

// compact shortens the history to a budget. If the compactor fails, or breaks the pairing of calls
// and results, or returns its argument, the history stays unchanged.
func (r *run) compact(budget int) error {
	s := r.session
	req := *r.prompt.fill()
	before := s.Messages()
	r.routes.reset() // the summariser may be a router
	ctx := WithRouteTrace(WithLiveRequest(r.ctx, &req, r.prompt.tokens), &r.routes.trace)
	after, rep, err := r.agent.cfg.Compactor.Compact(ctx, before, budget)
	if r.routes.reported() {
		rep.Usage, rep.Estimated = rep.Usage.without(rep.Estimated), Usage{}
	}
	meta, broken := r.routes.bill(rep.Usage)
	meta.estimated = meta.estimated || rep.Estimated != Usage{}
	r.account.charge(&meta, 0)
	if broken != nil {
		return broken
	}
	if err == nil {
		err = CheckPairing(after)
	}
	if err != nil {
		if l := r.agent.cfg.Logger; l != nil {
			l.Warn("agent: compaction failed; the history stays as it is", "err", err)
		}
	}
	if err != nil || sameMessages(before, after) {
		if meta.free() {
			return nil
		}
		return s.addSpend(&meta)
	}
	rep.Usage = meta.usage
	if err := s.compacted(after, rep, &meta); err != nil {
		return err
	}
	r.prompt.tokens = 0
	r.out.send(Compacted{Report: rep})
	return nil
}

// sameMessages reports whether a compactor returned the slice that it received.
func sameMessages(a, b []Message) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
