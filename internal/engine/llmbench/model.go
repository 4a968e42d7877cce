package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/scheduler"
	"github.com/luthier-dev/luthier/internal/engine/tensor"
	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// model is a network loaded for one number of threads.
type model struct {
	file *gguf.File
	pool *tensor.Pool
	net  *transformer.Network
	o    options
	cost *scheduler.CostCurve // nil until it is measured
}

func open(path string, threads int, o options) (*model, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	pool := tensor.NewPool(threads)
	net, err := transformer.LoadNetwork(f, pool, transformer.NetworkConfig{})
	if err != nil {
		return nil, err
	}
	return &model{file: f, pool: pool, net: net, o: o}, nil
}

func (m *model) close() {
	m.net.Close()
	m.pool.Close()
	m.file.Close()
}

// engine starts an engine whose slots each have room for texts of context tokens.
func (m *model) engine(context int, cfg scheduler.EngineConfig) (*scheduler.Engine, error) {
	cfg.Context, cfg.Now = context, m.o.now
	cfg.Slots = max(cfg.Slots, 1)
	cfg.Cache = transformer.CacheConfig{Type: m.o.kv, Pages: (cfg.Slots + 1) * (transformer.PagesFor(context) + 1)}
	if !cfg.Speculation.Off {
		if err := m.measureCost(context); err != nil {
			return nil, err
		}
		cfg.Cost = m.cost
	}
	return scheduler.NewEngine(m.net, cfg)
}

// measureCost measures the cost of passes. An engine does this itself when it is idle, but here it
// never is.
func (m *model) measureCost(context int) error {
	if m.cost != nil {
		return nil
	}
	c, err := transformer.NewCache(m.net, transformer.CacheConfig{Type: m.o.kv, Pages: transformer.PagesFor(64)})
	if err != nil {
		return err
	}
	defer c.Close()
	p, rng := &passes{m, c}, rand.New(rand.NewPCG(m.o.seed, 3))
	seq, err := p.sequence(64)
	if err != nil {
		return err
	}
	m.cost = &scheduler.CostCurve{}
	for n := 1; n <= min(64, context-1); n *= 2 {
		least := 0.0
		for range 4 {
			seq.Len = 0
			begin := m.o.now()
			if err := m.net.Forward(c, []transformer.Slice{{Seq: seq, Tokens: m.random(n, rng), Outputs: n}}); err != nil {
				return err
			}
			if took := m.o.now().Sub(begin).Seconds(); least == 0 || took < least {
				least = took
			}
		}
		m.cost.Points = append(m.cost.Points, scheduler.CostPoint{Tokens: n, Seconds: least})
	}
	return nil
}

// tokenizer returns the tokenizer of the model, or of the file given instead. The network may have
// more tokens than the tokenizer, but not fewer.
func (m *model) tokenizer() (*tokenizer.Tokenizer, error) {
	f := m.file
	if m.o.vocab != "" {
		var err error
		if f, err = gguf.Open(m.o.vocab); err != nil {
			return nil, err
		}
		defer f.Close()
	}
	t, err := tokenizer.FromGGUF(f)
	if err == nil && t.Size() > m.net.Hyper().Vocab {
		err = fmt.Errorf("the tokenizer has %d tokens, the network %d; name a smaller one with -vocab", t.Size(), m.net.Hyper().Vocab)
	}
	return t, err
}

// rate returns the tokens generated per second. The first token is not counted, because it comes
// from the prompt's pass.
func rate(s scheduler.Stats) float64 { return float64(s.Generated-1) / s.Decode.Seconds() }

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
