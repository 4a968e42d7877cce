package scheduler

import "math"

// plan is a pass being planned: the number of tokens it computes, and the number it is expected to
// decide.
type plan struct {
	tokens   int
	expected float64
}

// scoredDrafter is a Drafter that grades its drafts: it returns the class of a draft, below
// specClasses.
type scoredDrafter interface {
	draftScored(tokens []int32, max int, dst []int32) ([]int32, int)
}

// drafting is the state of one drafter for one request.
type drafting struct {
	d      Drafter
	scored scoredDrafter
	model  *modelDrafter // the draft model, if this is one
	name   string
	acc    acceptance
	buf    []int32

	// Every guess is compared with the text until it turns out wrong, even if it is not verified.
	// So the reliability of guesses is learned without cost.
	watch      []int32
	watched    int // number of tokens of watch that came true
	watchClass int

	seconds float64 // moving average per proposed token
	calls   int
	pause   int // passes to wait before the next attempt, for costly drafters that do not pay off
	paused  int
}

// speculator chooses drafts for one request.
//
// It chooses the draft with the highest expected tokens per second, given the measured cost of a
// pass and the measured acceptance. Its balance is the time gained so far by accepted tokens, minus
// the time spent on verifying wrong ones. It begins with the time of one token and grows by one
// hundredth of the time of each token. No draft may cost more than the balance. So if everything is
// refused, the loss stays small, below half a token plus 0.5 %; if drafts are accepted, their
// length doubles from pass to pass.
type speculator struct {
	drafters []*drafting
	balance  float64 // seconds
	worth    float64 // seconds per token without drafts, in the planned pass
	chosen   *drafting
	opened   bool
	session  *session // nil for a request without a key, or while another request of the session is being computed
}

const (
	earnRate   = 0.005
	maxBalance = 64 // in units of the time of one token
	// A draft must increase the expected tokens per second by at least this factor.
	worthwhile = 1.02
	// A third-party drafter is costly if one whole draft takes more than this share of a pass. In
	// that case it is asked only for tokens that will be used.
	costlyShare = 0.005
)

// choice is the best draft found so far.
type choice struct {
	d     *drafting
	n     int // its number of tokens
	class int
	rate  float64 // expected tokens per second of the pass with this draft
}

// propose sets s.draft to the draft that is best to verify in the pass, at most limit tokens, and
// adds it to the plan.
func (sp *speculator) propose(e *Engine, s *sequence, p *plan, limit int) {
	if !e.cost.timed { // the engine's very first token
		return
	}
	base := e.cost.seconds(p.tokens)
	sp.worth = base / p.expected
	if !sp.opened {
		sp.opened, sp.balance = true, sp.worth*e.sessions.credit()
	}
	sp.chosen = nil
	best := choice{rate: p.expected / base * worthwhile}
	for i, d := range sp.drafters {
		c := choice{d: d, class: specUnknown}
		switch {
		case !d.costly(e):
			c.class = sp.guess(e, s, d, limit)
			sp.measure(e, p, &c, len(d.buf), 0)
			if most := sp.allowed(s, d.buf[:c.n]); most < c.n {
				sp.measure(e, p, &c, most, 0)
			}
		case d.paused < d.pause && e.cfg.Speculation.FixedDraft == 0:
			d.paused++
			continue
		default:
			sp.measure(e, p, &c, limit, d.seconds)
		}
		if e.cfg.Speculation.FixedDraft > 0 { // drafters in order, as long as they propose something
			c.rate = math.MaxFloat64 / float64(1+(len(s.tokens)+i)%len(sp.drafters))
		}
		if c.n > 0 && c.rate > best.rate {
			best = c
		}
	}
	if best.d == nil {
		sp.probe(e, s, p, limit)
		return
	}
	if best.d.costly(e) {
		best.class = sp.guess(e, s, best.d, best.n)
		best.n = min(best.n, sp.allowed(s, best.d.buf))
	}
	sp.use(e, s, p, best.d, best.n, best.class)
}

// probe tries a costly drafter that does not seem to pay off, at growing intervals. Cheap drafters
// show their value without this.
func (sp *speculator) probe(e *Engine, s *sequence, p *plan, limit int) {
	for _, d := range sp.drafters {
		if !d.costly(e) || d.paused < d.pause || d.model != nil && !d.model.began {
			continue // a draft model that must read the whole text first is not a cheap trial
		}
		n := min(2, limit)
		if e.cost.seconds(p.tokens+n)-e.cost.seconds(p.tokens)+float64(n)*d.seconds > sp.balance {
			continue
		}
		d.pause, d.paused = min(2*d.pause+8, 512), 0
		class := sp.guess(e, s, d, n)
		sp.use(e, s, p, d, min(n, sp.allowed(s, d.buf)), class)
		return
	}
}

func (sp *speculator) use(e *Engine, s *sequence, p *plan, d *drafting, n, class int) {
	if n <= 0 {
		return
	}
	s.draft = append(s.draft[:0], d.buf[:n]...)
	if d.model != nil {
		s.probs = d.model.taken(n)
	}
	sp.chosen = d
	d.watch = append(d.watch[:0], d.buf...)
	d.watched, d.watchClass = 0, class
	p.tokens += n
	p.expected += d.gain(class, n)
}

// measure returns the number of tokens of a draft, at most n, with which the expected tokens per
// second are highest, and that rate. The parameter perToken is the drafter's time per token.
func (sp *speculator) measure(e *Engine, p *plan, c *choice, n int, perToken float64) {
	c.n, c.rate = 0, 0
	if fixed := e.cfg.Speculation.FixedDraft; fixed > 0 {
		c.n = min(n, fixed)
		return
	}
	base := e.cost.seconds(p.tokens)
	gain, right := p.expected, 1.0
	for i := range min(n, max(4, 2*e.tried)) { // grows in steps while the curve is untested
		right *= float64(c.d.acc.rate[c.class][specRange(i)])
		gain += right
		cost := e.cost.seconds(p.tokens+i+1) + float64(i+1)*perToken
		if cost-base > sp.balance {
			return
		}
		if rate := gain / cost; rate > c.rate {
			c.n, c.rate = i+1, rate
		}
	}
}

// gain returns the expected number of accepted tokens of a draft.
func (d *drafting) gain(class, n int) float64 {
	sum, right := 0.0, 1.0
	for i := range n {
		right *= float64(d.acc.rate[class][specRange(i)])
		sum += right
	}
	return sum
}

// allowed returns the length of the part of a draft before the first token that the constraint
// refuses, or up to a stop token.
func (sp *speculator) allowed(s *sequence, draft []int32) int {
	c, state := s.req.Constraint, s.state
	for i, t := range draft {
		if c != nil {
			next, ok := c.Next(state, t)
			if !ok {
				return i
			}
			state = next
		}
		for _, stop := range s.req.StopTokens {
			if t == stop {
				return i + 1
			}
		}
	}
	return len(draft)
}

// guess asks a drafter for a draft, stores it in d.buf, and returns its class. The time that this
// takes is subtracted from the balance, except for the time in which the draft model catches up
// with the text.
func (sp *speculator) guess(e *Engine, s *sequence, d *drafting, most int) (class int) {
	if d.calls == 0 && d.scored == nil {
		most = min(most, 2) // until its cost is known
	}
	start := e.cfg.Now()
	if d.scored != nil {
		d.buf, class = d.scored.draftScored(s.tokens, most, d.buf[:0])
	} else {
		d.buf, class = d.d.Draft(s.tokens, most, d.buf[:0]), specUnknown
	}
	took := e.since(start)
	d.timed(took)
	if len(d.buf) > 0 || d.model == nil {
		sp.balance -= took
	}
	if len(d.buf) > most {
		d.buf = d.buf[:most]
	}
	for i, t := range d.buf { // a third-party drafter may propose anything
		if t < 0 || int(t) >= e.f.vocab() {
			d.buf = d.buf[:i]
			break
		}
	}
	if len(d.watch) == 0 && len(d.buf) > 0 {
		d.watch, d.watched, d.watchClass = append(d.watch[:0], d.buf...), 0, class
	}
	return class
}

// timed averages the cost of a proposed token. The first calls are ignored, because they catch up
// with the prompt and are not typical.
func (d *drafting) timed(seconds float64) {
	if len(d.buf) == 0 {
		return
	}
	each := seconds / float64(len(d.buf))
	if d.calls++; d.calls <= 3 {
		if d.calls == 1 || each < d.seconds {
			d.seconds = each
		}
		return
	}
	d.seconds += (each - d.seconds) / 8
}

func (d *drafting) costly(e *Engine) bool {
	return d.model != nil || d.scored == nil && d.seconds*float64(e.cfg.Speculation.MaxDraft) > costlyShare*e.cost.scale
}

// committed compares a decided token with the watched guesses.
func (sp *speculator) committed(token int32) {
	for _, d := range sp.drafters {
		if len(d.watch) == 0 {
			continue
		}
		right := d.watch[d.watched] == token
		d.acc.learn(d.watchClass, d.watched, right)
		if d.watched++; !right || d.watched == len(d.watch) {
			d.watch = d.watch[:0]
		}
	}
}

// verified records the result of a draft of which some tokens were accepted.
func (sp *speculator) verified(e *Engine, s *sequence, accepted int) {
	d := sp.chosen
	e.metrics.drafted(d.name, len(s.draft), accepted)
	sp.balance += float64(accepted)*sp.worth - float64(len(s.draft))*e.perDraft
	if d.pause > 0 && accepted == len(s.draft) {
		d.pause = 0
	}
}

// earn adds to the balance the share that every token earns, whether drafts were accepted or not.
func (sp *speculator) earn(e *Engine, tokens int) {
	if sp.worth == 0 {
		sp.worth = e.cost.seconds(1)
	}
	sp.balance = min(sp.balance+earnRate*float64(tokens)*sp.worth, maxBalance*sp.worth)
}

// nameOf returns the name under which a drafter's metrics are kept.
func nameOf(d Drafter) string {
	if n, ok := d.(interface{ Name() string }); ok {
		return n.Name()
	}
	return "custom"
}
