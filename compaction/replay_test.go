package compaction_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/compaction"
	"github.com/luthier-dev/luthier/compaction/replay"
	"github.com/luthier-dev/luthier/internal/devdata"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/tools"
)

// TestReplay replays real recorded runs with prompts of at least 48,000 tokens through every
// policy, prints what each costs and loses, and checks the policy of this package against its
// thresholds. The simple policies show whether the measure is still as strict as when the
// thresholds were set: at that time, keeping the ends of results (head-tail-2k) cost 64.6 % and had
// 97.8 % support.
//
// Evidence: compaction · A policy is measured on replayed runs
func TestReplay(t *testing.T) {
	tier.Normal(t)
	policies := append(replay.Baselines(), luthierPolicies()...)
	if testing.Short() { // only the policies with a threshold, and what they are compared with
		held := []string{"raw", "head-tail-2k", "luthier", "luthier-terse"}
		policies = slices.DeleteFunc(policies, func(p replay.Policy) bool { return !slices.Contains(held, p.Name) })
	}
	scores := map[string][]replay.Score{}
	for _, run := range longRuns(t) {
		var raw *replay.Result
		var table []replay.Score
		for _, p := range policies {
			res, err := replay.Replay(context.Background(), run, p, replay.Config{})
			if err != nil {
				t.Fatal(err)
			}
			if p.Name == "raw" {
				raw = res
			}
			for _, n := range res.Notes {
				t.Errorf("%s, %s: %s", run.Name, p.Name, n)
			}
			s := replay.Compare(raw, res)
			table, scores[p.Name] = append(table, s), append(scores[p.Name], s)
		}
		print(t, table)
	}
	var means []replay.Score
	for _, p := range policies {
		means = append(means, replay.Mean(scores[p.Name]))
	}
	print(t, means)
	if devdata.Sampled(t, devdata.Path(t, "compaction-dev/trajectories")) {
		for _, m := range means {
			switch m.Policy {
			case "head-tail-2k":
				if m.Cost < 0.7 || m.Cost > 0.75 || m.Support < 0.98 || m.Support > 0.995 {
					t.Errorf("the measure has moved: head-tail-2k costs %.3f with support %.3f", m.Cost, m.Support)
				}
			case "luthier":
				if m.Cost > 0.78 || m.Support < 0.995 || m.Reread > 0.01 || m.CacheHit() < 0.94 || m.Peak > 35_000 {
					t.Errorf("want cost <= 78 %%, support >= 99.5 %%, re-read steps <= 1 %%, cache hit >= 94 %%, peak <= 35,000; got %v", m.Row())
				}
			}
		}
		return
	}
	for _, m := range means {
		switch m.Policy {
		case "head-tail-2k":
			if m.Cost < 0.6 || m.Cost > 0.7 || m.Support < 0.97 || m.Support > 0.99 {
				t.Errorf("the measure has moved: head-tail-2k costs %.3f with support %.3f", m.Cost, m.Support)
			}
		case "luthier":
			if m.Cost > 0.65 || m.Support < 0.98 || m.Reread > 0.06 || m.CacheHit() < 0.97 || m.Peak > 50_000 {
				t.Errorf("want cost <= 65 %%, support >= 98 %%, re-read steps <= 6 %%, cache hit >= 97 %%, peak <= 50,000; got %v", m.Row())
			}
		case "luthier-terse":
			if m.Cost > 0.58 || m.Support < 0.975 || m.Reread > 0.08 || m.CacheHit() < 0.975 || m.Peak > 50_000 {
				t.Errorf("want cost <= 58 %%, support >= 97.5 %%, re-read steps <= 8 %%, cache hit >= 97.5 %%, peak <= 50,000; got %v", m.Row())
			}
		}
	}
}

// luthierPolicies returns the policies of this package: as an agent uses it; without shortening
// results as they are recorded; and with Compact alone, called before every request.
func luthierPolicies() []replay.Policy {
	policy := func(name string, parts func(summariser agent.Model) replay.Parts) replay.Policy {
		return replay.Policy{Name: name, New: func(m agent.Model) (replay.Parts, error) { return parts(m), nil }}
	}
	return []replay.Policy{
		policy("luthier", func(m agent.Model) replay.Parts {
			c := compaction.New(compaction.Config{Model: m, Store: tools.NewMemStore()})
			return replay.Parts{Compactor: c, Middleware: c.Record()}
		}),
		policy("luthier-terse", func(m agent.Model) replay.Parts { // as if every token of an output had to earn its place
			c := compaction.New(compaction.Config{Model: m, Store: tools.NewMemStore(), WholeTokens: -1})
			return replay.Parts{Compactor: c, Middleware: c.Record()}
		}),
		policy("luthier-unrecorded", func(m agent.Model) replay.Parts {
			return replay.Parts{Compactor: compaction.New(compaction.Config{Model: m, Store: tools.NewMemStore()})}
		}),
		policy("luthier-zero-config", func(agent.Model) replay.Parts {
			return replay.Parts{Compactor: alwaysDue{compaction.New(compaction.Config{})}}
		}),
	}
}

// alwaysDue has its compactor called before every request.
type alwaysDue struct{ agent.Compactor }

func (alwaysDue) Due([]agent.Message) bool { return true }

// longRuns reads the recorded runs of at least 48,000 tokens. It skips the test if there are none.
func longRuns(t *testing.T) []*replay.Run {
	files := devdata.Glob(t, "compaction-dev/trajectories/*.json")
	var runs []*replay.Run
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		run, err := replay.Read(filepath.Base(name), f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d tokens, longest prompt %d", run.Name, run.Tokens(), run.Largest())
		if run.Largest() >= 48_000 {
			runs = append(runs, run)
		}
	}
	return runs
}

func print(t *testing.T, scores []replay.Score) {
	t.Helper()
	if err := replay.WriteTable(t.Output(), scores); err != nil {
		t.Fatal(err)
	}
}
