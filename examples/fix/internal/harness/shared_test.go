package harness_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/examples/fix/internal/harness"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/router/moe"
	"github.com/luthier-dev/luthier/router/moe/embedded"
)

// TestRepairsShareAModel checks that repairs that run concurrently on one model have the same
// results as when they run alone.
func TestRepairsShareAModel(t *testing.T) {
	m, err := embedded.Load(moe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	repairing := func() string {
		var steps strings.Builder
		res, err := harness.Run(context.Background(), harness.Config{Model: m, Case: onPaper{"nothing"}, Edits: 4, OnStep: func(s harness.Step) {
			fmt.Fprintf(&steps, "%d %s %s\n", s.N, s.Tool, s.Args)
		}})
		fmt.Fprintln(&steps, res.Why, err)
		return steps.String()
	}
	want := repairing()
	got := make(chan string)
	for range 3 {
		go func() { got <- repairing() }()
	}
	for range 3 {
		if g := <-got; g != want {
			t.Errorf("beside others:\n%s\nalone:\n%s", g, want)
		}
	}
}

// picky is a case whose compiler accepts one edit in thirty.
type picky struct {
	onPaper
	asked *int
}

func (p picky) Check(context.Context, string, []byte) error {
	if *p.asked++; *p.asked%30 != 0 {
		return errors.New("does not compile")
	}
	return nil
}

// TestTenEditsAreFound checks that ten edits of a model are tested even if most of its edits are
// refused, and that each is the likeliest of the remaining ones. This must also hold if another
// model with a separate list takes over.
//
// Evidence: engine · Calls that were tried can be excluded
// Evidence: repair · The model learns the module's own code after three failed edits
func TestTenEditsAreFound(t *testing.T) {
	m, err := embedded.Load(moe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	same, err := embedded.Load(moe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer same.Close()
	alone := tenEdits(t, m, nil)
	merged := tenEdits(t, m, func(context.Context, *harness.Finding) agent.Model { return same })
	if d := cmp.Diff(alone, merged); d != "" {
		t.Errorf("with a model that lists the same:\n%s", d)
	}
}

// tenEdits returns the edits that were tested.
func tenEdits(t *testing.T, m agent.Model, adapt func(context.Context, *harness.Finding) agent.Model) []string {
	t.Helper()
	seen, last, asked := map[string]bool{}, 1.0, 0
	res, err := harness.Run(context.Background(), harness.Config{Model: m, Adapt: adapt, Case: picky{onPaper{"nothing"}, &asked}, FunctionScope: true, OnStep: func(s harness.Step) {
		if s.Tool != repair.ToolEdit {
			return
		}
		if seen[string(s.Args)] || s.Probability > last || s.Probability <= 0 {
			t.Errorf("edit %s of probability %v after one of %v, told before: %v", s.Args, s.Probability, last, seen[string(s.Args)])
		}
		seen[string(s.Args)], last = true, s.Probability*1.000001
	}})
	if err != nil || len(res.Edits) != 10 || res.Invalid != 0 {
		t.Errorf("%d edits of %d, %d calls invalid: %v, %v", len(res.Edits), len(seen), res.Invalid, res.Why, err)
	}
	var out []string
	for _, e := range res.Edits {
		out = append(out, fmt.Sprint(e.Line, " ", e.New))
	}
	return out
}
