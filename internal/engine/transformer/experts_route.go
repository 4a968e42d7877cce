package transformer

import (
	"math"

	"github.com/luthier-dev/luthier/internal/engine/tensor"
)

// moeScratch is the scratch memory for the experts of one layer. A slot is one token at one of its
// experts. Slots are sorted by expert, and by token within an expert, so that the weights of an
// expert are read once for all its tokens.
type moeScratch struct {
	probs  []float32 // rows × experts: logits of the router, then the result of gating
	choice []int32   // rows × active: experts by decreasing weight
	weight []float32 // rows × active
	shared []float32 // weight of the shared expert for each row

	first    []int32   // first slot of each expert, and the end of the last expert's slots
	next     []int32   // next free slot of each expert
	slotTok  []int32   // row of each slot
	slotGain []float32 // weight of each slot
	busy     []int32   // experts with at least one token
	iota     []int32   // 0, 1, 2 …
	act      tensor.Batch
	taken    []int32 // with a capacity limit: number of tokens of each expert

	taking, given []float32 // rows sent to experts that are computed elsewhere, and their results, by slot
}

func (m *moeScratch) init(workers, experts int) {
	m.first, m.next = make([]int32, experts+1), make([]int32, experts)
	m.busy, m.taken = make([]int32, 0, experts), make([]int32, experts)
}

// route chooses the experts of every row and sorts the rows by expert.
func (p *pass) route() {
	h, m := &p.n.hyper, &p.moe
	slots := p.rows * h.ActiveExperts
	m.probs = grow(m.probs, p.rows*h.Experts)
	m.choice, m.weight = grow(m.choice, slots), grow(m.weight, slots)
	m.shared = grow(m.shared, p.rows)
	p.phase.start(&p.in)
	p.phase.add(&p.l.router, m.probs, h.Experts, nil)
	p.multiply()
	p.run(p.rows, routeJob{p})
	if p.n.cfg.Capacity > 0 {
		p.limit()
	}
	p.group()
}

type routeJob struct{ p *pass }

func (j routeJob) Do(_, i int) {
	p := j.p
	lo, hi := piece(i, p.rows)
	for t := lo; t < hi; t++ {
		p.choose(t)
		p.weigh(t)
		if p.l.gate != nil {
			p.moe.shared[t] = tensor.Sigmoid(tensor.Dot(p.in.F32(t), p.l.gate))
		}
	}
}

func (p *pass) probsOf(t int) []float32 {
	e := p.n.hyper.Experts
	return p.moe.probs[t*e : (t+1)*e]
}

func (p *pass) choiceOf(t int) ([]int32, []float32) {
	k := p.n.hyper.ActiveExperts
	return p.moe.choice[t*k : (t+1)*k], p.moe.weight[t*k : (t+1)*k]
}

// choose finds the most probable experts of row t; of equally probable experts it prefers the lower
// number. Each expert is chosen at most once, even if probabilities are NaN.
func (p *pass) choose(t int) {
	probs := p.probsOf(t)
	if p.n.arch.moe.gating == gateSoftmax {
		tensor.Softmax(probs)
	}
	choice, _ := p.choiceOf(t)
	for k := range choice {
		choice[k] = nextBest(probs, choice[:k], nil, 0)
	}
}

// nextBest returns the most probable expert that is not among the chosen ones and has fewer than
// limit tokens, or -1 if there is none. If taken is nil, there is no limit.
func nextBest(probs []float32, chosen, taken []int32, limit int32) int32 {
	best := int32(-1)
next:
	for e, v := range probs {
		if best >= 0 && !(v > probs[best]) || taken != nil && taken[e] >= limit {
			continue
		}
		for _, c := range chosen {
			if c == int32(e) {
				continue next
			}
		}
		best = int32(e)
	}
	return best
}

// weigh computes the weights of the chosen experts from their probabilities.
func (p *pass) weigh(t int) {
	rule, probs := &p.n.arch.moe, p.probsOf(t)
	choice, weight := p.choiceOf(t)
	for k, e := range choice {
		weight[k] = probs[e]
	}
	if rule.gating == gateTopSoftmax {
		tensor.Softmax(weight)
	}
	scale := p.n.hyper.ExpertScale
	if rule.normalise {
		sum := float32(0)
		for _, w := range weight {
			sum += w
		}
		scale /= max(sum, 1.0/(1<<14)) // the smallest normal half-precision number, to avoid division by zero
	}
	for k := range weight {
		weight[k] *= scale
	}
}

// limit moves tokens from experts that are full to the next best expert with room, in the order of
// the tokens. A token for which no expert has room stays at its expert.
func (p *pass) limit() {
	h, m := &p.n.hyper, &p.moe
	most := int32(math.Ceil(p.n.cfg.Capacity * float64(p.rows*h.ActiveExperts) / float64(h.Experts)))
	clear(m.taken)
	for t := range p.rows {
		choice, _ := p.choiceOf(t)
		moved := false
		for k, e := range choice {
			if m.taken[e] >= most {
				if other := nextBest(p.probsOf(t), choice, m.taken, most); other >= 0 {
					choice[k], moved = other, true
					p.n.load.reroute(p.index)
				}
			}
			m.taken[choice[k]]++
		}
		if moved {
			p.weigh(t)
		}
	}
}

// group sorts rows by expert: a counting sort, stable in the rows.
func (p *pass) group() {
	h, m := &p.n.hyper, &p.moe
	slots := p.rows * h.ActiveExperts
	m.slotTok, m.slotGain = grow(m.slotTok, slots), grow(m.slotGain, slots)
	for len(m.iota) < slots {
		m.iota = append(m.iota, int32(len(m.iota)))
	}
	clear(m.first)
	for _, e := range m.choice {
		m.first[e+1]++
	}
	m.busy = m.busy[:0]
	for e := range h.Experts {
		if n := m.first[e+1]; n > 0 {
			m.busy = append(m.busy, int32(e))
			p.n.load.add(p.index, e, int(n))
		}
		m.first[e+1] += m.first[e]
		m.next[e] = m.first[e]
	}
	for i, e := range m.choice {
		s := m.next[e]
		m.next[e]++
		m.slotTok[s], m.slotGain[s] = int32(i/h.ActiveExperts), m.weight[i]
	}
}
