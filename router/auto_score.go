package router

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// armsOf assigns a prior to each member: the one from the host, or else one by the rank of the
// member's price.
func armsOf(ms []*member, priors map[string]float64) ([]Arm, error) {
	for name, p := range priors {
		if !slices.ContainsFunc(ms, func(m *member) bool { return m.Name == name }) {
			return nil, fmt.Errorf("router: new auto: Priors names %q, which is no member", name)
		}
		if !(p > 0 && p < 1) {
			return nil, fmt.Errorf("router: new auto: the prior of %q is %v; it must lie between 0 and 1", name, p)
		}
	}
	var prices []int64
	for _, m := range ms {
		if m.Price != nil {
			prices = append(prices, m.Price.Output)
		}
	}
	slices.Sort(prices)
	prices = slices.Compact(prices)
	arms := make([]Arm, len(ms))
	for i, m := range ms {
		arms[i] = Arm{Name: m.Name, Prior: 0.6}
		if p, ok := priors[m.Name]; ok {
			arms[i].Prior = p
		} else if m.Price != nil && len(prices) > 1 {
			rank, _ := slices.BinarySearch(prices, m.Price.Output)
			arms[i].Prior = 0.5 + 0.2*float64(rank)/float64(len(prices)-1)
		}
	}
	return arms, nil
}

// labour is the approximate size of a task of a purpose, from recorded runs of coding agents. The
// bandit corrects the cost for each member by the actual cost of its tasks.
type labour struct {
	calls  float64
	output float64 // tokens of one answer
	growth float64 // tokens by which the prompt grows with each call
}

func labourOf(p agent.Purpose) labour {
	switch p {
	case agent.PurposeTitle:
		return labour{1, 20, 0}
	case agent.PurposeSummarise:
		return labour{1, 1500, 0}
	case agent.PurposePlan:
		return labour{8, 500, 1500}
	case agent.PurposeSubAgent:
		return labour{10, 300, 1500}
	}
	return labour{20, 400, 1500}
}

// expect returns the expected cost of a task with a member whose cache holds the prompt.
func (l labour) expect(p *agent.Price, prompt float64) float64 {
	if p == nil {
		return 0
	}
	read, write := rates(p)
	read *= l.calls*prompt + l.growth*l.calls*(l.calls-1)/2
	return (read + write*l.growth*l.calls + float64(p.Output)*l.output*l.calls) / 1e12
}

// rates returns the prices of prompt tokens read from a cache and written to one, in micro-dollars
// per million.
func rates(p *agent.Price) (read, write float64) {
	read, write = float64(p.CachedInput), float64(p.CacheWrite)
	if read == 0 {
		read = float64(p.Input)
	}
	if write == 0 {
		write = float64(p.Input)
	}
	return read, write
}

// decide asks the bandit and begins an episode.
func (c *autoCall) decide(s *autoSession, e *episode, task int, now time.Time) {
	a := c.a
	in := Case{Purpose: string(c.req.Purpose), Size: SizeClass(c.demand.tokens), Failures: s.failures}
	failed := s.failed
	if single(c.req.Purpose) {
		in.Failures, failed = 0, 0
	}
	if s.avoid > 0 {
		failed |= 1 << (s.avoid - 1)
	}
	work := labourOf(c.req.Purpose)
	var room [maxArms]Offer
	var notes [maxArms]Estimate
	offers := room[:0]
	for pass := range 2 { // the second pass includes members that failed at the task, in case there is no other
		for i, m := range a.members {
			if a.holds(i, c.demand, now) && (pass == 1 || failed&(1<<i) == 0) {
				offers = append(offers, Offer{Arm: i, Dollars: work.expect(m.Price, float64(c.demand.tokens)), Extra: c.extra(s, m, work, now)})
			}
		}
		if len(offers) > 0 {
			break
		}
	}
	k := a.bandit.chooseFor(a.worth(c.req.Purpose), in, offers, notes[:len(offers)])
	if k < 0 { // no member can take the request now: the chain finds the error to report
		c.rank(-1, nil, nil)
		return
	}
	c.rank(offers[k].Arm, offers, notes[:len(offers)])
	c.reason = c.explain(s, in, offers, notes[:len(offers)])
	s.trouble = ""
	m := a.members[offers[k].Arm]
	if e.open && e.member == m.index && e.task == task { // the conversation stays with its member
		e.again = false
		return
	}
	*e = episode{purpose: c.req.Purpose, open: true, member: m.index, task: task, in: in, tokens: c.demand.tokens, expected: offers[k].Dollars, reason: stays(m)}
}

func stays(m *member) string { return "stays with " + m.Name + ", where the prompt is cached" }

func (a *Auto) worth(p agent.Purpose) float64 {
	switch p {
	case agent.PurposeTitle:
		return a.cfg.Worth / 100
	case agent.PurposeSummarise:
		return a.cfg.Worth / 10
	}
	return a.cfg.Worth
}

// extra returns the additional cost of choosing a member: for the part of the prompt that its cache
// lacks, and for waiting.
func (c *autoCall) extra(s *autoSession, m *member, work labour, now time.Time) float64 {
	x := 0.0
	if m.Price != nil {
		lack := c.demand.tokens
		if p := s.prompts[m.index]; p.tokens > 0 && now.Sub(p.at) < c.a.cfg.CacheFor {
			lack = max(lack-p.tokens, 0)
		}
		read, write := rates(m.Price)
		x = float64(lack) * max(write-read, 0) / 1e12
	}
	if m.Speed > 0 {
		x += c.a.cfg.Hurry * work.calls * work.output / m.Speed
	}
	return x
}

// rank orders the members: the chosen one, the other offers by score, then the remaining members,
// which the chain passes over unless they can answer by then.
func (c *autoCall) rank(first int, offers []Offer, notes []Estimate) {
	n := 0
	put := func(i int) {
		if m := c.a.members[i]; !slices.Contains(c.ranked[:n], m) {
			c.ranked[n] = m
			n++
		}
	}
	if first >= 0 {
		put(first)
	}
	for range offers {
		best := -1
		for i := range offers {
			if !slices.Contains(c.ranked[:n], c.a.members[offers[i].Arm]) && (best < 0 || notes[i].Score > notes[best].Score) {
				best = i
			}
		}
		if best >= 0 {
			put(offers[best].Arm)
		}
	}
	for i := range c.a.members {
		put(i)
	}
}

// explain returns one line with the reason for choosing a member: the case, the probabilities and
// costs, and the members that were left out.
func (c *autoCall) explain(s *autoSession, in Case, offers []Offer, notes []Estimate) string {
	b := make([]byte, 0, 256)
	b = append(b, in.Purpose...)
	b = append(b, ", about "...)
	b = strconv.AppendInt(b, int64(c.demand.tokens), 10)
	b = append(b, " tokens"...)
	if in.Failures > 0 {
		b = append(b, ", failed "...)
		b = strconv.AppendInt(b, int64(in.Failures), 10)
	}
	if s.trouble != "" {
		b = append(b, "; "...)
		b = append(b, s.trouble...)
	}
	for i, o := range offers {
		b = append(b, "; "...)
		b = append(b, c.a.members[o.Arm].Name...)
		b = append(b, ' ')
		b = strconv.AppendFloat(b, 100*notes[i].Good, 'f', 0, 64)
		b = append(b, " % (drawn "...)
		b = strconv.AppendFloat(b, 100*notes[i].Drawn, 'f', 0, 64)
		b = append(b, ") for $"...)
		b = strconv.AppendFloat(b, notes[i].Dollars, 'f', 4, 64)
	}
	now := c.a.now()
	for i, m := range c.a.members {
		if slices.ContainsFunc(offers, func(o Offer) bool { return o.Arm == i }) {
			continue
		}
		b = append(b, "; not "...)
		b = append(b, m.Name...)
		switch {
		case !m.fits(c.demand):
			b = append(b, ": "...)
			b = append(b, m.unfit(c.demand).Err.Error()...)
		case m.blocked(now) > 0:
			b = append(b, ": it asked not to be called yet"...)
		default:
			b = append(b, ": it failed before"...)
		}
	}
	return string(b)
}
