package router

import (
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// Member is a model that a router may choose, and what is known about it.
type Member struct {
	Model agent.Model // required; may be a router itself
	// Name identifies the member in events and errors. If Name is empty, the model's name is used,
	// with a number if two members share it.
	Name string
	// Price is the model's price list. If Price is nil, the name is looked up in
	// agent.DefaultPrices; for a model that costs nothing, set &agent.Price{}. A member that is a
	// router needs no price: each of its own members has one.
	Price      *agent.Price
	Speed      float64 // output tokens per second; 0 if unknown
	MaxContext int     // tokens of prompt and answer together; 0 means the limit in the model's Capabilities
}

// member is a Member with the router's own state about it.
type member struct {
	Member
	index   int
	caps    agent.Capabilities
	cannot  needs // the needs of a request that the model cannot meet
	priced  bool
	blocker blocker      // nil if the model does not implement it
	load    atomic.Int32 // requests in flight, if the router counts them
	until   atomic.Int64 // end of the last Retry-After, in Unix nanoseconds
}

// blocker is a model that can report how long it will refuse every request, such as [Breaker].
type blocker interface{ Blocked() time.Duration }

// pool is the part that all routers share: a name, members and a clock. Its methods are promoted to
// every router.
type pool struct {
	name    string
	members []*member
	caps    agent.Capabilities
	picky   bool // some member cannot take every request
	now     func() time.Time
}

// newPool checks members and looks up their prices and capabilities. If name is empty, the router
// is named kind.
func newPool(kind, name string, members []Member, now func() time.Time) (*pool, error) {
	p := &pool{name: name, now: now}
	if p.name == "" {
		p.name = kind
	}
	if p.now == nil {
		p.now = time.Now
	}
	if len(members) == 0 {
		return nil, fmt.Errorf("router: new %s: it has no members; give it at least one", kind)
	}
	names := map[string]int{}
	for i, m := range members {
		pm, err := newMember(i, m, names)
		if err != nil {
			return nil, fmt.Errorf("router: new %s: member %d: %w", kind, i+1, err)
		}
		p.members = append(p.members, pm)
		p.picky = p.picky || pm.cannot != 0 || pm.MaxContext > 0
	}
	p.caps = combine(p.members)
	return p, nil
}

func newMember(i int, m Member, names map[string]int) (*member, error) {
	if m.Model == nil {
		return nil, errors.New("Model is nil; set it to a backend or to another router")
	}
	given := m.Name != ""
	if !given {
		if m.Name = agent.ModelName(m.Model); m.Name == "" {
			m.Name = "member " + strconv.Itoa(i+1)
		}
	}
	out := &member{index: i}
	out.caps, _ = agent.CapabilitiesOf(m.Model)
	if m.Price == nil {
		if p, ok := agent.DefaultPrices().Find(m.Name); ok {
			m.Price = &p
		} else if p, ok := agent.DefaultPrices().Find(agent.ModelName(m.Model)); ok {
			m.Price = &p
		}
	} else if p := *m.Price; p.Input < 0 || p.CachedInput < 0 || p.CacheWrite < 0 || p.Output < 0 {
		return nil, fmt.Errorf("%s has a negative price", m.Name)
	}
	if names[m.Name]++; names[m.Name] > 1 {
		if given {
			return nil, fmt.Errorf("the name %q is taken; give each member its own", m.Name)
		}
		m.Name += "#" + strconv.Itoa(names[m.Name])
	}
	if m.MaxContext == 0 {
		m.MaxContext = out.caps.MaxContext
	}
	if m.MaxContext < 0 || m.Speed < 0 {
		return nil, fmt.Errorf("%s: MaxContext and Speed must be 0 or more", m.Name)
	}
	out.Member = m
	out.cannot = refuses(&out.caps)
	out.priced = m.Price != nil || agent.ReportsCost(m.Model)
	out.blocker, _ = m.Model.(blocker)
	return out, nil
}

// Name returns the router's name.
func (p *pool) Name() string { return p.name }

// Capabilities returns the capabilities of the router: it takes whatever any member can take, and
// promises only what all members promise.
func (p *pool) Capabilities() agent.Capabilities { return p.caps }

// ReportsCost reports whether every member has a price, so that the cost of each call is known.
func (p *pool) ReportsCost() bool {
	for _, m := range p.members {
		if !m.priced {
			return false
		}
	}
	return true
}

// Blocked returns how long every member will refuse requests, or 0 if one of them may answer.
func (p *pool) Blocked() time.Duration {
	now := p.now()
	least := p.members[0].blocked(now)
	for _, m := range p.members[1:] {
		least = min(least, m.blocked(now))
	}
	return least
}

// blocked returns how long the member will refuse every request, or 0 if it may take one.
func (m *member) blocked(now time.Time) time.Duration {
	var d time.Duration
	if until := m.until.Load(); until != 0 {
		d = max(0, time.Duration(until-now.UnixNano()))
	}
	if m.blocker != nil {
		d = max(d, m.blocker.Blocked())
	}
	return d
}

// maxRetryAfter limits how long a Retry-After is remembered: otherwise a provider's mistake could
// lock the member out for days.
const maxRetryAfter = time.Hour

// learn remembers the parts of an error that concern future requests.
func (m *member) learn(now time.Time, err *agent.ModelError) {
	if err != nil && err.RetryAfter > 0 {
		m.until.Store(now.Add(min(err.RetryAfter, maxRetryAfter)).UnixNano())
	}
}
