package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// chunk is the number of prompt tokens that go through the network in one pass, as in llama-bench.
const chunk = 512

// job is one row of the table.
type job struct {
	file           string
	threads, depth int
	prompt, gen    int // one of them is 0
}

func (j job) name() string {
	s := fmt.Sprintf("pp%d", j.prompt)
	if j.gen > 0 {
		s = fmt.Sprintf("tg%d", j.gen)
	}
	if j.depth > 0 {
		s += fmt.Sprintf(" @ %d", j.depth)
	}
	return s
}

// speed prints prompt processing and generation at each depth.
func speed(o options, file string, threads int) error {
	m, err := open(file, threads, o)
	if err != nil {
		return err
	}
	defer m.close()
	longest := 0
	for _, d := range o.depths {
		longest = max(longest, d+max(o.prompt, o.generate)+1)
	}
	c, err := transformer.NewCache(m.net, transformer.CacheConfig{Type: o.kv, Pages: transformer.PagesFor(longest)})
	if err != nil {
		return err
	}
	defer c.Close()
	for _, depth := range o.depths {
		for _, j := range []job{{file, threads, depth, o.prompt, 0}, {file, threads, depth, 0, o.generate}} {
			if j.prompt+j.gen == 0 {
				continue
			}
			if err := (&passes{m, c}).compare(j); err != nil {
				return err
			}
		}
	}
	return nil
}

// passes runs forward passes of a network, without an engine.
type passes struct {
	m     *model
	cache *transformer.Cache
}

// compare measures j alternately with our engine and the peer, and prints the row.
func (p *passes) compare(j job) error {
	var ours, theirs []float64
	for range p.m.o.reps {
		speed, err := p.measure(j)
		if err != nil {
			return err
		}
		ours = append(ours, speed)
		if p.m.o.peer == "" {
			continue
		}
		speed, err = peer(p.m.o, j)
		if err != nil {
			return err
		}
		theirs = append(theirs, speed)
	}
	if theirs == nil {
		row(base(j.file), j.threads, j.name(), median(ours), "", "")
	} else {
		row(base(j.file), j.threads, j.name(), median(ours), median(theirs), median(ours)/median(theirs))
	}
	return nil
}

// measure runs j once on a new sequence and returns its tokens per second, not counting the depth.
func (p *passes) measure(j job) (float64, error) {
	rng := rand.New(rand.NewPCG(p.m.o.seed, uint64(j.depth)))
	seq, err := p.sequence(j.depth + j.prompt + j.gen)
	if err != nil {
		return 0, err
	}
	defer p.release(seq)
	if err := p.prefill(seq, j.depth, rng); err != nil {
		return 0, err
	}
	begin := p.m.o.now()
	if err := p.prefill(seq, j.prompt, rng); err != nil {
		return 0, err
	}
	for range j.gen {
		slices := []transformer.Slice{{Seq: seq, Tokens: p.m.random(1, rng), Outputs: 1}}
		if err := p.m.net.Forward(p.cache, slices); err != nil {
			return 0, err
		}
	}
	return float64(j.prompt+j.gen) / p.m.o.now().Sub(begin).Seconds(), nil
}

func (p *passes) prefill(seq *transformer.Seq, n int, rng *rand.Rand) error {
	for n > 0 {
		k := min(n, chunk)
		n -= k
		if err := p.m.net.Forward(p.cache, []transformer.Slice{{Seq: seq, Tokens: p.m.random(k, rng), Outputs: 1}}); err != nil {
			return err
		}
	}
	return nil
}

func (m *model) random(n int, rng *rand.Rand) []int32 {
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = rng.Int32N(int32(m.net.Hyper().Vocab))
	}
	return tokens
}

func (p *passes) sequence(tokens int) (*transformer.Seq, error) {
	seq := &transformer.Seq{}
	for range transformer.PagesFor(tokens) {
		page, ok := p.cache.Alloc()
		if !ok {
			return nil, fmt.Errorf("no page left for %d tokens", tokens)
		}
		seq.Pages = append(seq.Pages, page)
	}
	return seq, nil
}

func (p *passes) release(seq *transformer.Seq) {
	for _, page := range seq.Pages {
		p.cache.Release(page)
	}
}
