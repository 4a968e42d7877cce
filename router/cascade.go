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

	Verify  VerifyFunc    // checks each answer before it is passed on; nil means VerifyForm
	Timeout time.Duration // for one check; 0 means 10 minutes, negative means no limit

	// Odds, if not nil, is a model of the members' success, in the order of Members. The cost of
	// each attempt is then weighed against the worth of a right answer, and members may be tried in
	// another order or left out. If Odds is nil, members are tried in order.
	Odds     *Odds
	Check    Check   // error rates of Verify
	Worth    float64 // value of a right answer in dollars; 0 means 1
	Attempts int     // limit of attempts per request; 0 means one attempt per member
	Dollars  float64 // no attempt begins after this amount was spent on a request; 0 means no limit

	// Only reports whether a request is cascaded. Other requests go to the first member that can
	// take them, and their answer is passed on unchecked. Nil excludes titles and summaries.
	Only func(req *agent.Request) bool
	// Strict returns an error if no answer passes the check. Otherwise the attempt that is most
	// likely right is passed on.
	Strict bool
	// Digest briefly summarises a failed attempt for the next member. Nil uses the attempt's text
	// and calls, cut to a page.
	Digest func(resp *agent.Response) string

	Now func() time.Time // nil means time.Now
}

// Cascade is a model that asks a cheap member first, checks the answer before passing it on, and
// asks a stronger one if the check rejects it. The failed attempts and the findings are appended to
// the request, so that the prompt cache can still be used. A Cascade is safe for concurrent use.
//
// Cascade works on single answers; [CascadeRuns] works on whole tasks, which saves most. Both let
// an [Escalation] decide.
//
//   - Answers are held back until they are checked, so they arrive as a whole. While a check runs,
//     the stream repeats the usage so far from time to time, as a sign of life.
//   - A member that fails, cannot take the request or asked not to be called is passed over.
//   - If a check fails or takes too long, it has no verdict: the next member is asked, but the
//     answer may still be chosen in the end.
//   - If no answer passes, the answer that is most likely right according to Odds is passed on;
//     without Odds, it is the last one.
//   - Every attempt is reported and paid for; the one that is passed on is reported as kept.
type Cascade struct {
	*pool
	cfg    CascadeConfig
	decide *Escalation
	quick  bool          // the check is VerifyForm, which needs no time limit
	every  time.Duration // interval between signs of life
	room   sync.Pool     // of *cascading, to reuse their slices
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

// Stream answers with the first attempt that passes the check, or else with the best attempt.
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

// cascading is one request in progress through a cascade.
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
	kept   int  // the draft that was passed on, counted from 1; 0 for none
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

// close reports the attempts, once it is certain which one is kept.
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

// try makes an attempt and checks it. It reports whether the cascade continues.
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
	dr.resp, _ = agent.Generate(context.Background(), (*lastDraft)(d), d.req) // the error is irrelevant, since the draft is complete
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

// newDraft returns a draft for an answer, reusing memory of an earlier request if possible.
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

// absent records a member that gave no answer.
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

// hold stores the chunks of the newest draft, and from time to time sends the reader a sign of
// life.
func (d *cascading) hold(c agent.Chunk, _ error) bool {
	dr := &d.drafts[len(d.drafts)-1]
	dr.chunks = append(dr.chunks, c)
	if now := d.c.now(); now.Sub(d.told) >= d.c.every {
		d.told = now
		return d.alive()
	}
	return true
}

// alive sends the reader a usage as a sign of life. That is harmless, since each usage replaces the
// previous one.
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

// request returns the request for the next member: the original with the failed attempts appended.
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

// withSuffix returns the request with a message appended. The rest stays unchanged, so that its
// prefix stays cached.
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

// maxDigest limits the description of a failed attempt, in bytes.
const maxDigest = 4000

// digestFeedback keeps the important parts of a check's output, which may be the whole output of a
// test run.
func digestFeedback(text string) string {
	if len(text) <= maxDigest {
		return text
	}
	return cut(digest.Digest(digest.Input{Text: text, Budget: maxDigest / 4}).Text, maxDigest)
}

// digestAnswer is the default digest of an answer: its text and calls, cut to a page.
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

// why returns the reason for asking a member.
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

// letOut passes the best draft on to the reader.
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

// notPassed returns the error for a request whose answers did not pass. It is not retryable:
// another request would cost just as much.
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

// lastDraft is the newest draft in the form of a model, from which its response is collected.
type lastDraft cascading

// Stream yields the draft.
func (d *lastDraft) Stream(context.Context, *agent.Request) iter.Seq2[agent.Chunk, error] {
	return d.again
}

// costing streams the attempt and returns its cost in dollars. If the member is a router, it has no
// price: its cost is the sum that its own members report.
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
