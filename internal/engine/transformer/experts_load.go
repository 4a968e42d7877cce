package transformer

import (
	"math"
	"sync/atomic"
)

// expertLoad counts the tokens that each expert computed. It may be read while a pass runs.
type expertLoad struct {
	experts int
	count   []atomic.Int64 // layers × experts
	moved   []atomic.Int64 // rerouted tokens of each layer
}

func (l *expertLoad) init(layers, experts int) {
	l.experts = experts
	l.count, l.moved = make([]atomic.Int64, layers*experts), make([]atomic.Int64, layers)
}

func (l *expertLoad) add(layer, expert, n int) { l.count[layer*l.experts+expert].Add(int64(n)) }
func (l *expertLoad) reroute(layer int)        { l.moved[layer].Add(1) }

// LayerLoad is the load of the experts of one layer since the network was loaded.
type LayerLoad struct {
	Tokens   []int64 // computed by each expert
	Rerouted int64   // tokens that a capacity limit sent to another expert
	Peak     float64 // tokens of the expert with the most, divided by the mean; 1 means even, 0 that nothing was computed
	Entropy  float64 // of the distribution of tokens over experts, in bits; log2(experts) means even
}

// ExpertLoad returns the load of each layer's experts; nil for a dense network. It may be called
// while a pass runs.
func (n *Network) ExpertLoad() []LayerLoad {
	l := &n.load
	if l.experts == 0 {
		return nil
	}
	out := make([]LayerLoad, len(l.moved))
	for i := range out {
		out[i] = l.layer(i)
	}
	return out
}

func (l *expertLoad) layer(i int) LayerLoad {
	y := LayerLoad{Tokens: make([]int64, l.experts), Rerouted: l.moved[i].Load()}
	total, peak := int64(0), int64(0)
	for e := range y.Tokens {
		c := l.count[i*l.experts+e].Load()
		y.Tokens[e] = c
		total, peak = total+c, max(peak, c)
	}
	if total == 0 {
		return y
	}
	y.Peak = float64(peak) * float64(l.experts) / float64(total)
	for _, c := range y.Tokens {
		if c > 0 {
			f := float64(c) / float64(total)
			y.Entropy -= f * math.Log2(f)
		}
	}
	return y
}
