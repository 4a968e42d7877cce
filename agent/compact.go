package agent

import "context"

// Compactor shortens a history to a token budget without losing what matters. Package compaction
// implements it.
type Compactor interface {
	Compact(ctx context.Context, msgs []Message, budget int) ([]Message, CompactionReport, error)
}

// CompactionReport says what a compaction did.
type CompactionReport struct {
	Before  int      `json:"before"`            // estimated tokens before
	After   int      `json:"after"`             // estimated tokens after
	Pruned  int      `json:"pruned,omitempty"`  // results replaced by stubs
	Summary bool     `json:"summary,omitempty"` // a model wrote a summary
	Notes   []string `json:"notes,omitempty"`
	Usage   Usage    `json:"usage,omitzero"` // tokens the compaction itself spent
}

// compactionPlanner is a [Compactor] that can tell when a history within its budget is worth
// compacting, because what it takes out is worth more than the prompt cache that it breaks.
type compactionPlanner interface {
	Due(msgs []Message) bool
}

type liveRequestKey struct{}

type liveRequest struct {
	req    *Request
	tokens int64
}

// WithLiveRequest returns a context that carries the request a compaction is for. The loop calls a
// [Compactor] with one; a host that compacts on its own may do the same. Tokens is what the prompt
// is known to weigh, 0 when it is not.
func WithLiveRequest(ctx context.Context, req *Request, tokens int64) context.Context {
	return context.WithValue(ctx, liveRequestKey{}, &liveRequest{req, tokens})
}

// LiveRequest returns the request that a [Compactor] makes room in: its instructions and tools take
// up room too, and a summary that is asked for as a continuation of it finds the prompt cache warm.
// It is nil outside a run. Tokens is what the provider's reports make its prompt, 0 when they are
// missing.
func LiveRequest(ctx context.Context) (req *Request, tokens int64) {
	if l, ok := ctx.Value(liveRequestKey{}).(*liveRequest); ok {
		return l.req, l.tokens
	}
	return nil, 0
}

// compact shortens the history to a budget. A compactor that fails, or breaks the pairing of calls
// and results, leaves the history as it was; so does one that gives back what it was given.
func (r *run) compact(budget int) error {
	s := r.session
	req := *r.prompt.fill()
	before := s.Messages()
	r.routes.reset() // the summariser may be a router
	ctx := WithRouteTrace(WithLiveRequest(r.ctx, &req, r.prompt.tokens), &r.routes.trace)
	after, rep, err := r.agent.cfg.Compactor.Compact(ctx, before, budget)
	meta, broken := r.routes.bill(rep.Usage)
	r.account.charge(meta.usage, meta.cost, 0)
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
		return s.addSpend(meta.usage, meta.cost, meta.routes...)
	}
	rep.Usage = meta.usage
	if err := s.compacted(after, rep, &meta); err != nil {
		return err
	}
	r.prompt.tokens = 0
	r.out.send(Compacted{Report: rep})
	return nil
}

// sameMessages reports whether a compactor gave back the slice it was given.
func sameMessages(a, b []Message) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
