package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/compaction"
	"github.com/luthier-dev/luthier/compaction/replay"
	"github.com/luthier-dev/luthier/tools"
)

// policies returns all policies that the command knows, the raw replay first.
func policies() []replay.Policy {
	return append(replay.Baselines(), replay.Policy{Name: "luthier", New: luthier})
}

// luthier is the policy of package compaction in an agent: results are shortened as they are
// recorded, and the history is compacted when that pays or is needed.
func luthier(summariser agent.Model) (replay.Parts, error) {
	c := compaction.New(compaction.Config{Model: summariser, Store: tools.NewMemStore()})
	return replay.Parts{Compactor: c, Middleware: c.Record()}, nil
}

func policyNames() string {
	var names []string
	for _, p := range policies() {
		names = append(names, p.Name)
	}
	return strings.Join(names, ",")
}

// choose returns the policies named in a list, preceded by the raw replay, with which the others
// are compared. A name also selects all policies that begin with it, so that mask is enough for
// mask-10.
func choose(list string) ([]replay.Policy, error) {
	all := policies()
	if list == "" {
		return all, nil
	}
	keep := map[string]bool{all[0].Name: true}
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(all, func(p replay.Policy) bool { return p.Name == name })
		if i < 0 && name != "" {
			i = slices.IndexFunc(all, func(p replay.Policy) bool { return strings.HasPrefix(p.Name, name) })
		}
		if i < 0 {
			return nil, fmt.Errorf("-policy: no policy is named %q; there are %s", name, policyNames())
		}
		keep[all[i].Name] = true
	}
	return slices.DeleteFunc(all, func(p replay.Policy) bool { return !keep[p.Name] }), nil
}
