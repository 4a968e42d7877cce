package router

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/digest"
)

// CascadeConfig describes a [Cascade].
type CascadeConfig struct {
	Name    string   // of the router; empty means "cascade"
	Members []Member // from cheap to strong, at most 8

	Verify  VerifyFunc    // checks each answer before it is let out; nil means VerifyForm
	Timeout time.Duration // of one check; 0 means 10 minutes, negative none

	// Odds, when not nil, is what is known of the members, in their order: then each attempt is
	// weighed against what a right answer is worth, and members may be tried in another order or be
	// left out. Nil tries them in order.
	Odds     *Odds
	Check    Check   // how far Verify can be trusted
	Worth    float64 // dollars that a right answer is worth; 0 means 1
	Attempts int     // at most so many attempts a request; 0 means every member once
	Dollars  float64 // no attempt is begun when this much was spent on a request; 0 means no limit

	// Only says which requests are cascaded; the others go to the first member that can take them,
	// as they come. Nil leaves out titles and summaries.
	Only func(req *agent.Request) bool
	// Strict makes an answer that no check passed an error. Without it the attempt that is most
	// likely right is let out.
	Strict bool
	// Digest says in a few words what a failed attempt did, for the next one. Nil cuts its text and
	// calls to a page.
	Digest func(resp *agent.Response) string

	Now func() time.Time // nil means time.Now
}

// Cascade is a model that asks a cheap member first, checks the answer before letting it out, and
// asks a stronger one when the check rejects it, with what was tried and what was wrong with it
// behind the request, so that the prompt cache holds. It is safe for concurrent use.
//
// This cascades single answers; [CascadeRuns] cascades whole tasks, where most is to be gained.
// Both decide by an [Escalation].
//
//   - Answers are held back until they are checked, so they come as a whole. While a check runs the
//     stream now and then repeats the usage so far, to show that it lives.
//   - A member that fails, cannot take the request or asked not to be called is passed over.
//   - A check that fails or takes too long has no opinion: the next member is asked, but the answer
//     may still win.
//   - When no answer passes, the one that is most likely right is let out: by Odds, or the last
//     without them.
//   - Every attempt is reported and paid for; the one that is let out is the one that is kept.
type Cascade struct {
	*pool
	cfg    CascadeConfig
	decide *Escalation
	quick  bool          // the check is VerifyForm, which needs no guard
	every  time.Duration // between signs of life
	room   sync.Pool     // of *cascading, for their slices
}

// NewCascade checks cfg and returns a router.
func NewCascade(cfg CascadeConfig) (*Cascade, error) {
	p, err := newPool("cascade", cfg.Name, cfg.Members, cfg.Now)
	if err != nil {
		return nil, err
	}
	if len(cfg.Members) > maxCandidates {
		return nil, fmt.Errorf("router: new cascade: %d members; give at most %d", len(cfg.Members), maxCandidates)
	}
	e, err := NewEscalation(EscalationConfig{
		Candidates: len(cfg.Members), Odds: cfg.Odds, Check: cfg.Check, Worth: cfg.Worth, Attempts: cfg.Attempts, Dollars: cfg.Dollars,
	})
	if err != nil {
		return nil, fmt.Errorf("router: new cascade: %w", err)
	}
	quick := cfg.Verify == nil
	if quick {
		cfg.Verify = VerifyForm
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Minute
	}
	if cfg.Only == nil {
		cfg.Only = func(req *agent.Request) bool {
			return req.Purpose != agent.PurposeTitle && req.Purpose != agent.PurposeSummarise
		}
	}
	if cfg.Digest == nil {
		cfg.Digest = digestAnswer
	}
	c := &Cascade{pool: p, cfg: cfg, decide: e, quick: quick, every: beat}
	c.room.New = func() any {
		d := new(cascading)
		d.keep, d.again = d.hold, d.replay
		return d
	}
	return c, nil
}

// Stream answers with an attempt that passed, or the best there is.
func (c *Cascade) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		if !c.cfg.Only(req) {
			one := chain{pool: c.pool, ctx: ctx, req: req, yield: yield, demand: c.demand(req), reason: "not cascaded: " + string(req.Purpose)}
			one.run(c.members, 0)
			return
		}
		d := c.room.Get().(*cascading)
		d.c, d.ctx, d.req, d.yield, d.demand = c, ctx, req, yield, c.demand(req)
		defer d.close()
		d.failed.router = c.name
		d.run()
	}
}

// cascading is one request on its way through a cascade.
type cascading struct {
	c      *Cascade
	ctx    context.Context
	req    *agent.Request
	yield  func(agent.Chunk, error) bool
	demand demand

	tried  []Tried
	drafts []draft
	failed failures
	spent  float64 // dollars
	told   time.Time
	gone   bool // the reader left
	kept   int  // the draft that was let out, counted from 1; 0 for none
	keep   func(agent.Chunk, error) bool
	again  iter.Seq2[agent.Chunk, error]
}

// draft is an answer that is held back.
type draft struct {
	candidate int
	a         *attempt
	chunks    []agent.Chunk
	resp      *agent.Response
	finding   Finding
	checkErr  error
}

// close reports the attempts, when it is settled which one is kept.
func (d *cascading) close() {
	for i := range d.drafts {
		dr := &d.drafts[i]
		dr.a.end(i+1 == d.kept)
		clear(dr.chunks)
		*dr = draft{chunks: dr.chunks[:0]}
	}
	c := d.c
	*d = cascading{tried: d.tried[:0], drafts: d.drafts[:0], keep: d.keep, again: d.again}
	c.room.Put(d)
}

func (d *cascading) run() {
	for {
		s := d.c.decide.Next(d.tried, d.spent)
		if s.Candidate < 0 {
			d.letOut(s)
			return
		}
		if !d.try(s) {
			return
		}
	}
}

// try makes an attempt and checks it. It reports whether the cascade goes on.
func (d *cascading) try(s Step) bool {
	m := d.c.members[s.Candidate]
	if err := d.passOver(m); err != nil {
		d.absent(s.Candidate, m, err)
		return true
	}
	req, why := d.request(), d.why(s)
	dr := d.newDraft(s.Candidate)
	dr.a = d.c.begin(d.ctx, m, req, why, len(d.drafts))
	d.told = dr.a.began
	dollars, err := dr.a.costing(d.keep)
	d.spent += dollars
	switch {
	case d.gone:
		return false
	case err != nil && d.ctx.Err() != nil:
		d.yield(nil, err)
		return false
	case err != nil:
		d.absent(s.Candidate, m, err)
		return true
	}
	dr.resp, _ = agent.Generate(context.Background(), (*lastDraft)(d), d.req) // it is complete
	d.check(dr)
	if d.gone {
		return false
	}
	if d.ctx.Err() != nil {
		d.yield(nil, &agent.ModelError{Kind: agent.ErrCanceled, Err: context.Cause(d.ctx)})
		return false
	}
	d.tried = append(d.tried, Tried{Candidate: s.Candidate, Verdict: dr.finding.Verdict})
	return true
}

// newDraft makes room for an answer, if possible where an earlier request left some.
func (d *cascading) newDraft(candidate int) *draft {
	if n := len(d.drafts); n < cap(d.drafts) {
		d.drafts = d.drafts[:n+1]
	} else {
		d.drafts = append(d.drafts, draft{})
	}
	dr := &d.drafts[len(d.drafts)-1]
	dr.candidate = candidate
	return dr
}

// absent notes a member that gave no answer.
func (d *cascading) absent(candidate int, m *member, err *agent.ModelError) {
	d.failed.add(m, err)
	d.tried = append(d.tried, Tried{Candidate: candidate, Absent: true})
}

func (d *cascading) passOver(m *member) *agent.ModelError {
	if !m.fits(d.demand) {
		return m.unfit(d.demand)
	}
	if wait := m.blocked(d.c.now()); wait > 0 {
		return blockedError(wait)
	}
	return nil
}

// hold keeps the chunks of the newest draft back, and shows the reader now and then that there are
// some.
func (d *cascading) hold(c agent.Chunk, _ error) bool {
	dr := &d.drafts[len(d.drafts)-1]
	dr.chunks = append(dr.chunks, c)
	if now := d.c.now(); now.Sub(d.told) >= d.c.every {
		d.told = now
		return d.alive()
	}
	return true
}

// alive tells the reader that the stream lives: a usage stands only until the next.
func (d *cascading) alive() bool {
	if !d.gone && !d.yield(agent.Usage{}, nil) {
		d.gone = true
	}
	return !d.gone
}

func (d *cascading) check(dr *draft) {
	if d.c.quick {
		dr.finding, dr.checkErr = VerifyForm(d.ctx, d.req, dr.resp)
		return
	}
	dr.finding, dr.checkErr = checkWithin(d.ctx, d.c.cfg.Timeout, d.c.every, d.alive, func(ctx context.Context) (Finding, error) {
		return d.c.cfg.Verify(ctx, d.req, dr.resp)
	})
}

// request is what the next member is asked: the request, with the failed attempts behind it.
func (d *cascading) request() *agent.Request {
	text := ""
	for i := range d.drafts {
		if dr := &d.drafts[i]; dr.resp != nil {
			text += attemptNote(d.c.cfg.Digest(dr.resp), dr.finding)
		}
	}
	if text == "" {
		return d.req
	}
	return withSuffix(d.req, fmt.Sprintf(promptText("cascade.md"), text))
}

// withSuffix returns the request with a message more. What came before stays as it is, so that its
// prefix is cached.
func withSuffix(req *agent.Request, text string) *agent.Request {
	out := *req
	out.Messages = append(req.Messages[:len(req.Messages):len(req.Messages)], agent.UserText(text))
	return &out
}

func attemptNote(digest string, f Finding) string {
	note := "<attempt verdict=\"" + f.Verdict.String() + "\">\n" + digest + "\n"
	if f.Feedback != "" {
		note += "What was wrong:\n" + digestFeedback(f.Feedback) + "\n"
	}
	return note + "</attempt>\n"
}

// maxDigest bounds what is told of a failed attempt, in bytes.
const maxDigest = 4000

// digestFeedback keeps what matters of what a check wrote, which may be the whole output of a test
// run.
func digestFeedback(text string) string {
	if len(text) <= maxDigest {
		return text
	}
	return cut(digest.Digest(digest.Input{Text: text, Budget: maxDigest / 4}).Text, maxDigest)
}

// digestAnswer is the digest of an answer by itself: its text and calls, cut to a page.
func digestAnswer(resp *agent.Response) string {
	var b strings.Builder
	b.WriteString(cut(strings.TrimSpace(resp.Message.Text()), maxDigest/2))
	for _, c := range resp.Message.Calls() {
		if b.Len() > maxDigest {
			b.WriteString("\n[…]")
			break
		}
		fmt.Fprintf(&b, "\ncalls %s %s", c.Name, cut(string(c.Args), maxDigest/4))
	}
	return strings.TrimSpace(b.String())
}

// why says why a member is asked.
func (d *cascading) why(s Step) string {
	reason := string(s.Why)
	for i := len(d.drafts) - 1; i >= 0; i-- {
		dr := &d.drafts[i]
		if dr.resp == nil {
			continue
		}
		reason += "; " + dr.a.m.Name + " was " + dr.finding.Verdict.String()
		if dr.checkErr != nil {
			reason += ": " + cut(dr.checkErr.Error(), 200)
		} else if dr.finding.Feedback != "" {
			reason += ": " + firstLine(dr.finding.Feedback)
		}
		break
	}
	if s.Resolve > 0 {
		reason += fmt.Sprintf(" (solves it with %.0f %% for about $%.3f)", 100*s.Resolve, s.Dollars)
	}
	return reason
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return cut(line, 200)
}

// letOut gives the reader the best draft.
func (d *cascading) letOut(s Step) {
	best := -1
	for i := range d.drafts {
		if d.drafts[i].resp != nil && d.drafts[i].candidate == s.Best {
			best = i
		}
	}
	switch {
	case best < 0:
		d.yield(nil, d.noAnswer())
		return
	case d.c.cfg.Strict && d.drafts[best].finding.Verdict != Passed:
		d.yield(nil, d.notPassed(&d.drafts[best]))
		return
	}
	d.kept = best + 1
	for _, c := range d.drafts[best].chunks {
		if !d.yield(c, nil) {
			return
		}
	}
}

func (d *cascading) noAnswer() *agent.ModelError {
	if len(d.failed.list) == 0 {
		return modelErrorf(agent.ErrInvalid, "%s: the limit of cost left no attempt; raise Dollars", d.c.name)
	}
	return d.failed.err()
}

// notPassed is final: asking again would spend as much again.
func (d *cascading) notPassed(dr *draft) *agent.ModelError {
	cause := dr.checkErr
	if cause == nil {
		cause = errors.New(firstLine(dr.finding.Feedback))
	}
	return modelErrorf(agent.ErrInvalid, "%s: none of %d answers passed the check: %w", d.c.name, len(d.tried), cause)
}

// replay yields the newest draft.
func (d *cascading) replay(yield func(agent.Chunk, error) bool) {
	for _, c := range d.drafts[len(d.drafts)-1].chunks {
		if !yield(c, nil) {
			return
		}
	}
}

// lastDraft is the newest draft as a model, from which its response is collected.
type lastDraft cascading

// Stream yields the draft.
func (d *lastDraft) Stream(context.Context, *agent.Request) iter.Seq2[agent.Chunk, error] {
	return d.again
}

// costing streams the attempt and returns what it cost, in dollars. A member that is a router has
// no price of its own: what its members cost is heard from them.
func (a *attempt) costing(yield func(agent.Chunk, error) bool) (float64, *agent.ModelError) {
	if a.m.Price != nil {
		err := a.stream(yield)
		u, _ := a.spent()
		return float64(a.m.Price.Cost(u)) / 1e6, err
	}
	if !agent.ReportsCost(a.m.Model) {
		return 0, a.stream(yield)
	}
	var sum atomic.Int64
	scope := a.ctx
	a.ctx = agent.WithRouteTrace(scope, &agent.RouteTrace{Routed: func(r agent.Routed) { sum.Add(r.MicroDollars) }})
	defer func() { a.ctx = scope }()
	err := a.stream(yield)
	return float64(sum.Load()) / 1e6, err
}
