package compaction

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/artifact"
	"github.com/luthier-dev/luthier/tools"
)

var ctx = context.Background()

func compact(t *testing.T, c *Compactor, ms []agent.Message, budget int) ([]agent.Message, Report) {
	t.Helper()
	out, rep, err := c.Compact(ctx, ms, budget)
	if err != nil {
		t.Fatalf("Compact: %v", err)
	}
	return out, rep
}

func weigh(ms []agent.Message) int { return newMeter(newMemo()).messages(ms) }

// newestUser returns the size of the newest user message, which cannot be shortened.
func newestUser(ms []agent.Message) int {
	for _, m := range slices.Backward(ms) {
		if kept(m) {
			return weigh([]agent.Message{m})
		}
	}
	return 0
}

// budgetFor returns a random budget, from comfortable to barely possible.
func budgetFor(r *random, ms []agent.Message) int {
	all, least := weigh(ms), newestUser(ms)+20
	return least + r.IntN(max(all-least, 1)+all/4)
}

// Evidence: compaction · Any history fits any budget, with its calls paired
func TestCompactKeepsTheRules(t *testing.T) {
	each(t, 400, func(t *testing.T, r *random, ms []agent.Message) {
		c := New(Config{Store: tools.NewMemStore()})
		before := clone(ms)
		budget := budgetFor(r, ms)
		out, rep := compact(t, c, ms, budget)
		if !reflect.DeepEqual(before, ms) {
			t.Errorf("Compact changed its input (-before +after):\n%s", cmp.Diff(before, ms))
		}
		if err := agent.CheckPairing(out); err != nil {
			t.Error(err)
		}
		if n := weigh(out); n > budget || n != rep.After {
			t.Errorf("%d tokens are left, the report says %d, the budget is %d", n, rep.After, budget)
		}
		if rep.After > rep.Before {
			t.Errorf("it grew from %d to %d tokens", rep.Before, rep.After)
		}
		checkResults(t, ms, out)
		checkThinking(t, ms, out)
		checkUsers(t, ms, out)
		checkJSON(t, out)
	})
}

// clone returns a deep copy of everything that a compaction might change in place.
func clone(ms []agent.Message) []agent.Message {
	out := slices.Clone(ms)
	for i := range out {
		out[i].Parts = slices.Clone(out[i].Parts)
		for j, p := range out[i].Parts {
			switch p := p.(type) {
			case agent.ToolResult:
				p.Parts = slices.Clone(p.Parts)
				out[i].Parts[j] = p
			case agent.ToolCall:
				p.Args = slices.Clone(p.Args)
				out[i].Parts[j] = p
			}
		}
	}
	return out
}

// checkResults checks that every call still has one result, with the same ids, and that errors are
// still errors.
func checkResults(t *testing.T, in, out []agent.Message) {
	t.Helper()
	failed := map[string]bool{}
	for _, m := range in {
		for _, p := range m.Parts {
			if r, ok := p.(agent.ToolResult); ok {
				failed[r.CallID] = r.IsError
			}
		}
	}
	seen := map[string]bool{}
	for _, m := range out {
		for _, p := range m.Parts {
			r, ok := p.(agent.ToolResult)
			if !ok {
				continue
			}
			was, known := failed[r.CallID]
			if !known || seen[r.CallID] || was != r.IsError {
				t.Errorf("the result of %q is unknown, there twice, or no error any more", r.CallID)
			}
			seen[r.CallID] = true
		}
	}
}

// checkThinking checks that signed reasoning is unchanged and still with the calls it came with.
func checkThinking(t *testing.T, in, out []agent.Message) {
	t.Helper()
	signed := map[string]agent.Thinking{} // keyed by the first call of the turn
	for _, m := range in {
		if calls := m.Calls(); len(calls) > 0 {
			for _, p := range m.Parts {
				if th, ok := p.(agent.Thinking); ok && th.Signature != "" {
					signed[calls[0].ID] = th
				}
			}
		}
	}
	for _, m := range out {
		calls := m.Calls()
		if len(calls) == 0 {
			continue
		}
		want, had := signed[calls[0].ID]
		var got agent.Thinking
		has := false
		for _, p := range m.Parts {
			if th, ok := p.(agent.Thinking); ok && th.Signature != "" {
				got, has = th, true
			}
		}
		if had != has || !reflect.DeepEqual(want, got) {
			t.Errorf("the turn of %s has reasoning %+v, want %+v", calls[0].ID, got, want)
		}
	}
}

// checkUsers checks that the user's messages are word for word and in order, or shortened with a
// note that says so.
func checkUsers(t *testing.T, in, out []agent.Message) {
	t.Helper()
	var want, got []string
	for _, m := range in {
		if kept(m) {
			want = append(want, m.Text())
		}
	}
	for _, m := range out {
		if kept(m) {
			got = append(got, m.Text())
		}
	}
	if len(got) == 1 && got[0] == want[len(want)-1] {
		return // the smallest history: the newest message, and a note about the rest
	}
	if len(want) != len(got) {
		t.Errorf("%d messages of the user became %d", len(want), len(got))
		return
	}
	for i := range want {
		if got[i] != want[i] && !strings.HasPrefix(got[i], shortMark) {
			t.Errorf("a message of the user changed:\n%s\nbecame\n%s", want[i], got[i])
		}
	}
	if n := len(want) - 1; n >= 0 && got[n] != want[n] {
		t.Errorf("the newest message of the user changed")
	}
}

func checkJSON(t *testing.T, out []agent.Message) {
	t.Helper()
	for _, m := range out {
		for _, c := range m.Calls() {
			if strings.Contains(string(c.Args), leftOut) && !json.Valid(c.Args) {
				t.Errorf("shortened arguments are no JSON: %s", c.Args)
			}
		}
	}
}

func TestCompactIsDeterministic(t *testing.T) {
	each(t, 100, func(t *testing.T, r *random, ms []agent.Message) {
		budget := budgetFor(r, ms)
		a, ra := compact(t, New(Config{Store: tools.NewMemStore()}), ms, budget)
		c := New(Config{Store: tools.NewMemStore()})
		compact(t, c, ms, budget/2+newestUser(ms)+200) // whatever c did before must make no difference
		b, rb := compact(t, c, ms, budget)
		if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(ra, rb) {
			t.Errorf("two compactions of the same history differ:\n%s", cmp.Diff(a, b))
		}
	})
}

// Evidence: compaction · Any history fits any budget, with its calls paired
func TestCompactMakesProgress(t *testing.T) {
	each(t, 150, func(t *testing.T, r *random, ms []agent.Message) {
		c := New(Config{Store: tools.NewMemStore()})
		out, rep := compact(t, c, ms, weigh(ms)*3/4+newestUser(ms)+50)
		again, rep2 := compact(t, c, out, rep.After+1)
		if rep2.After > rep.After {
			t.Errorf("a compacted history grew from %d to %d tokens", rep.After, rep2.After)
		}
		for budget := rep2.After; budget > newestUser(ms)+40; budget = budget * 2 / 3 {
			next, rep := compact(t, c, again, budget)
			if n := weigh(next); n > budget || n > weigh(again) {
				t.Fatalf("with a budget of %d a history of %d became one of %d tokens: %+v", budget, weigh(again), n, rep)
			}
			checkUsers(t, ms, next)
			again = next
		}
	})
}

func TestCompactWithoutHelp(t *testing.T) {
	each(t, 60, func(t *testing.T, r *random, ms []agent.Message) {
		budget := budgetFor(r, ms)
		out, rep, err := New(Config{}).Compact(ctx, ms, budget)
		if err != nil || weigh(out) > budget {
			t.Errorf("the zero Config left %d tokens of %d, budget %d: %v, %+v", weigh(out), weigh(ms), budget, err, rep)
		}
	})
}

// Evidence: compaction · Compaction works if the model fails
func TestCompactWhenTheModelFails(t *testing.T) {
	broken := map[string]agent.Model{
		"error":   agenttest.Script(agenttest.Error(errors.New("boom"))).Loop(),
		"empty":   agenttest.Script(agenttest.Text("")).Loop(),
		"endless": agenttest.Script(agenttest.Text(strings.Repeat("and so on ", 100_000))).Loop(),
		"too long": agent.ModelFunc(func(context.Context, *agent.Request) iter.Seq2[agent.Chunk, error] {
			return func(yield func(agent.Chunk, error) bool) {
				yield(nil, &agent.ModelError{Kind: agent.ErrContextLength, Err: errors.New("too long")})
			}
		}),
		"cut": agenttest.Script(agenttest.Join(agenttest.Text("half a"), agenttest.Cut())).Loop(),
	}
	for name, m := range broken {
		t.Run(name, func(t *testing.T) {
			each(t, 25, func(t *testing.T, r *random, ms []agent.Message) {
				c := New(Config{Model: m, Store: tools.NewMemStore()})
				budget := newestUser(ms) + 60 + weigh(ms)/6
				out, rep := compact(t, c, ms, budget)
				if weigh(out) > budget {
					t.Errorf("%d tokens are left of a budget of %d: %+v", weigh(out), budget, rep)
				}
			})
		})
	}
}

func TestCompactRefuses(t *testing.T) {
	long := agent.UserText(strings.Repeat("an enormous question ", 1000))
	_, _, err := New(Config{}).Compact(ctx, []agent.Message{long}, 500)
	if err == nil || !strings.Contains(err.Error(), "newest user message") {
		t.Errorf("a question over the budget: %v", err)
	}
	orphan := []agent.Message{agent.UserText("hi"), {Role: agent.RoleTool, Parts: []agent.Part{agent.ToolResult{CallID: "x"}}}}
	if out, _, err := New(Config{}).Compact(ctx, orphan, 10); err == nil || len(out) != 2 {
		t.Errorf("a result without a call: %v", err)
	}
	if out, rep, err := New(Config{}).Compact(ctx, nil, 10); err != nil || len(out) != 0 || rep.After != 0 {
		t.Errorf("nothing: %v %v %+v", out, err, rep)
	}
}

// TestEverythingCanBeReadBack follows the handles of a compacted history and finds every byte of
// every result that is no longer in it.
//
// Evidence: compaction · Everything that was shortened can be read back
func TestEverythingCanBeReadBack(t *testing.T) {
	each(t, 80, func(t *testing.T, r *random, ms []agent.Message) {
		store := tools.NewMemStore()
		c := New(Config{Store: store})
		out := ms
		for budget := weigh(ms); budget > newestUser(ms)+400; budget = budget * 2 / 3 {
			out, _ = compact(t, c, out, budget)
		}
		var all strings.Builder
		gather(t, store, transcript(out), &all, map[string]bool{})
		for _, m := range ms {
			for _, p := range m.Parts {
				if res, ok := p.(agent.ToolResult); ok && !strings.Contains(all.String(), res.Text()) {
					t.Errorf("the result of %s cannot be read back from\n%s", res.CallID, transcript(out))
				}
			}
		}
	})
}

// gather writes text and everything that its handles lead to.
func gather(t *testing.T, store agent.ArtifactStore, text string, into *strings.Builder, seen map[string]bool) {
	t.Helper()
	into.WriteString(text)
	for _, h := range artifact.FindAll(text) {
		if seen[h] {
			continue
		}
		seen[h] = true
		data, err := store.Get(ctx, h)
		if err != nil {
			continue // a handle that was in the tool's own text
		}
		gather(t, store, string(data), into, seen)
	}
}
