package tokencount

import (
	"math"
	"sync"
)

// Add returns the sum of two tallies.
func (n Tally) Add(m Tally) Tally {
	for i := range n {
		n[i] += m[i]
	}
	return n
}

// Prompt describes a request before it is sent: the classes of its texts, and the number of
// messages and parts that a chat format has to frame.
type Prompt struct {
	Texts  Tally
	Frames int
}

// A Calibrator corrects estimates with the token counts that a provider reports. It models the
// tokens of a request as a sum: a rate for each class of text, some tokens per frame, and a
// constant for the tokens that a provider adds. The rates start with those of [Estimate] and are
// learned from each report by a Kalman filter (recursive least squares with a prior): with few
// reports they change together, with many reports each class changes separately. A Calibrator is
// safe for concurrent use. The zero value is ready.
type Calibrator struct {
	mu      sync.Mutex
	ready   bool
	x       [unknowns]float64           // rates, tokens per frame, constant
	p       [unknowns][unknowns]float64 // their uncertainty, as a covariance
	seen    int
	strange int // consecutive reports that did not fit
}

const (
	frameAt  = int(Classes)
	constAt  = frameAt + 1
	unknowns = frameAt + 2
)

// The prior: the rates before any report, and their uncertainty.
var (
	priorMean  = [unknowns]float64{1, 1, 1, 1, 1, 4, 0}
	priorSigma = [unknowns]float64{0.3, 0.5, 0.5, 0.4, 0.6, 3, 200}
	drift      = [unknowns]float64{0.002, 0.004, 0.004, 0.003, 0.005, 0.02, 2} // per step, since models change, and so do their inputs
)

// How reports are weighed.
const (
	noiseShare    = 0.004 // share of a report that the sum cannot model
	noiseTokens   = 6
	strangeSigmas = 6 // a report with a larger deviation than this is ignored,
	strangeRow    = 3 // unless this many consecutive ones show that the model behind the name has changed
	leastRate     = 0.2
)

// Tokens returns the estimated number of tokens of a request.
func (c *Calibrator) Tokens(p Prompt) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin()
	return c.predict(features(p))
}

// Rates returns the current rate of each class and the tokens per frame, for callers that weigh
// parts of a request.
func (c *Calibrator) Rates() (rates Tally, frame float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin()
	copy(rates[:], c.x[:Classes])
	for i := range rates {
		rates[i] = max(rates[i], leastRate)
	}
	return rates, max(c.x[frameAt], 0)
}

// Seen returns the number of reports learned from.
func (c *Calibrator) Seen() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}

// Observe learns from a report that a request had the given number of tokens, including those read
// from a cache. It ignores reports of zero tokens, as from a provider that does not count tokens,
// and single reports that are inconsistent with all earlier ones.
func (c *Calibrator) Observe(p Prompt, tokens int64) {
	if tokens <= 0 || p.Texts.Sum() <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin()
	f := features(p)
	miss := float64(tokens) - c.predict(f)
	noise := math.Pow(noiseShare*float64(tokens)+noiseTokens, 2)
	pf, spread := c.spread(f)
	if off := miss * miss / (spread + noise); off > strangeSigmas*strangeSigmas {
		if c.strange++; c.strange < strangeRow {
			return
		}
		c.ready = false // the model has changed, so start again with this report
		c.begin()
		miss = float64(tokens) - c.predict(f)
		pf, spread = c.spread(f)
	}
	c.strange = 0
	c.seen++
	c.learn(pf, spread+noise, miss)
}

func (c *Calibrator) begin() {
	if c.ready {
		return
	}
	c.ready, c.x, c.strange = true, priorMean, 0
	for i := range c.p {
		c.p[i] = [unknowns]float64{}
		c.p[i][i] = priorSigma[i] * priorSigma[i]
	}
}

func features(p Prompt) (f [unknowns]float64) {
	copy(f[:], p.Texts[:])
	f[frameAt], f[constAt] = float64(p.Frames), 1
	return f
}

func (c *Calibrator) predict(f [unknowns]float64) float64 {
	sum := 0.0
	for i := range f {
		sum += c.x[i] * f[i]
	}
	return max(sum, 0)
}

// spread returns P f and f' P f, after adding the drift since the last report.
func (c *Calibrator) spread(f [unknowns]float64) (pf [unknowns]float64, fpf float64) {
	for i := range f {
		c.p[i][i] += drift[i] * drift[i]
	}
	for i := range f {
		for j := range f {
			pf[i] += c.p[i][j] * f[j]
		}
		fpf += f[i] * pf[i]
	}
	return pf, fpf
}

// learn moves the unknowns by a share of the prediction error, and reduces their uncertainty.
func (c *Calibrator) learn(pf [unknowns]float64, total, miss float64) {
	for i := range pf {
		gain := pf[i] / total
		c.x[i] += gain * miss
		for j := range pf {
			c.p[i][j] -= gain * pf[j]
		}
	}
	for i := range pf { // keep the matrix symmetric in spite of rounding
		for j := range i {
			m := (c.p[i][j] + c.p[j][i]) / 2
			c.p[i][j], c.p[j][i] = m, m
		}
		c.p[i][i] = max(c.p[i][i], 0)
	}
}
