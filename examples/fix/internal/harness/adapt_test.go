package harness_test

import (
	"context"
	"iter"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/examples/fix/internal/harness"
	"github.com/luthier-dev/luthier/router/moe"
)

// TestAdapt checks that another model takes over, only once, after some edits that did not help,
// and not earlier.
//
// Evidence: repair · The model learns the module's own code after three failed edits
func TestAdapt(t *testing.T) {
	const right = "if i == 0 || x > m {"
	wrong := []string{"if i == 1 || x < m {", "if i == 2 || x < m {", "if i == 3 || x < m {", "if i == 4 || x < m {"}
	begin := []string{"run_tests {}", "read_function {\"number\":1}"}
	edits := func(texts ...string) []string {
		var out []string
		for _, text := range texts {
			out = append(out, editLine(4, text), "run_tests {}")
		}
		return out
	}
	for _, tt := range []struct {
		name        string
		first, then []string // decisions of each model; the second is nil if it must not be asked, or has nothing to offer
		asked       int
		fixed       bool
		left        int // number of decisions that the first model did not get to make
	}{
		{"mended before", append(begin, append(edits(wrong[0], right), "Fixed.")...), nil, 0, true, 0},
		{"mended after", append(begin, edits(wrong...)...), append(edits(right), "Fixed."), 1, true, 4},
		{"what was tried is refused", append(begin, edits(wrong[:2]...)...), append([]string{editLine(4, wrong[0])}, append(edits(right), "Fixed.")...), 1, true, 0},
		{"nothing learnt", append(begin, edits(wrong...)...), nil, 1, false, 0},
		{"not mended at all", append(begin, edits(wrong[:2]...)...), edits(wrong[2:]...), 1, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			first, then, asked := &script{decisions: tt.first}, &script{decisions: tt.then}, 0
			res, err := harness.Run(t.Context(), harness.Config{Model: first, Case: onPaper{right}, Edits: 4, Adapt: func(_ context.Context, f *harness.Finding) agent.Model {
				if asked++; len(f.Ranked) != 1 || len(f.Failed) != 1 {
					t.Errorf("it is told %+v", f)
				}
				if tt.then == nil {
					return nil
				}
				return then
			}})
			if err != nil || asked != tt.asked || (res.Fixed != nil) != tt.fixed || len(first.decisions)-first.next != tt.left {
				t.Errorf("asked %d times, fixed: %v, %d decisions left: %v, %v", asked, res.Fixed != nil, len(first.decisions)-first.next, res.Why, err)
			}
			if tt.name == "what was tried is refused" && res.Refused != 1 {
				t.Errorf("%d refused", res.Refused)
			}
		})
	}
}

// exhausted is a model that has no further idea when its prepared decisions are used up.
type exhausted struct{ script }

func (e *exhausted) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	if e.next == len(e.decisions) {
		return func(yield func(agent.Chunk, error) bool) {
			yield(nil, &agent.ModelError{Kind: agent.ErrInvalid, Err: moe.ErrAvoided})
		}
	}
	return e.script.Stream(ctx, req)
}

// TestAdaptWhereNoIdeaIsLeft checks that another model also takes over if the first has nothing
// left to try.
//
// Evidence: repair · The model learns the module's own code after three failed edits
func TestAdaptWhereNoIdeaIsLeft(t *testing.T) {
	const right = "if i == 0 || x > m {"
	for _, then := range []*script{nil, {decisions: []string{editLine(4, right), "run_tests {}", "Fixed."}}} {
		first, asked := &exhausted{script{decisions: []string{"run_tests {}", "read_function {\"number\":1}", editLine(4, "if i == 1 || x < m {"), "run_tests {}"}}}, 0
		res, err := harness.Run(t.Context(), harness.Config{Model: first, Case: onPaper{right}, Adapt: func(context.Context, *harness.Finding) agent.Model {
			if asked++; then == nil {
				return nil
			}
			return then
		}})
		if err != nil || asked != 1 || (res.Fixed != nil) != (then != nil) || then == nil && res.Why != "the model has no further idea" {
			t.Errorf("asked %d times, fixed: %v, %q, %v", asked, res.Fixed != nil, res.Why, err)
		}
	}
}
