package compaction

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/tier"
)

// Evidence: compaction · Pruning waits until it pays for the lost prompt cache
func TestRates(t *testing.T) {
	for _, c := range []struct {
		name string
		p    agent.Price
		want rates
	}{
		{"none", agent.Price{}, rates{0.1, 1.25}},
		{"with a price for writes", agent.Price{Input: 3_000_000, CachedInput: 300_000, CacheWrite: 3_750_000}, rates{0.1, 1.25}},
		{"without", agent.Price{Input: 1_000_000, CachedInput: 250_000}, rates{0.25, 1}},
		{"no cache", agent.Price{Input: 1_000_000}, rates{1, 1}},
	} {
		if got := ratesOf(c.p); math.Abs(got.read-c.want.read) > 1e-9 || math.Abs(got.write-c.want.write) > 1e-9 {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	if got := ratesOf(agent.Price{}).payback(1000, 2000); math.Abs(got-23) > 1e-9 {
		t.Errorf("1,000 tokens out with 2,000 behind pay after %v calls, want 11.5*2", got)
	}
}

// reads returns a history of n reads of different files, of about tokens tokens each.
func reads(n, tokens int) []agent.Message {
	ms := []agent.Message{agent.UserText("look around")}
	for i := range n {
		id := fmt.Sprintf("r%d", i)
		ms = append(ms,
			agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{agent.ToolCall{ID: id, Name: "read", Args: []byte(fmt.Sprintf(`{"path":"f%d.go"}`, i))}}},
			agent.Message{Role: agent.RoleTool, Parts: []agent.Part{agent.ToolResult{CallID: id,
				Parts: []agent.Part{agent.Text{Text: strings.Repeat(fmt.Sprintf("\tx := compute%d(a, b)\n", i), tokens/9)}}}}})
	}
	return ms
}

// replayCost calls a compactor before every model call of a run. It returns the total cost of the
// run's prompts, and the number of times the history was rewritten.
func replayCost(t *testing.T, c *Compactor, run []agent.Message) (cost float64, cuts int) {
	t.Helper()
	var live, held []agent.Message
	for i, m := range run {
		live = append(live, m)
		if i+1 < len(run) && run[i+1].Role != agent.RoleAssistant {
			continue
		}
		if c != nil {
			out, rep := compact(t, c, live, 1<<30)
			if rep.Pruned > 0 {
				cuts++
			}
			live = append([]agent.Message(nil), out...)
		}
		same := 0
		for same < len(held) && same < len(live) && fmt.Sprint(held[same]) == fmt.Sprint(live[same]) {
			same++
		}
		cost += 0.1*float64(weigh(live[:same])) + 1.25*float64(weigh(live[same:]))
		held = append([]agent.Message(nil), live...)
	}
	return cost, cuts
}

// TestPlanPays checks that over long runs the planner costs clearly less than changing nothing and
// cuts rarely, and that it loses little on runs that end early.
//
// Evidence: compaction · Pruning waits until it pays for the lost prompt cache
func TestPlanPays(t *testing.T) {
	tier.Normal(t)
	for _, c := range []struct {
		steps  int
		atMost float64 // as a share of the cost of doing nothing
		cuts   int
	}{{8, 1.001, 0}, {20, 1.1, 2}, {60, 0.78, 3}, {150, 0.46, 8}} {
		run := reads(c.steps, 900)
		raw, _ := replayCost(t, nil, run)
		cost, cuts := replayCost(t, New(Config{}), run)
		t.Logf("%d steps: %.1f %% of the cost, %d cuts", c.steps, 100*cost/raw, cuts)
		if cost > c.atMost*raw || cuts > c.cuts {
			t.Errorf("%d steps cost %.0f, %.1f %% of %.0f, with %d cuts; want at most %.0f %% and %d", c.steps, cost, 100*cost/raw, raw, cuts, 100*c.atMost, c.cuts)
		}
	}
}

// TestPlanKnowsTheEnd checks that nothing is pruned if few calls are still to come, and something
// is if there are many.
func TestPlanKnowsTheEnd(t *testing.T) {
	ms := reads(30, 900)
	if New(Config{Calls: 1}).Due(ms) {
		t.Error("with one call to come, pruning cannot pay")
	}
	if !New(Config{Calls: 200}).Due(ms) {
		t.Error("with 200 calls to come, pruning pays at once")
	}
	if New(Config{Calls: 200, OnlyWhenFull: true}).Due(ms) {
		t.Error("OnlyWhenFull does not hold")
	}
	free := agent.Price{Input: 1_000_000, CachedInput: 1, CacheWrite: 2_000_000}
	if New(Config{Calls: 200, Prices: free}).Due(ms) {
		t.Error("where the cache is free, pruning does not pay")
	}
}

// TestPlanSpares: the latest turns, the latest edits and the reads of the files they changed stay
// word for word.
//
// Evidence: compaction · Work under way stays word for word
func TestPlanSpares(t *testing.T) {
	ms := reads(40, 900)
	ms = append(ms,
		agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{agent.ToolCall{ID: "e", Name: "edit", Args: []byte(`{"path":"f20.go","old":"a","new":"b"}`)}}},
		agent.Message{Role: agent.RoleTool, Parts: []agent.Part{agent.ToolResult{CallID: "e", Parts: []agent.Part{agent.Text{Text: "edited"}}}}})
	out, rep := compact(t, New(Config{Calls: 500}), ms, 1<<30)
	if rep.Pruned < 30 {
		t.Fatalf("%d results were pruned: %+v", rep.Pruned, rep)
	}
	full := func(i int) bool { return !isStub(firstText(out[2*i+2].Parts[0].(agent.ToolResult).Parts)) }
	for i, want := range map[int]bool{0: false, 19: false, 20: true, 21: false, 34: false, 36: true, 39: true} {
		if full(i) != want {
			t.Errorf("the read of f%d.go stands in full: %v, want %v", i, full(i), want)
		}
	}
}
