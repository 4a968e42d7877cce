package agent

import (
	"context"
	"fmt"

	"github.com/luthier-dev/luthier/internal/tokencount"
)

// TokenCounter is a [Model] that can count the tokens of a request exactly, such as one that runs in this process. It
// reports false for a request that it cannot count.
type TokenCounter interface {
	CountTokens(req *Request) (int, bool)
}

// compactionPlanner is a [Compactor] that can tell when a history within its budget is worth compacting, because what it
// takes out is worth more than the prompt cache that it breaks.
type compactionPlanner interface {
	Due(msgs []Message) bool
}

type liveRequestKey struct{}

type liveRequest struct {
	req    *Request
	tokens int64
}

// WithLiveRequest returns a context that carries the request a compaction is for. The loop calls a [Compactor] with one;
// a host that compacts on its own may do the same. Tokens is what the prompt is known to weigh, 0 when it is not.
func WithLiveRequest(ctx context.Context, req *Request, tokens int64) context.Context {
	return context.WithValue(ctx, liveRequestKey{}, &liveRequest{req, tokens})
}

// LiveRequest returns the request that a [Compactor] makes room in: its instructions and tools take up room too, and a
// summary that is asked for as a continuation of it finds the prompt cache warm. It is nil outside a run. Tokens is what
// the provider's reports make its prompt, 0 when they are missing.
func LiveRequest(ctx context.Context) (req *Request, tokens int64) {
	if l, ok := ctx.Value(liveRequestKey{}).(*liveRequest); ok {
		return l.req, l.tokens
	}
	return nil, 0
}

// needsCompaction reports whether the next prompt would be over budget, or the compactor finds it worth its while.
func (r *run) needsCompaction() bool {
	c := r.agent.cfg.Compactor
	if c == nil {
		return false
	}
	tokens := r.prompt
	if tokens == 0 {
		tokens = r.promptEstimate()
	}
	if tokens > int64(r.agent.cfg.ContextBudget) {
		return true
	}
	p, ok := c.(compactionPlanner)
	return ok && p.Due(r.session.Messages())
}

// promptEstimate returns the tokens of the next prompt where no provider told them: counted by a model that can, else
// estimated.
func (r *run) promptEstimate() int64 {
	if tc, ok := r.agent.cfg.Model.(TokenCounter); ok {
		r.fillRequest()
		if n, ok := tc.CountTokens(&r.req); ok {
			return int64(n)
		}
	}
	return r.session.estimate() + r.preamble()
}

// preamble returns about the tokens of instructions and tools.
func (r *run) preamble() int64 {
	n := tokencount.Estimate(r.agent.cfg.System)
	for i := range r.toolset.specs {
		t := &r.toolset.specs[i]
		n += tokencount.Estimate(t.Name) + tokencount.Estimate(t.Description) + len(t.Schema)/4
	}
	return int64(n)
}

// overflowBudget is the budget after a provider said that the prompt is too long: well below what was sent.
func (r *run) overflowBudget() int {
	sent := r.session.estimate()
	return int(min(int64(r.agent.cfg.ContextBudget), r.preamble()+sent/2))
}

// compact shortens the history to a budget. A compactor that fails, or breaks the pairing of calls and results, leaves
// the history as it was; so does one that gives back what it was given.
func (r *run) compact(budget int) error {
	s := r.session
	r.fillRequest()
	req := r.req
	before := s.Messages()
	r.resetTab() // the summariser may be a router
	ctx := WithRouteTrace(WithLiveRequest(r.ctx, &req, r.prompt), &r.routes.trace)
	after, rep, err := r.agent.cfg.Compactor.Compact(ctx, before, budget)
	meta, broken := r.settleTab(rep.Usage)
	r.charge(meta.usage, meta.cost, 0)
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
	r.prompt = 0
	r.emit(Compacted{Report: rep})
	return nil
}

// sameMessages reports whether a compactor gave back the slice it was given.
func sameMessages(a, b []Message) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// CheckPairing returns an error unless every tool call of ms has exactly one result, in the message after it and in
// call order, which is what every provider demands. Calls of the last message may still lack theirs.
func CheckPairing(ms []Message) error {
	for i, m := range ms {
		switch m.Role {
		case RoleTool:
			if i == 0 || ms[i-1].Role != RoleAssistant {
				return fmt.Errorf("agent: check pairing: message %d holds tool results and does not follow an assistant message", i)
			}
			if err := pairs(ms[i-1].Calls(), m); err != nil {
				return fmt.Errorf("agent: check pairing: message %d: %w", i, err)
			}
		case RoleAssistant:
			if len(m.Calls()) > 0 && i+1 < len(ms) && ms[i+1].Role != RoleTool {
				return fmt.Errorf("agent: check pairing: message %d has tool calls that no message answers", i)
			}
		case RoleUser:
		default:
			return fmt.Errorf("agent: check pairing: message %d has the unknown role %q", i, m.Role)
		}
	}
	return nil
}

func pairs(calls []ToolCall, m Message) error {
	if len(calls) != len(m.Parts) {
		return fmt.Errorf("%d results answer %d calls", len(m.Parts), len(calls))
	}
	for i, p := range m.Parts {
		r, ok := p.(ToolResult)
		if !ok {
			return fmt.Errorf("part %d is a %T, not a tool result", i, p)
		}
		if r.CallID != calls[i].ID {
			return fmt.Errorf("result %d answers call %q, not %q", i, r.CallID, calls[i].ID)
		}
	}
	return nil
}

// estimate returns about how many tokens the live history is.
func (s *Session) estimate() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; s.measured < len(s.live); s.measured++ { // each message once, so that a long history costs no more
		s.liveSize += partsTokens(s.live[s.measured].Parts)
	}
	return int64(s.liveSize)
}

// frameTokens is what a chat format puts around a message.
const frameTokens = 4

// imageTokens is what providers charge for a picture of about a megapixel.
const imageTokens = 1500

func partsTokens(ps []Part) int {
	n := frameTokens
	for _, p := range ps {
		switch p := p.(type) {
		case Text:
			n += tokencount.Estimate(p.Text)
		case Thinking:
			n += tokencount.Estimate(p.Text) + len(p.Signature)/8
		case ToolCall:
			n += tokencount.Estimate(p.Name) + tokencount.Estimate(string(p.Args))
		case ToolResult:
			n += partsTokens(p.Parts)
		case Opaque:
			n += len(p.Data) / 4
		case Image:
			n += imageTokens
		}
	}
	return n
}
