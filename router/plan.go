package router

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// PlanConfig describes a [PlanThenAct]. A zero field takes the default in its comment; a negative
// number turns off a limit.
type PlanConfig struct {
	Name    string // of the router; empty means "plan-then-act"
	Planner Member // the strong model
	Actor   Member // the fast model

	Explore  int     // answers with which the planner may explore before it is asked for a plan; 8
	Failures int     // failing tool calls in a row after which the planner makes another plan; 4
	Repeats  int     // identical calls with identical results after which the planner makes another plan; 3
	Slack    float64 // the planner makes another plan after this many times the answers that the plan expects; 2
	Plans    int     // plans for one task, after which the planner carries out the task itself; 3

	Now func() time.Time // nil means time.Now
}

// PlanThenAct is a model that lets a strong member plan a task and a fast one carry it out. It is
// safe for concurrent use.
//
// The planner is asked until it answers with a plan; it may first explore with tools. The plan and
// the actor's first answer come as one response, so that the loop goes on. From then on the actor
// is asked, until it strays from the plan: it asks for another one, its calls fail or repeat, or it
// takes far longer than the plan expects. Then the planner is asked for another plan, with the
// reason. After several plans, the planner carries out the rest of the task itself.
//
//   - The state of a task is derived from the messages of the request: a resumed, forked or
//     compacted conversation continues where it was. A finished answer ends a task.
//   - The router's prompt for the planner is appended to the request, and the actor's rules to its
//     instructions, so that both keep their prompt caches.
//   - Reasoning before a plan is left out: it would otherwise be in one message with another
//     model's calls. The answer of a planner that reasons is held back until it is clear whether it
//     is a plan.
//   - If several members produced a response, only the last attempt counts as kept; the others are
//     reported and paid for.
//   - [agent.PurposePlan] and requests without tools go to the planner; titles, summaries and
//     sub-agents go to the actor. A request that only one of the two can take goes to that one.
type PlanThenAct struct {
	*pool
	limits  planLimits
	explore int
	every   time.Duration

	mu     sync.Mutex
	drafts map[draftKey]string // plans whose response broke off afterwards, which are already paid for
}

// draftKey identifies a request for which a plan was written.
type draftKey struct {
	session  uint64
	messages int
	last     uint64 // hash of the last message's text
}

// draftKeyOf returns the key of a request; the result ok is false if the request cannot be
// distinguished from others.
func draftKeyOf(req *agent.Request) (k draftKey, ok bool) {
	n := len(req.Messages)
	if n == 0 {
		return k, false
	}
	k = draftKey{session: sessionKey(req), messages: n, last: fnvOffset}
	for _, p := range req.Messages[n-1].Parts {
		switch p := p.(type) {
		case agent.Text:
			k.last = hash(k.last, clip(p.Text))
		case agent.ToolResult:
			k.last = hash(k.last, p.CallID)
		}
	}
	return k, true
}

const (
	plannerMember = 0
	actorMember   = 1
	maxDrafts     = 256
	maxInOne      = 8 // maximum number of attempts per response, so that a response ends
)

// NewPlanThenAct checks cfg and returns a router.
func NewPlanThenAct(cfg PlanConfig) (*PlanThenAct, error) {
	p, err := newPool("plan-then-act", cfg.Name, []Member{cfg.Planner, cfg.Actor}, cfg.Now)
	if err != nil {
		return nil, err
	}
	if cfg.Slack != cfg.Slack {
		return nil, errors.New("router: new plan-then-act: Slack is no number")
	}
	t := &PlanThenAct{pool: p, explore: orDefault(cfg.Explore, 8), every: beat, drafts: map[draftKey]string{}}
	t.limits = planLimits{seed: maphash.MakeSeed(), failures: orDefault(cfg.Failures, 4), repeats: orDefault(cfg.Repeats, 3), plans: orDefault(cfg.Plans, 3), slack: cfg.Slack}
	switch {
	case cfg.Slack == 0:
		t.limits.slack = 2
	case cfg.Slack < 0 || cfg.Slack > maxSteps:
		t.limits.slack = maxSteps
	}
	if t.limits.plans < 0 {
		t.limits.plans = maxSteps
	}
	return t, nil
}

func orDefault(n, def int) int {
	if n == 0 {
		return def
	}
	return n
}

// Stream answers with the member whose turn it is.
func (t *PlanThenAct) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		p := planning{t: t, ctx: ctx, req: req, out: yield}
		p.run()
	}
}

// planning is one response in progress, by one member or by several in turn.
type planning struct {
	t   *PlanThenAct
	ctx context.Context
	req *agent.Request
	out func(agent.Chunk, error) bool

	said  string // text that was passed on by members before the current one
	n     int    // attempts
	plans int
	told  time.Time

	// State of the current attempt.
	text    strings.Builder
	calls   bool
	holds   bool // chunks are being held back
	held    []agent.Chunk
	usage   agent.Chunk // usage that was not passed on yet
	finish  agent.Chunk
	planner bool
}

// run lets members answer until the response is complete.
func (p *planning) run() {
	if m, reason := p.direct(); m != nil {
		p.pass(m, reason)
		return
	}
	s := stateOf(p.req.Messages, &p.t.limits)
	p.plans = s.plans
	for {
		var more bool
		switch s.phase {
		case phaseTake:
			p.pass(p.t.members[plannerMember], fmt.Sprintf("takes over after %d plans: %s", s.plans, s.stray))
			return
		case phasePlan:
			more = p.plan(&s)
		default:
			more = p.act(&s)
		}
		if !more {
			return
		}
	}
}

// direct returns the member that answers a request that is not part of a planned task, or nil if
// the request is part of such a task.
func (p *planning) direct() (*member, string) {
	planner, actor := p.t.members[plannerMember], p.t.members[actorMember]
	d := p.t.demand(p.req)
	switch plans, acts := planner.fits(d), actor.fits(d); {
	case plans && !acts:
		return planner, "the actor cannot take the request: " + actor.unfit(d).Err.Error()
	case acts && !plans:
		return actor, "the planner cannot take the request: " + planner.unfit(d).Err.Error()
	}
	switch p.req.Purpose {
	case agent.PurposePlan:
		return planner, "planning is what is asked"
	case agent.PurposeTitle, agent.PurposeSummarise, agent.PurposeSubAgent:
		return actor, "purpose " + string(p.req.Purpose)
	}
	if len(p.req.Tools) == 0 {
		return planner, "there are no tools to act with"
	}
	return nil, ""
}

// pass forwards the request to a member and its answer unchanged.
func (p *planning) pass(m *member, reason string) {
	c := chain{pool: p.t.pool, ctx: p.ctx, req: p.request(m.index == actorMember, ""), yield: p.out, demand: p.t.demand(p.req), reason: reason}
	c.run([]*member{m}, 0)
}

// plan asks the planner and reports whether the actor answers next.
func (p *planning) plan(s *planState) bool {
	reason := "there is no plan yet"
	if s.stray != "" {
		reason = "the plan goes back: " + s.stray
	}
	if text := p.recall(); text != "" {
		return p.say(agent.TextDelta{Text: text}) && p.planned(s, text)
	}
	a := p.begin(plannerMember, reason, askForPlan(p.t.explore-s.explored, s.stray))
	if !p.stream(a) {
		return false
	}
	text := p.text.String()
	if mk := readMarks(text); p.calls || !mk.plan {
		p.end(a)
		return false
	}
	a.end(false)
	p.remember(p.said + text)
	for _, c := range p.held {
		if d, ok := c.(agent.TextDelta); ok && !p.say(d) {
			return false
		}
	}
	return p.planned(s, text)
}

// planned records that the response now holds a plan.
func (p *planning) planned(s *planState, text string) bool {
	p.said += text + "\n\n"
	p.plans++
	s.phase, s.stray, s.plans = phaseAct, "", p.plans
	return p.say(agent.TextDelta{Text: "\n\n"})
}

// act asks the actor and reports whether the planner answers next.
func (p *planning) act(s *planState) bool {
	ask, reason := "", "carries out plan "+strconv.Itoa(max(s.plans, 1))
	if p.said != "" {
		ask = promptText(actorAsk)
	}
	a := p.begin(actorMember, reason, ask)
	if !p.stream(a) {
		return false
	}
	mk := readMarks(p.text.String())
	if p.calls || mk.replan == "" || p.n >= maxInOne {
		p.end(a)
		return false
	}
	a.end(false)
	p.said += p.text.String() + "\n\n"
	s.stray, s.phase = mk.replan, phasePlan
	if s.plans >= p.t.limits.plans {
		s.phase = phaseTake
	}
	return p.say(agent.TextDelta{Text: "\n\n"})
}

// begin prepares an attempt by a member.
func (p *planning) begin(member int, reason, ask string) *attempt {
	p.n++
	p.text.Reset()
	p.held, p.calls, p.holds, p.usage, p.finish = nil, false, false, nil, nil
	p.planner = member == plannerMember
	a := p.t.pool.begin(p.ctx, p.t.members[member], p.request(!p.planner, ask), reason, p.n)
	p.told = a.began
	return a
}

// request returns the request for a member: the original request, the text of this response so far,
// and the instruction.
func (p *planning) request(actor bool, ask string) *agent.Request {
	if p.said == "" && ask == "" && !(actor && len(p.req.Tools) > 0) {
		return p.req
	}
	out := *p.req
	if actor && len(p.req.Tools) > 0 {
		out.System += "\n\n" + promptText(actorRules)
	}
	ms := p.req.Messages[:len(p.req.Messages):len(p.req.Messages)]
	if p.said != "" {
		ms = append(ms, agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{agent.Text{Text: p.said}}})
	}
	if ask != "" || p.said != "" {
		if ask == "" {
			ask = promptText(actorGoOn)
		}
		ms = append(ms, agent.UserText(ask))
	}
	out.Messages = ms
	return &out
}

// stream runs an attempt up to its finish, which is held back. It returns false if the response is
// over.
func (p *planning) stream(a *attempt) bool {
	err := a.stream(p.take)
	switch {
	case a.left:
		a.end(false)
		return false
	case err != nil:
		shown := a.content && len(p.held) == 0
		a.end(shown)
		if (shown || p.said != "") && p.ctx.Err() == nil {
			err = goOn(err)
		}
		p.out(nil, err)
		return false
	}
	return true
}

// take handles a chunk of the current attempt.
func (p *planning) take(c agent.Chunk, _ error) bool {
	switch v := c.(type) {
	case agent.Usage:
		p.usage = c
		return p.beat()
	case agent.Finish:
		p.finish = c
		return true
	case agent.TextDelta:
		p.text.WriteString(v.Text)
	case agent.ThinkingDelta, agent.Opaque:
		p.holds = p.holds || p.planner && !p.calls
	case agent.ToolCallStart:
		p.calls = true
		if p.holds {
			return p.release() && p.out(c, nil)
		}
	}
	if p.holds {
		p.held = append(p.held, c)
		return p.beat()
	}
	return p.out(c, nil)
}

// beat sends a waiting reader a usage as a sign of life. That is harmless, since each usage
// replaces the previous one.
func (p *planning) beat() bool {
	if now := p.t.now(); now.Sub(p.told) >= p.t.every {
		p.told = now
		return p.out(agent.Usage{}, nil)
	}
	return true
}

// release passes on the chunks that were held back.
func (p *planning) release() bool {
	held := p.held
	p.held, p.holds = nil, false
	for _, c := range held {
		if !p.out(c, nil) {
			return false
		}
	}
	return true
}

// end passes on the end of the response.
func (p *planning) end(a *attempt) {
	defer a.end(true)
	if p.release() && (p.usage == nil || p.out(p.usage, nil)) && p.out(p.finish, nil) {
		p.forget()
	}
}

func (p *planning) say(c agent.Chunk) bool { return p.out(c, nil) }

// recall returns a plan that was already written for the same request, or "" if there is none.
func (p *planning) recall() string {
	k, ok := draftKeyOf(p.req)
	if !ok || p.n > 0 {
		return ""
	}
	p.t.mu.Lock()
	defer p.t.mu.Unlock()
	return p.t.drafts[k]
}

func (p *planning) remember(text string) {
	k, ok := draftKeyOf(p.req)
	if !ok {
		return
	}
	p.t.mu.Lock()
	defer p.t.mu.Unlock()
	if len(p.t.drafts) >= maxDrafts {
		clear(p.t.drafts)
	}
	p.t.drafts[k] = text
}

func (p *planning) forget() {
	p.t.mu.Lock()
	defer p.t.mu.Unlock()
	if len(p.t.drafts) > 0 {
		if k, ok := draftKeyOf(p.req); ok {
			delete(p.t.drafts, k)
		}
	}
}
