package reward

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/examples/fix/internal/verify"
)

// broken returns a task: a function of the module in testdata in which the text old, which must
// occur in one of its lines, is replaced with the parameter text.
func broken(t *testing.T, dir, function, old, text string) *verify.Task {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(dir, "small.go"))
	if err != nil {
		t.Fatal(err)
	}
	fns, err := repair.Functions("small.go", src)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fns {
		lines := strings.Split(f.Text, "\n")
		for i, l := range lines {
			if f.Name != function || !strings.Contains(l, old) {
				continue
			}
			lines[i] = strings.Replace(l, old, text, 1)
			f.Text = strings.Join(lines, "\n")
			return &verify.Task{ID: function + " " + text, File: "small.go", Function: f, Line: i + 1, Original: strings.TrimSpace(l)}
		}
	}
	t.Fatalf("no %q in %s", old, function)
	return nil
}

// small copies the module from the tests of package verify, which has real tests.
func small(t *testing.T) (string, Judge) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../verify/testdata/small")); err != nil {
		t.Fatal(err)
	}
	return dir, Judge{Config: verify.Config{Scratch: t.TempDir(), Exec: verify.Plain{Env: os.Environ()}}}
}

// Evidence: training · Answers are judged by the packages' own tests
func TestPackage(t *testing.T) {
	dir, judge := small(t)
	sum := broken(t, dir, "Sum", "total += n", "total -= n")
	fact := broken(t, dir, "Factorial", "n * Factorial", "n + Factorial")
	pop := broken(t, dir, "(*Stack).Pop", "len(s.items)-1]", "len(s.items)]")
	unnoticed := broken(t, dir, "unreached", "n + 1", "n - 1")
	cases := []struct {
		name string
		c    Candidate
		want Judgement
	}{
		{"original", Candidate{sum, 3, "total += n"}, Judgement{Verdict: Fixed}},
		{"other way", Candidate{sum, 3, "\t total = total + n "}, Judgement{Verdict: Fixed, Ran: true}},
		{"other way again", Candidate{sum, 3, "total = total + n"}, Judgement{Verdict: Fixed, Ran: true}},
		{"identity", Candidate{sum, 3, "total -= n"}, Judgement{Verdict: Refused, Why: "line 3 is so already"}},
		{"no such line", Candidate{sum, 7, "}"}, Judgement{Verdict: Refused, Why: "there is no line 7; the function has lines 1 to 6"}},
		{"line break", Candidate{sum, 3, "total += n\ntotal++"}, Judgement{Verdict: Refused, Why: "the new text has a line break"}},
		{"does not parse", Candidate{sum, 3, "total += ("}, Judgement{Verdict: Refused}},
		{"does not compile", Candidate{sum, 3, "total += nothing"}, Judgement{Verdict: Refused}},
		{"still fails", Candidate{sum, 3, "total += 2 * n"}, Judgement{Verdict: StillFails, Why: "TestSum", Ran: true}},
		{"wrong line", Candidate{sum, 5, "return -total, fmt.Sprint(label, total)"}, Judgement{Verdict: StillFails, Why: "TestSum", Ran: true}},
		{"another line mends it", Candidate{sum, 5, "return -total, fmt.Sprint(label, -total)"}, Judgement{Verdict: Fixed, Ran: true}},
		{"recursion", Candidate{fact, 5, "return Factorial(n-1) * n"}, Judgement{Verdict: Fixed, Ran: true}},
		{"exits", Candidate{fact, 2, "if syscall.Exit(0); n <= 1 {"}, Judgement{Verdict: Refused}},
		{"panics still", Candidate{pop, 5, "item = s.items[len(s.items)+1]"}, Judgement{Verdict: StillFails, Why: "TestStack", Ran: true}},
		{"fault unnoticed", Candidate{unnoticed, 2, "return n + 2"}, Judgement{Verdict: Unknown, Why: "the tests do not notice the fault"}},
	}
	var candidates []Candidate
	for _, c := range cases {
		candidates = append(candidates, c.c)
	}
	got, cost, err := judge.Package(context.Background(), dir, candidates)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		if c.want.Verdict == Refused && c.want.Why == "" && got[i].Why != "" {
			c.want.Why = got[i].Why // the message of the parser or the compiler
		}
		if d := cmp.Diff(c.want, got[i]); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
	// Ten runs: six different edits that compile, their three faults, and the fault of the function
	// that no test reaches.
	if cost.Builds != 1 || cost.Runs != 10 {
		t.Errorf("%d builds and %d runs, want 1 and 10", cost.Builds, cost.Runs)
	}
}

// TestCompare checks that tests that end early or are skipped because of an edit do not count as
// passed.
//
// Evidence: training · Answers are judged by the packages' own tests
func TestCompare(t *testing.T) {
	was := &verify.Outcome{Failed: []string{"TestA", "TestB"}}
	for name, c := range map[string]struct {
		edited verify.Outcome
		want   Verdict
	}{
		"all pass":      {verify.Outcome{Passed: []string{"TestB", "TestC", "TestA"}}, Fixed},
		"one skips":     {verify.Outcome{Passed: []string{"TestB", "TestC"}}, StillFails},
		"ends early":    {verify.Outcome{Passed: []string{"TestA", "TestB"}, Exit: true}, StillFails},
		"hangs":         {verify.Outcome{Passed: []string{"TestA", "TestB"}, Timeout: true}, StillFails},
		"another fails": {verify.Outcome{Passed: []string{"TestA", "TestB"}, Failed: []string{"TestC"}}, StillFails},
	} {
		if got := compare(was, &c.edited); got.Verdict != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestPackageThatCannotBeBuilt(t *testing.T) {
	dir, judge := small(t)
	sum := broken(t, dir, "Sum", "total += n", "total -= n")
	if err := os.Remove(filepath.Join(dir, "small_test.go")); err != nil {
		t.Fatal(err)
	}
	got, _, err := judge.Package(context.Background(), dir, []Candidate{{sum, 3, "total += n"}, {sum, 3, "total = n"}})
	if err == nil || !strings.Contains(err.Error(), "no tests") {
		t.Errorf("error %v, want one that says that there are no tests", err)
	}
	if got[0].Verdict != Fixed || got[1].Verdict != Unknown {
		t.Errorf("%v, want what is known without tests", got)
	}
}

func TestVerdictText(t *testing.T) {
	for v := Unknown; v <= Fixed; v++ {
		data, err := json.Marshal(v)
		var back Verdict
		if err != nil || json.Unmarshal(data, &back) != nil || back != v {
			t.Errorf("%v: %s, %v, back %v", v, data, err, back)
		}
	}
	var v Verdict
	if err := v.UnmarshalText([]byte("maybe")); err == nil {
		t.Error("a verdict that there is not was read")
	}
}
