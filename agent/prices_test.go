package agent_test

import (
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/agent"
)

// TestUnknownModelsHaveNoPrice checks that a price holds for exactly the names in the table: a
// later version, a dated snapshot or a variant of a priced model is unknown.
//
// Evidence: loop · A price holds for exact model names, and a model without one is reported as
// unpriced
func TestUnknownModelsHaveNoPrice(t *testing.T) {
	ps := agent.DefaultPrices()
	for _, name := range []string{"gpt-5", "gpt-5-mini", "gpt-4o-2024-11-20", "claude-sonnet-4-20250514", "claude-haiku-4-5"} {
		if p, ok := ps.Find(name); !ok || p.Input <= 0 || p.Output <= 0 {
			t.Errorf("%s: %+v, %v", name, p, ok)
		}
	}
	for _, name := range []string{"", "gpt-5.9", "gpt-5-2099-01-01", "gpt-5-pro", "gpt-50", "GPT-5", "gpt-4o-2024-05-13", "claude-sonnet-4-9", "claude-opus-4", "openai/gpt-5", "gpt-5:free"} {
		if p, ok := ps.Find(name); ok {
			t.Errorf("%s has the price %+v of another model", name, p)
		}
	}
	ps.Alias("gpt-5", "our-deployment")
	if p, ok := ps.Find("our-deployment"); !ok || p != ps["gpt-5"] {
		t.Errorf("alias: %+v, %v", p, ok)
	}
	if ps.Alias("unknown", "x"); len(ps) != len(agent.DefaultPrices())+1 {
		t.Error("an alias of an unknown model has a price")
	}
}

// TestUnpricedRun checks that a limit in money refuses a model without a price, unless the host
// allows it, and that the result then says that its cost is not complete, for a sub-agent's model
// too.
func TestUnpricedRun(t *testing.T) {
	cfg := agent.Config{Model: named{newScript(say("done"))}, Limits: agent.Limits{MicroDollars: 1000}, Prices: agent.Prices{"script": {Input: 1}}}
	if _, err := agent.New(cfg); err == nil || !strings.Contains(err.Error(), "AllowUnpriced") || !strings.Contains(err.Error(), `"scripted-1"`) {
		t.Errorf("err = %v", err)
	}
	cfg.AllowUnpriced = true
	if res, _ := run(t, configured(t, cfg), agent.NewSession(), "go"); res.Stop != agent.StopDone || !res.Unpriced || res.MicroDollars != 0 {
		t.Errorf("%+v", res)
	}
	priced := agent.Prices{"scripted-1": {Input: 1_000_000}}
	cfg = agent.Config{Model: named{newScript(say("done"))}, Prices: priced}
	if res, _ := run(t, configured(t, cfg), agent.NewSession(), "go"); res.Unpriced || res.MicroDollars != 10 {
		t.Errorf("%+v", res)
	}
	sub, err := agent.SubAgent(agent.SubAgentConfig{Agent: agent.Config{Model: newScript(say("found"))}})
	if err != nil {
		t.Fatal(err)
	}
	cfg = agent.Config{Model: named{newScript(calls(tc{"1", sub.Spec().Name, `{"task":"look","prompt":"look","description":"look"}`}), say("done"))}, Prices: priced, Tools: []agent.Tool{sub}}
	if res, _ := run(t, configured(t, cfg), agent.NewSession(), "go"); !res.Unpriced || res.MicroDollars != 20 {
		t.Errorf("%+v", res)
	}
}
