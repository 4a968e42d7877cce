package scheduler

import (
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// CostPoint is the duration of a pass with a given number of tokens.
type CostPoint struct {
	Tokens  int
	Seconds float64
}

// CostCurve holds the cost of passes, by ascending number of tokens, the first of which is 1. The
// engine only compares costs with each other, so any unit of time can be used.
type CostCurve struct {
	Points []CostPoint
}

// costPoints is the number of points at which the curve is measured and stored: 1, 2, 4 … 128
// tokens.
const costPoints = 8

// MeasureCost runs passes of 1 to 64 tokens on an empty cache and returns the shortest duration for
// each number of tokens. In a mixture-of-experts network the curve is steep at first, since other
// tokens activate other experts.
func MeasureCost(n *transformer.Network, c *transformer.Cache) (CostCurve, error) {
	h := n.Hyper()
	return measureCost(netForwarder{n, c}, h.Ctx, time.Now)
}

func measureCost(f forwarder, context int, now func() time.Time) (CostCurve, error) {
	var curve CostCurve
	for n := 1; n <= min(maxMeasured, context-1, f.pages()*transformer.PageTokens); n *= 2 {
		seconds, err := measurePass(f, n, now)
		if err != nil {
			return CostCurve{}, err
		}
		curve.Points = append(curve.Points, CostPoint{n, seconds})
	}
	return curve, nil
}

// maxMeasured is the length in tokens of the longest pass that is measured.
const maxMeasured = 64

// measurePass returns the shortest duration of several passes of n tokens, or of a single pass if
// it is long.
func measurePass(f forwarder, n int, now func() time.Time) (least float64, err error) {
	var seq transformer.Seq
	defer func() {
		for _, p := range seq.Pages {
			f.release(p)
		}
	}()
	for range transformer.PagesFor(n) {
		p, ok := f.alloc()
		if !ok {
			return 0, fmt.Errorf("scheduler: measure cost: the cache has no free page")
		}
		seq.Pages = append(seq.Pages, p)
	}
	tokens := make([]int32, n)
	for i := range tokens { // different tokens, which activate different experts
		tokens[i] = int32(mix64(uint64(i)+1) % uint64(f.vocab()))
	}
	spent := 0.0
	for try := 0; try < 4 && (try == 0 || spent < 0.25); try++ {
		seq.Len = 0
		start := now()
		if err := f.forward([]transformer.Slice{{Seq: &seq, Tokens: tokens, Outputs: n}}); err != nil {
			return 0, fmt.Errorf("scheduler: measure cost: %w", err)
		}
		took := now().Sub(start).Seconds()
		if spent += took; try == 0 || took < least {
			least = took
		}
	}
	return least, nil
}

// costModel predicts the cost of passes. The shape is measured before there is work, and refined by
// the passes that the engine runs. The scale follows the passes immediately, since it drifts with
// the depth of the context and with other load.
type costModel struct {
	shape [costPoints]float64 // cost of 1, 2, 4 … tokens, relative to the cost of 1
	scale float64             // seconds of a pass of one token
	known int                 // number of points measured
	timed bool                // scale is in seconds
}

// The curve that is assumed until it is measured. Of 128 experts eight are active for one token;
// the limit is the memory bandwidth.
var (
	moeShape   = [costPoints]float64{1, 1.6, 2.6, 4.2, 6.2, 8.7, 10.2, 15}
	denseShape = [costPoints]float64{1, 1.05, 1.15, 1.35, 1.8, 2.8, 4.8, 9}
)

// newCostModel starts with a curve or, without one, with the assumed curve, in units of a pass of
// one token.
func newCostModel(c *CostCurve, experts bool) *costModel {
	m := &costModel{shape: denseShape, scale: 1}
	if experts {
		m.shape = moeShape
	}
	if c == nil || len(c.Points) == 0 || c.Points[0].Seconds <= 0 {
		return m
	}
	m.known, m.timed = costPoints, true
	m.scale = c.Points[0].Seconds
	for i := range m.shape {
		m.shape[i] = c.at(1<<i) / m.scale
	}
	for i := costPoints - 2; i >= 0; i-- { // disturbances only make a measurement longer
		m.shape[i] = min(m.shape[i], m.shape[i+1])
	}
	m.settle()
	return m
}

// measured records the duration of a pass of 1<<m.known tokens. The costs of longer passes are
// assumed to keep their ratio to this one.
func (m *costModel) measured(seconds float64) {
	i := m.known
	m.known++
	if i == 0 {
		m.scale, m.timed = seconds, true
		return
	}
	ratio := max(seconds/m.scale, m.shape[i-1]) / m.shape[i]
	for j := i; j < costPoints; j++ {
		m.shape[j] *= ratio
	}
}

// at interpolates the curve, and extrapolates it linearly.
func (c *CostCurve) at(n int) float64 {
	p := c.Points
	i, found := slices.BinarySearchFunc(p, n, func(p CostPoint, n int) int { return p.Tokens - n })
	switch {
	case found:
		return p[i].Seconds
	case len(p) == 1:
		return p[0].Seconds * float64(n)
	case i == 0:
		return p[0].Seconds
	case i == len(p):
		i--
	}
	a, b := p[i-1], p[i]
	return a.Seconds + (b.Seconds-a.Seconds)*float64(n-a.Tokens)/float64(b.Tokens-a.Tokens)
}

// settle makes the shape increase monotonically from 1.
func (m *costModel) settle() {
	first := m.shape[0]
	m.scale *= first
	for i := range m.shape {
		m.shape[i] /= first
		if i > 0 {
			m.shape[i] = max(m.shape[i], m.shape[i-1])
		}
	}
}

// place returns the index of the first of the two points around n and the weight of the second
// point, which is above 1 beyond the last point.
func place(n int) (int, float64) {
	i := min(bits.Len(uint(max(n, 1)))-1, costPoints-2)
	lo := 1 << i
	return i, float64(max(n, 1)-lo) / float64(lo)
}

// seconds predicts a pass of n tokens.
func (m *costModel) seconds(n int) float64 {
	i, w := place(n)
	return m.scale * (m.shape[i] + w*(m.shape[i+1]-m.shape[i]))
}

// observe learns from a pass of n tokens, with or without drafts. Passes without drafts show the
// current speed of the machine; passes with drafts show the relative cost of their tokens. A single
// pass changes little, because another process may have delayed it.
func (m *costModel) observe(n int, seconds float64, drafts bool) {
	if n < 1 || n > 1<<(costPoints-1) || seconds <= 0 {
		return
	}
	if !m.timed {
		m.scale *= seconds / m.seconds(n)
		m.timed = true
		return
	}
	change := min(max(seconds/m.seconds(n), 0.5), 2) - 1
	if !drafts {
		m.scale *= 1 + 0.2*change
		return
	}
	i, w := place(n)
	m.shape[i] *= 1 + 0.15*(1-w)*change
	m.shape[i+1] *= 1 + 0.15*w*change
	if change < 0 {
		m.shape[i] = min(m.shape[i], m.shape[i+1])
	}
	for j := i; change < 0 && j > 0; j-- { // fewer tokens never cost more; settle adjusts the points above
		m.shape[j-1] = min(m.shape[j-1], m.shape[j])
	}
	m.settle()
}
