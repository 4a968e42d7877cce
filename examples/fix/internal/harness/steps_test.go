package harness_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/examples/fix/internal/harness"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// onPaper is a case that accepts any edit, and whose tests pass with one of them.
type onPaper struct{ right string }

func (onPaper) Find(context.Context) (*harness.Finding, error) {
	fns, err := repair.Functions("max.go", []byte(maxGo))
	if err != nil {
		return nil, err
	}
	return &harness.Finding{Failed: []string{"TestOf"}, Output: "max_test.go:7: no", Ranked: []repair.Ranked{{Function: fns[0]}}}, nil
}
func (onPaper) Source(string) ([]byte, error) { return []byte(maxGo), nil }
func (onPaper) Check(_ context.Context, _ string, src []byte) error {
	if strings.Contains(string(src), "< n") {
		return errors.New("does not compile: undefined: n")
	}
	return nil
}
func (c onPaper) Test(_ context.Context, e *harness.Edit) (*harness.Verdict, error) {
	return &harness.Verdict{OK: e.New == c.right}, nil
}

// lingering is a model whose answers end some time after the call in them, which may have finished
// by then.
type lingering struct{ script }

func (l *lingering) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		for c, err := range l.script.Stream(ctx, req) {
			if _, ok := c.(agent.Finish); ok {
				time.Sleep(5 * time.Millisecond)
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// TestSteps checks that every decision is reported with its result.
//
// Evidence: repair · fix repairs a line and writes once, or changes nothing
func TestSteps(t *testing.T) {
	model := &lingering{script{decisions: []string{
		"run_tests {}", "read_function {\"number\":1}", editLine(4, "if i == 0 || x < m {"), editLine(4, "if i==0||x<m { // the same"),
		editLine(4, "if i == 0 || x < n {"), editLine(4, "if i == 0 || x <= m {"), "run_tests {}", editLine(4, "if i == 0 || x <= m {"),
		editLine(4, "if  i == 0 || x<=m { // again"), editLine(4, "if i == 0 || x > m {"), "run_tests {}", "Fixed.",
	}}}
	var got []string
	_, err := harness.Run(context.Background(), harness.Config{Model: model, Case: onPaper{"if i == 0 || x > m {"}, OnStep: func(s harness.Step) {
		line, _, _ := strings.Cut(s.Result, "\n")
		got = append(got, s.Tool+" → "+line)
		if s.N != len(got) {
			t.Errorf("decision %d is reported as number %d", len(got), s.N)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"run_tests → FAIL TestOf", "read_function → func 1 max.go", "edit_line → refused: line 4: the line is so already",
		"edit_line → refused: line 4: the line is so already", "edit_line → refused: does not compile: undefined: n", "edit_line → edited line 4",
		"run_tests → still failing: the edit was undone", "edit_line → refused: it was tried before", "edit_line → refused: it was tried before", "edit_line → edited line 4", "run_tests → ok", " → Fixed.",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestLastEditIsTold checks that the test run of the last allowed edit is reported before the
// repair ends.
func TestLastEditIsTold(t *testing.T) {
	model := &lingering{script{decisions: []string{"run_tests {}", "read_function {\"number\":1}", editLine(4, "if i == 0 || x <= m {"), "run_tests {}"}}}
	last := ""
	res, err := harness.Run(context.Background(), harness.Config{Model: model, Case: onPaper{}, Edits: 1, OnStep: func(s harness.Step) { last = s.Tool }})
	if err != nil || res.Calls != 4 || last != repair.ToolRun {
		t.Errorf("%+v, %v, last %s", res, err, last)
	}
}

// TestRefusedEditsAreNotCounted checks that refused edits do not count: a repair continues until
// the limit of tested edits is reached, or until the model has nothing new to offer.
func TestRefusedEditsAreNotCounted(t *testing.T) {
	refused := func(n int) (list []string) {
		for i := range n {
			list = append(list, editLine(4, fmt.Sprintf("if i == %d || x < n {", i)))
		}
		return list
	}
	begin, wrong := []string{"run_tests {}", "read_function {\"number\":1}"}, []string{editLine(4, "if i == 0 || x <= m {"), "run_tests {}"}
	right := "if i == 0 || x > m {"
	for _, tt := range []struct {
		name      string
		decisions [][]string
		tested    int
		why       string
	}{
		{"between tests", [][]string{begin, refused(150), wrong, refused(150), {editLine(4, right), "run_tests {}", "Fixed."}}, 2, ""},
		{"without end", [][]string{begin, wrong, refused(2000)}, 1, "the model has no further idea"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			model := &script{decisions: slices.Concat(tt.decisions...)}
			res, err := harness.Run(context.Background(), harness.Config{Model: model, Case: onPaper{right}, Edits: 2})
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Edits) != tt.tested || (res.Fixed == nil) != (tt.why != "") || !strings.HasPrefix(res.Why, tt.why) {
				t.Errorf("%d edits, fixed %v, %q after %d steps", len(res.Edits), res.Fixed != nil, res.Why, res.Steps)
			}
		})
	}
}
