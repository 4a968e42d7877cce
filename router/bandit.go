package router

import (
	"fmt"
	"math/rand/v2"
	"sync"
)

// Case classifies a decision: a [Bandit] learns separately for each case. The prompt's text is not
// part of the case: on real tasks no feature of the text predicted across repositories which model
// would succeed.
type Case struct {
	Purpose  string // of the call, such as "act"
	Size     uint8  // class of the prompt's size, see [SizeClass]
	Failures uint8  // previous failed attempts at the same task; 3 and more are one case
}

// maxFailures is the number of failures above which cases are no longer distinguished.
const maxFailures = 3

// maxPurpose limits the length of a purpose's name, which the host chooses.
const maxPurpose = 64

func (c Case) normal() Case {
	if len(c.Purpose) > maxPurpose {
		c.Purpose = c.Purpose[:maxPurpose]
	}
	c.Failures = min(c.Failures, maxFailures)
	return c
}

// String returns the case as it is written in the state, such as "act/2/0".
func (c Case) String() string { return fmt.Sprintf("%s/%d/%d", c.Purpose, c.Size, c.Failures) }

// SizeClass returns the size class of a prompt with the given number of tokens: 0 below 4,000, and
// one more for each factor of four.
func SizeClass(tokens int) uint8 {
	class := uint8(0)
	for limit := 4000; tokens >= limit && class < 5; limit *= 4 {
		class++
	}
	return class
}

// Arm is one of the options that a [Bandit] chooses from.
type Arm struct {
	Name  string
	Prior float64 // expected share of good outcomes before any was observed; 0 means 0.5
}

// Offer is an arm that may be chosen now, with its expected cost.
type Offer struct {
	Arm     int     // index into the bandit's arms
	Dollars float64 // list price of the expected work; the bandit corrects it by the observed costs
	Extra   float64 // certain additional cost in dollars, such as the loss of a prompt cache
}

// BanditConfig describes a [Bandit].
type BanditConfig struct {
	Arms   []Arm          // at most 32
	Worth  float64        // value of a good outcome in dollars; 0 means 1
	Random func() float64 // uniform in [0,1); nil means math/rand/v2
}

// Bandit learns from outcomes which of several models to choose: it is a contextual bandit with
// Thompson sampling. For each arm it draws a probability of success, based on the observed
// outcomes, weighs it against the cost, and takes the best arm. Uncertain arms are tried; arms
// known to be worse are not. For a case with few outcomes, the arm's outcomes in other cases count
// too. A Bandit is safe for concurrent use.
type Bandit struct {
	arms   []Arm
	worth  float64
	random func() float64

	mu      sync.Mutex
	state   []armState // by arm: observations of this bandit and of others
	pending []armState // by arm: observations of this bandit since the last merge
}

// armState holds the observations of an arm. Every field is a sum, so that the states of several
// processes can be added.
type armState struct {
	expected, spent float64 // dollars: according to the price list, and actual
	all             tally
	byWork          map[Case]tally // purpose and failures, Size 0
	byCase          map[Case]tally
}

// tally counts outcomes. An outcome between good and bad counts in part as each.
type tally struct{ Good, Bad float64 }

func (t tally) plus(u tally) tally { return tally{t.Good + u.Good, t.Bad + u.Bad} }

// The weights, as numbers of outcomes, with which the estimate of a wider level counts at the next
// narrower level.
const (
	priorWeight = 2
	workWeight  = 3
	caseWeight  = 6
	costWeight  = 3
)

const maxArms = 32

// NewBandit checks cfg and returns a bandit that has observed nothing.
func NewBandit(cfg BanditConfig) (*Bandit, error) {
	if n := len(cfg.Arms); n == 0 || n > maxArms {
		return nil, fmt.Errorf("router: new bandit: %d arms; give 1 to %d", n, maxArms)
	}
	names := map[string]bool{}
	for i, a := range cfg.Arms {
		if a.Name == "" || names[a.Name] {
			return nil, fmt.Errorf("router: new bandit: arm %d is named %q; names must differ and not be empty", i, a.Name)
		}
		if !share(a.Prior) {
			return nil, fmt.Errorf("router: new bandit: arm %q has the prior %v; it must lie from 0 to 1", a.Name, a.Prior)
		}
		names[a.Name] = true
	}
	if !(cfg.Worth >= 0) {
		return nil, fmt.Errorf("router: new bandit: Worth is %v; it must be 0 or more dollars", cfg.Worth)
	}
	b := &Bandit{arms: append([]Arm(nil), cfg.Arms...), worth: cfg.Worth, random: cfg.Random}
	for i := range b.arms {
		if b.arms[i].Prior == 0 {
			b.arms[i].Prior = 0.5
		}
	}
	if b.worth == 0 {
		b.worth = 1
	}
	if b.random == nil {
		b.random = rand.Float64
	}
	b.state, b.pending = newStates(len(b.arms)), newStates(len(b.arms))
	return b, nil
}

func newStates(n int) []armState {
	s := make([]armState, n)
	for i := range s {
		s[i].byWork, s[i].byCase = map[Case]tally{}, map[Case]tally{}
	}
	return s
}

// Estimate is a [Bandit]'s estimate of an arm in a case.
type Estimate struct {
	Good    float64 // expected share of good outcomes
	Drawn   float64 // the share that was drawn for this choice
	Seen    float64 // observed outcomes of such cases
	Dollars float64 // expected cost, including Offer.Extra
	Score   float64 // the arm with the highest score is chosen: worth times Drawn, minus Dollars
}

// Choose draws and returns the index of the best offer, or -1 if there are none. If notes is not
// nil, it receives the estimate of each offer.
func (b *Bandit) Choose(c Case, offers []Offer, notes []Estimate) int {
	return b.chooseFor(b.worth, c, offers, notes)
}

// chooseFor is like Choose, but with a different worth of a good outcome.
func (b *Bandit) chooseFor(worth float64, c Case, offers []Offer, notes []Estimate) int {
	c = c.normal()
	b.mu.Lock()
	defer b.mu.Unlock()
	best, top := -1, 0.0
	for i, o := range offers {
		e := b.estimate(c, o)
		e.Drawn = b.draw(c, o.Arm)
		e.Score = worth*e.Drawn - e.Dollars
		if i < len(notes) {
			notes[i] = e
		}
		if best < 0 || e.Score > top {
			best, top = i, e.Score
		}
	}
	return best
}

// Estimate returns the estimate of an offer without a draw: Drawn equals Good.
func (b *Bandit) Estimate(c Case, o Offer) Estimate {
	c = c.normal()
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.estimate(c, o)
	e.Drawn, e.Score = e.Good, b.worth*e.Good-e.Dollars
	return e
}

func (b *Bandit) estimate(c Case, o Offer) Estimate {
	good, bad := b.posterior(c, o.Arm)
	s := &b.state[o.Arm]
	seen := s.byCase[c]
	e := Estimate{Good: good / (good + bad), Seen: seen.Good + seen.Bad, Dollars: o.Dollars}
	if o.Dollars > 0 {
		e.Dollars *= (s.spent + costWeight*o.Dollars) / (s.expected + costWeight*o.Dollars)
	}
	e.Dollars += o.Extra
	return e
}

// posterior returns the parameters of the Beta distribution of an arm's success in a case.
func (b *Bandit) posterior(c Case, arm int) (good, bad float64) {
	s := &b.state[arm]
	level := func(mean, weight float64, t tally) (g, d float64) {
		return weight*mean + t.Good, weight*(1-mean) + t.Bad
	}
	good, bad = level(b.arms[arm].Prior, priorWeight, s.all)
	good, bad = level(good/(good+bad), workWeight, s.byWork[Case{Purpose: c.Purpose, Failures: c.Failures}])
	return level(good/(good+bad), caseWeight, s.byCase[c])
}

// Observe records an outcome. The parameter good grades it from 0 to 1; expected is its cost
// according to the price list, and dollars its actual cost. If expected is zero, costs are not
// recorded. Values out of range are clamped.
func (b *Bandit) Observe(c Case, arm int, good, expected, dollars float64) {
	if arm < 0 || arm >= len(b.arms) || good != good {
		return
	}
	c, good = c.normal(), max(0, min(1, good))
	one := tally{Good: good, Bad: 1 - good}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range [...]*armState{&b.state[arm], &b.pending[arm]} {
		s.add(c, one)
		if expected > 0 && dollars >= 0 && expected < maxDollars && dollars < maxDollars {
			s.expected += expected
			s.spent += dollars
		}
	}
	b.state[arm].fade()
}

const maxDollars = 1e9

func (s *armState) add(c Case, t tally) {
	s.all = s.all.plus(t)
	s.addCase(c, t)
}

// maxCases limits the cases of one arm. Purposes come from the host, so their number is otherwise
// unlimited.
const maxCases = 512

// memory limits the outcomes that an arm counts. At that number all its counts are halved, so that
// a change in a model shows.
const memory = 2000

// fade halves the counts if they exceed memory.
func (s *armState) fade() {
	if s.all.Good+s.all.Bad < memory {
		return
	}
	s.all = tally{s.all.Good / 2, s.all.Bad / 2}
	s.expected, s.spent = s.expected/2, s.spent/2
	for _, m := range [...]map[Case]tally{s.byWork, s.byCase} {
		for c, t := range m {
			m[c] = tally{t.Good / 2, t.Bad / 2}
		}
	}
}
