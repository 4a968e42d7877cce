package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/agent"
)

// Config configures a replay. The zero value is the configuration of this project's published
// figures.
type Config struct {
	Budget int     // tokens above which a policy must shorten the prompt; 0 means 50,000
	Prices *Prices // nil means DefaultPrices
	// Summarise answers the summariser's requests. Nil answers with the first sentence of each of
	// the model's own messages.
	Summarise func(req *agent.Request) string
}

// fill sets the defaults of unset fields.
func (c *Config) fill() {
	if c.Budget == 0 {
		c.Budget = 50_000
	}
	if c.Prices == nil {
		prices := DefaultPrices()
		c.Prices = &prices
	}
	if c.Summarise == nil {
		c.Summarise = firstSentences
	}
}

// Result is the outcome of replaying a run with a policy.
type Result struct {
	Run, Policy string
	Steps       []Step   // one for each answer of the model
	Notes       []string // what went wrong: failed compactions, broken pairings
}

// Step is one model call.
type Step struct {
	Usage      agent.Usage // of the call itself
	Summariser agent.Usage // of the policy's calls before it
	Cost       float64     // of both together, in plain input tokens
	Reread     float64     // cost of reading again what the action refers to and the context has lost
	Compacted  bool        // whether the policy shortened the history before this step

	Referred, Standing int     // Referred is the number of things that the next three calls refer to and that the run had shown; Standing is the number of them that are in the context
	Known              int     // number of things that the calls of this step refer to and that the run had shown
	Lost               []Thing // the things counted in Known that are not in the context
}

// Replay steps through a run as it was recorded and lets a policy decide what the model sees at
// each step.
func Replay(ctx context.Context, run *Run, p Policy, cfg Config) (*Result, error) {
	cfg.fill()
	trail, err := newTrail(ctx, run)
	if err != nil {
		return nil, fmt.Errorf("replay: run %s: %w", run.Name, err)
	}
	s := &sim{cfg: cfg, run: run, cache: cache{}, trail: trail, res: &Result{Run: run.Name, Policy: p.Name}, session: agent.NewSession()}
	if p.New != nil {
		parts, err := p.New(agent.ModelFunc(s.summariser))
		if err != nil {
			return nil, fmt.Errorf("replay: policy %s: %w", p.Name, err)
		}
		s.parts = parts
	}
	if s.parts.Budget == 0 {
		s.parts.Budget = cfg.Budget
	}
	for i, m := range run.Messages {
		err := context.Cause(ctx)
		switch {
		case err != nil:
		case m.Role == agent.RoleAssistant:
			err = s.step(ctx, i)
		case m.Role == agent.RoleTool:
			err = s.results(ctx, run.Messages[i-1].Calls(), m)
		default:
			err = s.session.Append(m)
		}
		if err != nil {
			return nil, fmt.Errorf("replay: run %s, message %d, policy %s: %w", run.Name, i, p.Name, err)
		}
	}
	return s.res, nil
}

// sim is a replay in progress.
type sim struct {
	cfg     Config
	run     *Run
	parts   Parts
	cache   cache
	trail   *trail
	session *agent.Session // holds the live history, as middleware expects it
	spent   agent.Usage    // by the summariser since the last step
	res     *Result
}

// step replays one model call, whose answer is the message at index i.
func (s *sim) step(ctx context.Context, i int) error {
	st := Step{Compacted: s.compact(ctx)}
	st.Summariser, s.spent = s.spent, agent.Usage{}
	op := &agent.Op{Session: s.session, Step: len(s.res.Steps) + 1, Request: s.request()}
	var sent *agent.Request
	err := s.handle(ctx, op, func(_ context.Context, op *agent.Op) error {
		sent = op.Request
		st.Usage = s.cache.call(sent, Tokens(s.run.Messages[i:i+1]))
		op.Response = &agent.Response{Message: s.run.Messages[i], Usage: st.Usage, Finish: agent.FinishTools}
		return nil
	})
	if err != nil {
		return err
	}
	if sent == nil || op.Response == nil {
		return errors.New("the middleware did not call the model, or took its answer away")
	}
	answer := op.Response.Message // middleware may shorten the recorded answer, as in the loop
	if !slices.EqualFunc(answer.Calls(), s.run.Messages[i].Calls(), func(a, b agent.ToolCall) bool { return a.ID == b.ID }) {
		return errors.New("the middleware changed the calls of an answer")
	}
	s.measure(&st, sent, i)
	st.Cost = s.cfg.Prices.Cost(st.Usage) + s.cfg.Prices.Cost(st.Summariser)
	s.res.Steps = append(s.res.Steps, st)
	return s.session.Append(answer)
}

func (s *sim) request() *agent.Request {
	return &agent.Request{System: s.run.System, Messages: s.session.Messages(), Purpose: agent.PurposeAct, Epoch: s.session.Epoch()}
}

func (s *sim) handle(ctx context.Context, op *agent.Op, h agent.Handler) error {
	if s.parts.Middleware != nil {
		h = s.parts.Middleware(h)
	}
	return h(ctx, op)
}

// results records the results of the calls, as changed by the policy's middleware.
func (s *sim) results(ctx context.Context, calls []agent.ToolCall, m agent.Message) error {
	out := agent.Message{Role: agent.RoleTool}
	for i, p := range m.Parts {
		res := p.(agent.ToolResult)
		op := &agent.Op{Session: s.session, Step: len(s.res.Steps), Call: &calls[i]}
		err := s.handle(ctx, op, func(_ context.Context, op *agent.Op) error {
			op.Result = &res
			return nil
		})
		if err != nil {
			return err
		}
		kept := *op.Result
		kept.CallID = calls[i].ID
		out.Parts = append(out.Parts, kept)
	}
	return s.session.Append(out)
}

// compact asks the policy for a shorter history under the same conditions as the loop: if the next
// prompt would be over its budget, or if the compactor says that it is worthwhile. It reports
// whether the history was rewritten.
func (s *sim) compact(ctx context.Context) bool {
	live := s.session.Messages()
	tokens := count(s.run.System) + Tokens(live)
	if c := s.parts.Compactor; c == nil || tokens <= s.parts.Budget && !due(c, live) {
		return false
	}
	calls := s.spent
	after, rep, err := s.parts.Compactor.Compact(agent.WithLiveRequest(ctx, s.request(), int64(tokens)), live, s.parts.Budget)
	if s.spent == calls { // it called another model than the one it was given
		s.spent = s.spent.Add(rep.Usage)
	}
	fresh := agent.NewSession()
	if err == nil {
		err = agent.CheckPairing(after)
	}
	if err == nil {
		err = fresh.Append(after...)
	}
	if err != nil {
		s.res.Notes = append(s.res.Notes, fmt.Sprintf("step %d: compaction failed: %v", len(s.res.Steps)+1, err))
		return false
	}
	if len(after) == len(live) && (len(after) == 0 || &after[0] == &live[0]) { // it returned its argument
		return false
	}
	s.session = fresh
	return true
}

// due reports whether a compactor with a Due method considers a history within the budget worth
// compacting.
func due(c agent.Compactor, live []agent.Message) bool {
	p, ok := c.(interface{ Due([]agent.Message) bool })
	return ok && p.Due(live)
}

// measure counts how many of the things that the next calls refer to are in the request that the
// model sees.
func (s *sim) measure(st *Step, sent *agent.Request, i int) {
	var b strings.Builder
	b.WriteString(sent.System)
	b.WriteByte('\n')
	writeText(&b, sent.Messages...)
	text := b.String()
	for _, t := range s.trail.ahead(i, 3) {
		st.Referred++
		if t.in(text, 0) >= 0 {
			st.Standing++
		}
	}
	lost := map[string]bool{}
	for _, t := range s.trail.now(i) {
		st.Known++
		if t.in(text, 0) < 0 {
			st.Lost = append(st.Lost, t)
			lost[s.trail.lastLine(t, i)] = true
		}
	}
	if len(st.Lost) > 0 {
		again := agent.Usage{Input: st.Usage.Input + rereadCall, CachedInput: st.Usage.Input, CacheWrite: rereadCall, Output: rereadCall}
		for line := range lost {
			again.Input += int64(count(line))
			again.CacheWrite += int64(count(line))
		}
		st.Reread = s.cfg.Prices.Cost(again)
	}
}

// rereadCall is the size in tokens of a call that reads something again.
const rereadCall = 100
