package router

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// AutoConfig describes an [Auto]. A zero field takes the default in its comment.
type AutoConfig struct {
	Name    string   // of the router; "auto"
	Members []Member // at most 32

	// Priors holds, by member name, the share of tasks that the member is expected to do well
	// before any outcome is known. Members not listed are ranked by price: from 0.5 for the
	// cheapest to 0.7.
	Priors map[string]float64
	Worth  float64 // value in dollars of a task done well; 1. A summary is worth a tenth of it, a title a hundredth
	Hurry  float64 // cost in dollars of a second of waiting, for members whose Speed is known; 0

	// State is the file that keeps the learned observations; several processes may share it. If
	// State is empty, they are kept in memory.
	State string

	Failures int           // failing tool calls in a row that count as a failure of the member; 5; if negative, they never do
	Repeats  int           // identical calls with identical results that count as a failure of the member; 3; if negative, they never do
	CacheFor time.Duration // how long a provider keeps a prompt cache; 5 minutes

	Random func() float64   // uniform in [0,1); nil means math/rand/v2
	Now    func() time.Time // nil means time.Now
}

// Auto is a model that chooses among its members by what it has learned about them: a single entry
// point to a pool. An Auto is safe for concurrent use.
//
// It considers the purpose of the request, its size, the capabilities that it needs, and how often
// the current task has failed already. It ignores the prompt's text: no feature of the text
// predicted, across repositories, which model would succeed. From outcomes of similar cases, a
// [Bandit] draws for each member a probability of doing the task well, and weighs it against the
// expected cost.
//
//   - Members that cannot take the request, or that asked not to be called yet, are not considered.
//   - A conversation stays with its member while a task lasts, since its prompt is cached there. A
//     change is considered when a task begins, when the history was rewritten (then a change is
//     free), and when the member failed, that is, when its calls failed or were repeated, or when
//     [Auto.Outcome] reported a failure. The cost of sending the prompt again is then taken into
//     account. A member that failed is not chosen again for the same task while there are others.
//   - A member that fails to answer is replaced by the next best at once.
//   - Outcomes come from the host ([Auto.Outcome], [Auto.Verified]) and, if the messages show them,
//     from the conversation.
//   - The reason of each attempt includes the case, the probability and cost of each member, and
//     the reasons why other members were left out.
//
// The assignment of conversations to members is kept in memory. After a restart the choice is made
// again; by then the provider's cache is mostly gone as well. Conversations without a SessionID are
// identified by their first message.
type Auto struct {
	*pool
	cfg    AutoConfig
	bandit *Bandit
	limits planLimits
	heard  bool // a member is a router whose own members report their cost

	mu       sync.Mutex
	sessions map[uint64]*autoSession
	order    autoList // least recently used first
}

// NewAuto checks cfg, reads its State if it names one, and returns a router.
func NewAuto(cfg AutoConfig) (*Auto, error) {
	p, err := newPool("auto", cfg.Name, cfg.Members, cfg.Now)
	if err != nil {
		return nil, err
	}
	if !(cfg.Hurry >= 0) || cfg.CacheFor < 0 {
		return nil, errors.New("router: new auto: Hurry and CacheFor must be 0 or more")
	}
	if cfg.Worth == 0 {
		cfg.Worth = 1
	}
	if cfg.CacheFor == 0 {
		cfg.CacheFor = 5 * time.Minute
	}
	arms, err := armsOf(p.members, cfg.Priors)
	if err != nil {
		return nil, err
	}
	a := &Auto{pool: p, cfg: cfg, sessions: map[uint64]*autoSession{}}
	a.limits = planLimits{seed: maphash.MakeSeed(), failures: orDefault(cfg.Failures, 5), repeats: orDefault(cfg.Repeats, 3)}
	for _, m := range p.members {
		a.heard = a.heard || m.Price == nil && agent.ReportsCost(m.Model)
	}
	if a.bandit, err = NewBandit(BanditConfig{Arms: arms, Worth: cfg.Worth, Random: cfg.Random}); err != nil {
		return nil, fmt.Errorf("router: new auto: %w", err)
	}
	if cfg.State != "" {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := a.bandit.Merge(ctx, cfg.State); err != nil {
			return nil, fmt.Errorf("router: new auto: %w", err)
		}
	}
	return a, nil
}

// Stream answers with the chosen member, or the next best if it fails.
func (a *Auto) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		c := autoCall{a: a, req: req, yield: yield, demand: demandOf(req)}
		c.choose()
		w := chain{pool: a.pool, ctx: ctx, req: req, yield: c.take, demand: c.demand, reason: c.reason}
		if a.heard {
			w.ctx = agent.WithRouteTrace(ctx, &agent.RouteTrace{Routed: func(r agent.Routed) { c.heard.Add(r.MicroDollars) }})
		}
		if !a.picky {
			w.demand = demand{} // every member takes everything, so the chain need not check
		}
		out := w.run(c.ranked[:len(a.members)], 0)
		c.done(&w, out)
	}
}

// autoCall is one request in progress.
type autoCall struct {
	a      *Auto
	req    *agent.Request
	yield  func(agent.Chunk, error) bool
	demand demand

	key    uint64
	reason string
	ranked [maxArms]*member // the chosen one first

	usage   agent.Usage
	finish  agent.FinishReason
	content bool
	heard   atomic.Int64 // micro-dollars reported by the members of a member that is a router
}

// take records a chunk or error as it passes.
func (c *autoCall) take(chunk agent.Chunk, err error) bool {
	switch chunk := chunk.(type) {
	case agent.Usage:
		c.usage = chunk
	case agent.Finish:
		c.finish = chunk.Reason
	default:
		c.content = c.content || chunk != nil
	}
	return c.yield(chunk, err)
}

// choose ranks the members for the request.
func (c *autoCall) choose() {
	a := c.a
	c.key = conversationKey(c.req.SessionID, c.req.Messages)
	now := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.session(c.key)
	s.renew(c.req.Epoch)
	e := s.episode(c.req.Purpose)
	began := taskStart(c.req.Messages)
	s.look(c.req.Messages, began, a.limits.seed)
	switch {
	case single(c.req.Purpose):
	case e.open && e.task != began: // the next task has begun, and nobody reported an outcome of the last one
		*e = episode{purpose: e.purpose}
		s.failures, s.failed = 0, 0
	case e.open && s.run.stray(&a.limits) != "":
		s.trouble = a.members[e.member].Name + " did not do well: " + s.run.stray(&a.limits)
		s.fail(e.member)
		a.close(e, 0)
		s.run = planRun{}
	}
	if e.open && !e.again && s.avoid != e.member+1 && a.holds(e.member, c.demand, now) {
		c.reason = e.reason
		c.rank(e.member, nil, nil)
		return
	}
	c.decide(s, e, began, now)
}

// holds reports whether a member can continue its conversation.
func (a *Auto) holds(member int, d demand, now time.Time) bool {
	m := a.members[member]
	return m.fits(d) && m.blocked(now) == 0
}

// done records the outcome of the call.
func (c *autoCall) done(w *chain, out outcome) {
	if w.last == nil {
		return
	}
	a, m := c.a, w.last
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.sessions[c.key]
	if s == nil { // the conversation was forgotten meanwhile
		return
	}
	e := s.episode(c.req.Purpose)
	if e.open && e.member != m.index { // another member answered
		a.hand(e, m)
	}
	e.dollars += c.dollars(m)
	switch out {
	case outcomeAnswered:
		s.avoid = 0
		s.cached(m.index, c.demand.tokens, a.now())
	case outcomeBroken, outcomeFailed:
		s.avoid = m.index + 1 // the loop retries, and another member may answer
	}
	if single(c.req.Purpose) && e.open && out != outcomeLeft {
		good := 0.0
		if out == outcomeAnswered && c.content && c.finish == agent.FinishStop {
			good = 1
		}
		a.close(e, good)
	}
}

// hand moves an episode to another member.
func (a *Auto) hand(e *episode, m *member) {
	e.member = m.index
	e.expected = labourOf(e.purpose).expect(m.Price, float64(e.tokens))
	e.reason = stays(m)
}

// dollars returns the cost of the call.
func (c *autoCall) dollars(m *member) float64 {
	if c.a.heard {
		return float64(c.heard.Load()) / 1e6
	}
	if m.Price == nil {
		return 0
	}
	return float64(m.Price.Cost(c.usage)) / 1e6
}
