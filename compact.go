package luthier

import (
	"slices"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/compaction"
	"github.com/luthier-dev/luthier/internal/artifact"
)

// defaultContext is the largest prompt, in tokens, before compaction: longer prompts cost more and
// models use them less well.
const defaultContext = 150_000

// contextBudget leaves a quarter of the model's context, if its size is known, for the answer and
// for what a step adds.
func contextBudget(opts *Options) int {
	if opts.ContextBudget > 0 {
		return opts.ContextBudget
	}
	return budgetOf(opts.Model)
}

func budgetOf(m agent.Model) int {
	if caps, ok := agent.CapabilitiesOf(m); ok && caps.MaxContext > 0 {
		return max(min(defaultContext, caps.MaxContext/4*3), 1)
	}
	return defaultContext
}

// compact sets a compactor for the agent, which its sub-agents share. The compactor shortens
// results as they are recorded and makes room when the context is full. What it leaves out goes to
// the store, unless the model has no tool to read it back.
func compact(opts *Options, store agent.ArtifactStore, acfg *agent.Config) {
	acfg.ContextBudget = contextBudget(opts)
	if opts.NoCompaction {
		return
	}
	if !opts.offers(artifact.ReadTool) {
		store = nil
	}
	cfg := opts.Compaction
	if cfg.Model == nil {
		cfg.Model = opts.Model
	}
	if cfg.Store == nil {
		cfg.Store = store
	}
	if cfg.Prices == (agent.Price{}) {
		prices := opts.Prices
		if prices == nil {
			prices = agent.DefaultPrices()
		}
		cfg.Prices, _ = prices.Find(agent.ModelName(opts.Model))
	}
	c := compaction.New(cfg)
	acfg.Compactor = c
	// Record runs after the host's own middleware, so that whatever that middleware removes from a
	// result is not kept in the store. It runs before the instructions of sub-folders, which must
	// not be shortened.
	acfg.Middleware = slices.Insert(acfg.Middleware, 1, c.Record())
}

// offers reports whether the coding tool called name is offered.
func (o *Options) offers(name string) bool {
	return (len(o.Only) == 0 || slices.Contains(o.Only, name)) && !slices.Contains(o.Without, name)
}
