package transformer

import (
	"errors"
	"fmt"
	"sync"
)

// ExpertWorker computes experts elsewhere: in another process or on another machine. Calls come
// from one goroutine at a time.
type ExpertWorker interface {
	// Compute applies experts of one layer to rows of the network's width and stores their
	// unweighted results. The results must be the same, bit for bit, as those that this process
	// would have computed.
	Compute(layer int, jobs []ExpertJob) error
}

// ExpertJob holds the rows that one expert is to compute: In and Out have the same number of rows
// of the network's width.
type ExpertJob struct {
	Expert  int
	In, Out []float32
}

// remote lists the experts of a layer that other workers compute.
type remote struct {
	workers []ExpertWorker // one for each expert; nil for experts computed here
	list    []ExpertWorker // each worker once
}

// placed returns the workers of a layer's experts, or nil if all experts are computed here.
func (cfg NetworkConfig) placed(layer, experts int) *remote {
	if cfg.Place == nil {
		return nil
	}
	r := &remote{workers: make([]ExpertWorker, experts)}
	seen := map[ExpertWorker]bool{}
	for e := range experts {
		w := cfg.Place(layer, e)
		r.workers[e] = w
		if w != nil && !seen[w] {
			seen[w] = true
			r.list = append(r.list, w)
		}
	}
	if r.list == nil {
		return nil
	}
	return r
}

// away reports whether another worker computes expert e.
func (y *layer) away(e int) bool { return y.remote != nil && y.remote.workers[e] != nil }

// sample returns an expert that is computed here, whose matrices determine how activations are
// rounded. It returns nil if there is none.
func (y *layer) sample() *ffn {
	for e := range y.expert {
		if y.expert[e].gate.Matrix != nil {
			return &y.expert[e]
		}
	}
	return nil
}

// send starts the calls to the workers that have tokens to compute. The returned function waits for
// them; after it has returned, their results are in p.moe.given, by slot.
func (p *pass) send() (wait func()) {
	if p.l.remote == nil {
		return func() {}
	}
	m, embed := &p.moe, p.n.hyper.Embed
	slots := p.rows * p.n.hyper.ActiveExperts
	m.taking, m.given = grow(m.taking, slots*embed), grow(m.given, slots*embed)
	layer := p.index
	var calls sync.WaitGroup
	errs := make([]error, len(p.l.remote.list))
	for i, w := range p.l.remote.list {
		var jobs []ExpertJob
		for _, e := range m.busy {
			if p.l.remote.workers[e] == w {
				jobs = append(jobs, p.job(int(e)))
			}
		}
		if len(jobs) > 0 {
			calls.Go(func() { errs[i] = w.Compute(layer, jobs) })
		}
	}
	return func() {
		calls.Wait()
		if err := errors.Join(errs...); err != nil && p.err == nil {
			p.err = fmt.Errorf("transformer: forward: compute experts of layer %d elsewhere: %w", layer, err)
		}
	}
}

// job gathers the rows of one expert.
func (p *pass) job(e int) ExpertJob {
	m, embed := &p.moe, p.n.hyper.Embed
	lo, hi := int(m.first[e]), int(m.first[e+1])
	for s := lo; s < hi; s++ {
		copy(m.taking[s*embed:(s+1)*embed], p.in.F32(int(m.slotTok[s])))
	}
	return ExpertJob{Expert: e, In: m.taking[lo*embed : hi*embed], Out: m.given[lo*embed : hi*embed]}
}
