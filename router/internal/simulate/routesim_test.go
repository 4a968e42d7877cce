package simulate

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/luthier-dev/luthier/internal/devdata"
)

var near = cmpopts.EquateApprox(1e-12, 1e-12)

const small = `{"id":"a","repo":"r","problem":"x","models":{"m":{"resolved":true,"cost":0.5,"api_calls":3},"c":{"resolved":false,"cost":0.1}}}

{"id":"b","models":{"m":{"resolved":false,"cost":1}}}
`

func TestRead(t *testing.T) {
	got, err := Read(strings.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	want := &Table{Models: []string{"m", "c"}, Tasks: []Task{
		{ID: "a", Group: "r", Results: []Result{{Resolved: true, Dollars: 0.5, Calls: 3}, {Dollars: 0.1}}},
		{ID: "b", Results: []Result{{Dollars: 1}, {Missing: true}}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "no row",
		"{":                           "line 1",
		`{"id":"a","models":{}}`:      "needs",
		`{"models":{"m":{}}}`:         "needs",
		`{"id":"a","models":{"":{}}}`: "line 1",
		"\n\n[]":                      "line 3",
		`{"id":"a","models":{"m":null}}` + "\n" + `{"id":"a","models":{"m":{}}}`: "twice",
		`{"id":"a","models":{"m":{"cost":-1}}}`:                                  "0 or more",
		`{"id":"a","models":{"m":{"cost":1e999}}}`:                               "line 1",
		`{"id":"a","models":{"m":{"api_calls":-1}}}`:                             "0 or more",
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", text, err, want)
		}
	}
}

func TestReadTheDevelopmentTable(t *testing.T) {
	path := devdata.Path(t, "router-dev/swebench-verified-django.jsonl")
	tasks, first := 231, "gpt-5"
	if devdata.Sampled(t, path) {
		tasks, first = 120, "large"
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tab, err := Read(f)
	if err != nil {
		t.Fatal(err)
	}
	if len(tab.Tasks) != tasks || len(tab.Models) != 5 || tab.Models[0] != first {
		t.Errorf("%d tasks of %v", len(tab.Tasks), tab.Models)
	}
}

func TestAlign(t *testing.T) {
	tab, err := Read(strings.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	other, err := Read(strings.NewReader(`{"id":"z","models":{"x":{"cost":9},"c":{"cost":1},"m":{"cost":2}}}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := tab.Align(other)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Task{{ID: "z", Results: []Result{{Dollars: 2}, {Dollars: 1}}}}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := other.Align(tab); err == nil {
		t.Error("no error for a model that is missing")
	}
}

// both asks model 0, then 1 unless the first passed, and hands in the last that passed, or else the
// first.
type both struct{}

func (both) Next(tried []Attempt, _ float64) (next, best int) {
	for _, a := range tried {
		if a.Passed {
			return -1, a.Model
		}
	}
	if len(tried) < 2 {
		return len(tried), 0
	}
	return -1, 0
}

func TestReplay(t *testing.T) {
	right, wrong := Result{Resolved: true, Dollars: 1}, Result{Dollars: 2}
	c := Check{FalseAccept: 0.1, FalseReject: 0.2}
	for _, tt := range []struct {
		name  string
		tasks []Result
		check Check
		want  Score
	}{
		{"the first is right", []Result{right, wrong}, Check{}, Score{1, 1}},
		{"the second is right", []Result{wrong, right}, Check{}, Score{1, 3}},
		{"none is right", []Result{wrong, wrong}, Check{}, Score{0, 4}},
		{"the first is rejected in 0.2, then the second passes in 0.1", []Result{right, wrong}, c, Score{1 - 0.2*0.1, 1 + 0.2*2}},
		{"the first passes in 0.1, else the second in 0.8", []Result{wrong, right}, c, Score{0.9 * 0.8, 2 + 0.9*1}},
		{"one is missing", []Result{{Missing: true}, right}, Check{FalseAccept: 1}, Score{1, 1}},
	} {
		if diff := cmp.Diff(tt.want, Replay(&Task{Results: tt.tasks}, both{}, tt.check), near); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// endless is a policy that never stops.
type endless struct{}

func (endless) Next([]Attempt, float64) (next, best int) { return 0, 0 }

func TestReplayEnds(t *testing.T) {
	task := &Task{Results: []Result{{Resolved: true, Dollars: 1}, {}}}
	if diff := cmp.Diff(Score{1, 2}, Replay(task, endless{}, Check{})); diff != "" {
		t.Error(diff)
	}
}

func TestBounds(t *testing.T) {
	task := &Task{Results: []Result{{Dollars: 0.1}, {Resolved: true, Dollars: 3}, {Resolved: true, Dollars: 2}, {Missing: true}}}
	if diff := cmp.Diff(Score{1, 2}, Oracle(task)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Score{0.5, 5.1 / 4}, Random(task), near); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Score{0, 0.1}, Oracle(&Task{Results: []Result{{Dollars: 1}, {Dollars: 0.1}}})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Score{}, Oracle(&Task{Results: []Result{{Missing: true}}})); diff != "" {
		t.Error(diff)
	}
}

// TestIntervalsAgreeWithTheory compares the bootstrap of a share with the normal approximation.
func TestIntervalsAgreeWithTheory(t *testing.T) {
	scores := make([]Score, 400)
	for i := range scores {
		scores[i] = Score{Resolved: float64(i % 2), Dollars: 2}
	}
	s := Summarise(scores, scores, 3)
	half := 1.96 * math.Sqrt(0.25/400)
	want := Summary{Resolved: Interval{0.5, 0.5 - half, 0.5 + half}, Dollars: Interval{2, 2, 2}}
	if diff := cmp.Diff(want, s, cmpopts.EquateApprox(0, 0.006)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(s, Summarise(scores, scores, 3)); diff != "" {
		t.Errorf("the same seed gives another interval:\n%s", diff)
	}
	if diff := cmp.Diff(Summary{}, Summarise(nil, nil, 1)); diff != "" {
		t.Error(diff)
	}
}

func TestFolds(t *testing.T) {
	count := map[int]int{}
	for _, f := range Folds(23, 5, 1) {
		count[f]++
	}
	if diff := cmp.Diff(map[int]int{0: 5, 1: 5, 2: 5, 3: 4, 4: 4}, count); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{0, 0}, Folds(2, 0, 1)); diff != "" {
		t.Error(diff)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{small, "", "{}", `{"id":"a","models":{"m":{},"m":{}}}`, `{"id":"a","models":{"m":{},"M":{}},"Models":{"x":{}}}`,
		`{"id":"a","models":[1]}`, `{"id":"a","models":{"\ud800":{"cost":1}}}`, "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tab, err := Read(strings.NewReader(string(data)))
		if err != nil {
			return
		}
		for i := range tab.Tasks {
			task := &tab.Tasks[i]
			if len(task.Results) != len(tab.Models) {
				t.Fatalf("task %q has %d results for %d models", task.ID, len(task.Results), len(tab.Models))
			}
			for _, s := range []Score{Random(task), Oracle(task), Replay(task, both{}, Check{0.5, 0.5})} {
				if !(s.Resolved >= 0 && s.Resolved <= 1+1e-9 && s.Dollars >= 0) {
					t.Fatalf("%q gives %+v", data, s)
				}
			}
		}
	})
}
