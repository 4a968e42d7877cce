package measure

import (
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/examples/fix/internal/harness"
	"github.com/luthier-dev/luthier/router/moe"
	"github.com/luthier-dev/luthier/router/moe/embedded"
)

// TestPupil checks that a package's module is learned once, without the broken functions, and that
// if there is too little to learn from, the measurement continues without it.
//
// Evidence: repair · The model learns the module's own code after three failed edits
func TestPupil(t *testing.T) {
	if testing.Short() {
		t.Skip("trains a model of eight million weights")
	}
	learner := &harness.Learner{Weights: embedded.Model(), Tokens: 8000, Config: moe.Config{Threads: 1}}
	p := &pupil{learner: learner, root: "../..", facts: []Fact{{Module: "github.com/luthier-dev/luthier/examples/fix", Dir: "internal/repair", File: "apply.go", Function: "Apply"}}}
	first := p.adapt(t.Context(), nil)
	if first == nil || p.adapt(t.Context(), nil) != first || p.note(&stages{}) != 1 {
		t.Errorf("learnt %v, %v", first, p.err)
	}
	if _, ok := first.(harness.Searcher); !ok {
		t.Errorf("a %T lists no edits", first)
	}
	if !p.broken("internal/repair/apply.go", "Apply") || p.broken("internal/repair/apply.go", "Apply2") || p.broken("apply.go", "Apply") {
		t.Error("the wrong functions are left out")
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
	for _, p := range []*pupil{{}, {learner: learner, root: spans(t), facts: []Fact{{Module: "example.com/spans", Dir: "."}}}} {
		clock := &stages{}
		if m := p.adapt(t.Context(), nil); m != agent.Model(nil) || p.note(clock) != 0 || p.close() != nil || (p.learner != nil) != (clock.String() == "too little to learn from") {
			t.Errorf("learnt %v: %v, %q", m, p.err, clock)
		}
	}
}
