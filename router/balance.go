package router

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// BalanceConfig describes a [RoundRobin] or a [LeastLoaded].
type BalanceConfig struct {
	Name    string   // of the router; empty means "round-robin" or "least-loaded"
	Members []Member // equal endpoints, such as one model in several regions

	// InFlight is the number of requests in flight from this router at which a member is full, so
	// that conversations whose home is that member go elsewhere. With 0, RoundRobin never moves
	// conversations from their home, and LeastLoaded allows a quarter more than an even share.
	InFlight int
	// Cooldown limits how long a conversation avoids a member whose answer broke off in the middle.
	// 0 means a minute.
	Cooldown time.Duration

	Now func() time.Time // nil means time.Now
}

// RoundRobin is a model that distributes its requests over equal members. A RoundRobin is safe for
// concurrent use.
//
// A conversation (an [agent.Request.SessionID]) has a home member, which is the same in every
// process while the members do not change, so that the home's prompt cache can be used. Requests
// without a SessionID take turns. A request goes to another member if the home is full or refuses;
// after a failure, other members are asked as with [Fallback]. When a member joins or leaves, only
// the conversations in that member's share move.
type RoundRobin struct{ *balancer }

// LeastLoaded is a [RoundRobin] that sends requests without a home to the member with the fewest
// requests in flight. It also moves conversations away from a home that has more than its share.
type LeastLoaded struct{ *balancer }

// NewRoundRobin checks cfg and returns a router.
func NewRoundRobin(cfg BalanceConfig) (*RoundRobin, error) {
	b, err := newBalancer("round-robin", cfg)
	if err != nil {
		return nil, err
	}
	return &RoundRobin{b}, nil
}

// NewLeastLoaded checks cfg and returns a router.
func NewLeastLoaded(cfg BalanceConfig) (*LeastLoaded, error) {
	b, err := newBalancer("least-loaded", cfg)
	if err != nil {
		return nil, err
	}
	b.byLoad = true
	return &LeastLoaded{b}, nil
}

type balancer struct {
	*pool
	cfg    BalanceConfig
	byLoad bool
	seeds  []uint64 // hashes of the members' names
	broken broken

	mu   sync.Mutex // makes choosing a member and counting the request one atomic step
	turn int
}

func newBalancer(kind string, cfg BalanceConfig) (*balancer, error) {
	p, err := newPool(kind, cfg.Name, cfg.Members, cfg.Now)
	if err != nil {
		return nil, err
	}
	if cfg.InFlight < 0 || cfg.Cooldown < 0 {
		return nil, errors.New("router: new " + kind + ": InFlight and Cooldown must be 0 or more")
	}
	cfg.Cooldown = cmp.Or(cfg.Cooldown, time.Minute)
	b := &balancer{pool: p, cfg: cfg}
	for _, m := range p.members {
		b.seeds = append(b.seeds, mix(hash(fnvOffset, m.Name)))
	}
	return b, nil
}

// Load returns the number of requests that each member has in flight, by name.
func (b *balancer) Load() map[string]int {
	out := make(map[string]int, len(b.members))
	for _, m := range b.members {
		out[m.Name] = int(m.load.Load())
	}
	return out
}

// Stream answers with the home of the conversation, or with the next member in turn if there is no
// home.
func (b *balancer) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		c := chain{pool: b.pool, ctx: ctx, req: req, yield: yield, loads: true, demand: b.demand(req)}
		var room [8]*member
		order := b.choose(&c, append(room[:0], b.members...))
		out := c.run(order, 0)
		if c.counted != nil { // the member was passed over after all
			c.counted.load.Add(-1)
		}
		if out == outcomeBroken {
			b.broken.note(sessionKey(req), c.last.index, b.now(), b.cfg.Cooldown)
		}
	}
}

// choose sorts the members into the order in which they are asked, and adds the request to the load
// of the first.
func (b *balancer) choose(c *chain, order []*member) []*member {
	home := c.req.SessionID != ""
	key := sessionKey(c.req)
	if home {
		b.rank(order, key)
	}
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case home:
		c.reason = "home of the conversation"
	case b.byLoad:
		c.reason = "fewest requests under way"
		b.rotate(order)
		slices.SortStableFunc(order, func(a, b *member) int { return cmp.Compare(a.load.Load(), b.load.Load()) })
	default:
		c.reason = "its turn"
		b.rotate(order)
	}
	first := order[0]
	b.spill(c, order, now, home)
	if bad := b.brokenIn(key, now); bad >= 0 && order[0].index == bad && len(order) > 1 {
		copy(order, order[1:])
		order[len(order)-1] = b.members[bad]
	}
	if order[0] != first {
		c.reason = "in place of " + first.Name
	}
	c.counted = order[0]
	c.counted.load.Add(1)
	return order
}

func (b *balancer) brokenIn(key uint64, now time.Time) int {
	if b.broken.empty() {
		return -1
	}
	return b.broken.find(key, now)
}

// rank orders members by rendezvous hashing: each member has a score for the conversation, and the
// one with the highest score is the conversation's home.
func (b *balancer) rank(order []*member, key uint64) {
	slices.SortFunc(order, func(x, y *member) int {
		return cmp.Or(cmp.Compare(mix(b.seeds[y.index]^key), mix(b.seeds[x.index]^key)), cmp.Compare(x.index, y.index))
	})
}

// rotate moves the member that follows the last used one to the front. b.mu is held.
func (b *balancer) rotate(order []*member) {
	for i := range order {
		order[i] = b.members[(b.turn+i)%len(order)]
	}
	b.turn = (b.turn + 1) % len(order)
}

// spill moves to the front the first member that fits, accepts requests and has room. If all are
// full, it moves the least loaded one.
func (b *balancer) spill(c *chain, order []*member, now time.Time, home bool) {
	limit := b.limit(home)
	best, least := -1, 0
	for i, m := range order {
		if !m.fits(c.demand) || m.blocked(now) > 0 {
			continue
		}
		load := int(m.load.Load())
		if limit == 0 || load < limit {
			best = i
			break
		}
		if best < 0 || load < least {
			best, least = i, load
		}
	}
	if best > 0 {
		m := order[best]
		copy(order[1:best+1], order[:best])
		order[0] = m
	}
}

// limit returns the number of requests at which a member is full, or 0 if there is no limit. b.mu
// is held.
func (b *balancer) limit(home bool) int {
	if b.cfg.InFlight > 0 || !b.byLoad || !home {
		return b.cfg.InFlight
	}
	total := 1
	for _, m := range b.members {
		total += int(m.load.Load())
	}
	return (5*total + 4*len(b.members) - 1) / (4 * len(b.members)) // bounded loads, with a factor of 1.25
}
