package llm

import (
	"fmt"
	"math/bits"
	"slices"
	"time"
)

// CostPoint is how long a pass of some tokens takes.
type CostPoint struct {
	Tokens  int
	Seconds float64
}

// CostCurve is what passes cost, by rising numbers of tokens, the first of them 1.
// The engine compares only costs with one another, so that any unit of time does.
type CostCurve struct {
	Points []CostPoint
}

// costPoints are where the curve is measured and kept: 1, 2, 4 … 128 tokens.
const costPoints = 8

// MeasureCost runs passes of 1 to 64 tokens on an empty cache and returns the least time each took.
// In a Mixture-of-Experts network the curve is steep at first, since other tokens wake other experts.
func MeasureCost(n *Network, c *Cache) (CostCurve, error) {
	h := n.Hyper()
	return measureCost(netForwarder{n, c}, h.Ctx, time.Now)
}

func measureCost(f forwarder, context int, now func() time.Time) (CostCurve, error) {
	most := min(64, context-1, f.pages()*PageTokens)
	var seq Seq
	defer func() {
		for _, p := range seq.Pages {
			f.release(p)
		}
	}()
	for range PagesFor(most) {
		p, ok := f.alloc()
		if !ok {
			return CostCurve{}, fmt.Errorf("llm: measure cost: the cache has no free page")
		}
		seq.Pages = append(seq.Pages, p)
	}
	tokens := make([]int32, max(most, 1))
	for i := range tokens { // different ones, which wake different experts
		tokens[i] = int32(mix64(uint64(i)+1) % uint64(f.vocab()))
	}
	var curve CostCurve
	for n := 1; n <= most; n *= 2 {
		least, spent := 0.0, 0.0
		for try := 0; try < 4 && (try == 0 || spent < 0.25); try++ {
			seq.Len = 0
			start := now()
			if err := f.forward([]Slice{{Seq: &seq, Tokens: tokens[:n], Outputs: n}}); err != nil {
				return CostCurve{}, fmt.Errorf("llm: measure cost: %w", err)
			}
			took := now().Sub(start).Seconds()
			if spent += took; try == 0 || took < least {
				least = took
			}
		}
		curve.Points = append(curve.Points, CostPoint{n, least})
	}
	return curve, nil
}

// costModel predicts what a pass costs. The shape comes from measuring before there is work and is refined by the passes that
// happen; the scale follows the passes at once, since it drifts with the depth of the context and with other load.
type costModel struct {
	shape [costPoints]float64 // cost of 1, 2, 4 … tokens, that of 1 being 1
	scale float64             // seconds of a pass of one token
}

// moeShape is assumed where nothing was measured: eight of 128 experts awake at one token, in the limit of memory bandwidth.
var moeShape = [costPoints]float64{1, 1.6, 2.6, 4.2, 6.2, 8.7, 10.2, 15}

func newCostModel(c *CostCurve) *costModel {
	m := &costModel{shape: moeShape, scale: 1}
	if c == nil || len(c.Points) == 0 || c.Points[0].Seconds <= 0 {
		return m
	}
	m.scale = c.Points[0].Seconds
	for i := range m.shape {
		m.shape[i] = c.at(1<<i) / m.scale
	}
	for i := costPoints - 2; i >= 0; i-- { // what disturbs a measurement makes it longer
		m.shape[i] = min(m.shape[i], m.shape[i+1])
	}
	m.settle()
	return m
}

// at interpolates the curve, and prolongs it in a straight line.
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

// settle makes the shape rise and begin with 1.
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

// place finds the two points around n and the weight of the second, above 1 past the end.
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

// observe learns from a pass of n tokens, some of them drafts or none. Passes without drafts tell how fast the machine is now, those
// with drafts what their tokens cost beside that. One pass alone changes little: another process may have held it up.
func (m *costModel) observe(n int, seconds float64, drafts bool) {
	if n < 1 || n > 1<<(costPoints-1) || seconds <= 0 {
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
	for j := i; change < 0 && j > 0; j-- { // fewer tokens never cost more; settle sees to the others
		m.shape[j-1] = min(m.shape[j-1], m.shape[j])
	}
	m.settle()
}
