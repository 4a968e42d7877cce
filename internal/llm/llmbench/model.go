package main

import (
	"fmt"
	"time"

	"github.com/luthier-dev/luthier/internal/gguf"
	"github.com/luthier-dev/luthier/internal/llm"
	"github.com/luthier-dev/luthier/internal/tensor"
	"github.com/luthier-dev/luthier/internal/tokenizer"
)

// model is a network that is loaded for one number of threads.
type model struct {
	file *gguf.File
	pool *tensor.Pool
	net  *llm.Network
	o    options
}

func open(path string, threads int, o options) (*model, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	pool := tensor.NewPool(threads)
	net, err := llm.LoadNetwork(f, pool, llm.NetworkConfig{})
	if err != nil {
		return nil, err
	}
	return &model{f, pool, net, o}, nil
}

func (m *model) close() {
	m.net.Close()
	m.pool.Close()
	m.file.Close()
}

// engine starts an engine with room for texts of context tokens in each of its slots.
func (m *model) engine(context int, cfg llm.EngineConfig) (*llm.Engine, error) {
	cfg.Context, cfg.Now = context, m.o.now
	cfg.Slots = max(cfg.Slots, 1)
	cfg.Cache = llm.CacheConfig{Type: m.o.kv, Pages: (cfg.Slots + 1) * (llm.PagesFor(context) + 1)}
	return llm.NewEngine(m.net, cfg)
}

// tokenizer returns that of the model, or of the file that takes its place. The network may have more tokens, not fewer.
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

// rate is the tokens generated a second, the first not counted, which the prompt gives.
func rate(s llm.Stats) float64 { return float64(s.Generated-1) / s.Decode.Seconds() }

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
