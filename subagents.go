package luthier

import (
	"slices"
	"strings"
	"sync"

	"github.com/luthier-dev/luthier/agent"
)

// subAgents returns the configuration of the sub-agents of the agent tool: that of the host, nil if
// it wants none, completed by what the host gave the agent itself. Package agent passes on the rest
// when a run calls the tool.
func subAgents(sub, main *agent.Config, source agent.ToolSource) *agent.Config {
	if sub == nil || sub.Model == nil { // package coding reports a missing model
		return sub
	}
	cfg := *sub
	// The role of a sub-agent differs. The workspace, the instructions of the repository and those
	// of the host are the same.
	rest := strings.TrimSpace(strings.Replace(main.System, strings.TrimSpace(basePrompt), "", 1))
	if !strings.Contains(cfg.System, rest) {
		cfg.System = strings.TrimSpace(rest + "\n\n" + cfg.System)
	}
	if len(cfg.Tools) == 0 && cfg.ToolSource == nil {
		cfg.ToolSource = source
	}
	// Here too, since agent.New checks one against the other.
	if cfg.Limits.MicroDollars == 0 {
		cfg.Limits.MicroDollars = main.Limits.MicroDollars
	}
	if cfg.Prices == nil {
		cfg.Prices = main.Prices
	}
	cfg.AllowUnpriced = cfg.AllowUnpriced || main.AllowUnpriced
	if cfg.ContextBudget == 0 && main.ContextBudget > 0 {
		cfg.ContextBudget = min(main.ContextBudget, budgetOf(cfg.Model))
	}
	return &cfg
}

// offered joins what an agent is offered: the registry, and what the host set in Customize. Package
// agent leaves out a tool whose name is taken.
type offered struct {
	static   []agent.Tool
	registry agent.ToolSource
	more     agent.ToolSource // nil for none

	mu   sync.Mutex      // guards the fields below
	last [2][]agent.Tool // of the registry and of more
	out  []agent.Tool
}

// Tools returns the same slice until one of the sources changes.
func (o *offered) Tools() []agent.Tool {
	now := [2][]agent.Tool{o.registry.Tools()}
	if o.more != nil {
		now[1] = o.more.Tools()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.out == nil || !sameSlice(now[0], o.last[0]) || !sameSlice(now[1], o.last[1]) {
		o.last, o.out = now, slices.Concat(o.static, now[0], now[1])
	}
	return o.out
}

func sameSlice(a, b []agent.Tool) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
