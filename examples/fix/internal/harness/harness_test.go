package harness_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/examples/fix/internal/harness"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	tier.Main(m)
}

// script is a model that makes prepared decisions and records its requests.
type script struct {
	decisions []string // answers in the form of package repair
	next      int
	requests  []*agent.Request
}

func (s *script) Stream(_ context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	s.requests = append(s.requests, req)
	return func(yield func(agent.Chunk, error) bool) {
		if s.next == len(s.decisions) {
			yield(nil, &agent.ModelError{Kind: agent.ErrInvalid, Err: fmt.Errorf("no decision is left")})
			return
		}
		d := s.decisions[s.next]
		s.next++
		finish := agent.FinishStop
		if name, args, ok := strings.Cut(d, " "); ok {
			finish = agent.FinishTools
			if !yield(agent.ToolCallStart{ID: fmt.Sprint("c", s.next), Name: name}, nil) || !yield(agent.ToolCallDelta{Args: args}, nil) {
				return
			}
		} else if !yield(agent.TextDelta{Text: d}, nil) {
			return
		}
		yield(agent.Finish{Reason: finish}, nil)
	}
}

func editLine(line int, text string) string {
	args, _ := json.Marshal(map[string]any{"line": line, "text": text})
	return "edit_line " + string(args)
}

// tree returns the files of a directory with their modes.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		fi, _ := d.Info()
		files[strings.TrimPrefix(name, dir)] = fi.Mode().String() + " " + string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	maxGo = `package max

// Of returns the largest number.
func Of(xs ...int) int {
	m := 0
	for i, x := range xs {
		if i == 0 || x < m {
			m = x
		}
	}
	return m
}
`
	maxTest = `package max

import "testing"

func TestOf(t *testing.T) {
	if got := Of(-3, -1, -2); got != -1 {
		t.Errorf("Of = %d, want -1", got)
	}
}

func TestOne(t *testing.T) {
	if got := Of(7); got != 7 {
		t.Errorf("Of = %d, want 7", got)
	}
}
`
)

// TestRepair covers everything that can happen during a repair, in a module with Windows line
// endings.
//
// Evidence: repair · fix repairs a line and writes once, or changes nothing
func TestRepair(t *testing.T) {
	t.Parallel()
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	dir := write(t, map[string]string{"go.mod": "module example.com/max\n\ngo 1.21\n", "max.go": crlf(maxGo), "max_test.go": crlf(maxTest)})
	before := tree(t, dir)
	ctx := context.Background()
	m, err := harness.OpenModule(ctx, dir, harness.ModuleConfig{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	model := &script{decisions: []string{
		"read_function {\"number\":1}", // too early
		"run_tests {}",
		"read_function {\"number\":9}", // violates the schema
		"read_function {\"number\":1}",
		editLine(4, "if i == 0 || x < m {"),  // unchanged
		editLine(4, "if i == 0 || x < m"),    // not valid Go
		editLine(4, "if i == 0 || x < n {"),  // does not compile
		editLine(4, "if i == 0 || x <= m {"), // does not help
		"run_tests {}",
		editLine(4, "if i == 0 || x <= m {"), // repeated
		editLine(4, "if i == 0 || x > m {"),
		"run_tests {}",
		"Fixed.",
	}}
	var results []string
	res, err := harness.Run(ctx, harness.Config{Model: model, Case: m, OnStep: func(s harness.Step) { results = append(results, s.Result) }})
	if err != nil {
		t.Fatal(err)
	}
	read := "func 1 max.go\n1!\tfunc Of(xs ...int) int {\n2!\tm := 0\n3!\tfor i, x := range xs {\n4!\tif i == 0 || x < m {\n5!\tm = x\n6!\t}\n7\t}\n8!\treturn m\n9\t}"
	want := []string{
		"refused: run the tests first",
		"FAIL TestOf\nmax_test.go:7: Of = -3, want -1\n1 Of",
		"",
		strings.ReplaceAll(read, "!", "*"),
		"refused: line 4: the line is so already",
		"refused: does not parse",
		"refused: does not compile",
		"edited line 4", repair.ResultFailing,
		"refused: it was tried before",
		"edited line 4", repair.ResultOK, "Fixed.",
	}
	if len(results) != len(want) {
		t.Fatalf("results:\n%s", strings.Join(results, "\n\n"))
	}
	for i := range want {
		if !strings.HasPrefix(results[i], want[i]) {
			t.Errorf("step %d: %q, want %q", i+1, results[i], want[i])
		}
	}
	if res.Fixed == nil || len(res.Edits) != 2 || res.Refused != 5 || res.Calls != 12 || res.Invalid != 1 {
		t.Errorf("result %+v", res)
	}
	var avoided []map[string]any
	if err := json.Unmarshal(model.requests[9].Extra["avoid_calls"], &avoided); err != nil || len(avoided) != 6 {
		t.Errorf("after an edit that did not help these are avoided: %v, %v", avoided, err)
	}
	if d := cmp.Diff(before, tree(t, dir)); d != "" {
		t.Errorf("the module changed before the repair was written:\n%s", d)
	}
	if err := m.Write(ctx, res.Fixed); err != nil {
		t.Fatal(err)
	}
	before["/max.go"] = strings.Replace(before["/max.go"], "x < m", "x > m", 1)
	if d := cmp.Diff(before, tree(t, dir)); d != "" {
		t.Errorf("the module after the repair (-want +got):\n%s", d)
	}
}

// TestGiveUp checks that the run ends when the edits are used up, and that a file that changed in
// the meantime is not written.
//
// Evidence: repair · fix repairs a line and writes once, or changes nothing
func TestGiveUp(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"go.mod": "module example.com/max\n\ngo 1.21\n", "max.go": maxGo, "max_test.go": maxTest})
	ctx := context.Background()
	m, err := harness.OpenModule(ctx, dir, harness.ModuleConfig{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	model := &script{decisions: []string{"run_tests {}", "read_function {\"number\":1}", editLine(4, "if i == 1 || x < m {"), "run_tests {}", "run_tests {}"}}
	before := tree(t, dir)
	res, err := harness.Run(ctx, harness.Config{Model: model, Case: m, Edits: 1})
	if err != nil || res.Fixed != nil || len(res.Edits) != 1 || model.next != 4 {
		t.Fatalf("%+v, %v, %d decisions", res, err, model.next)
	}
	if d := cmp.Diff(before, tree(t, dir)); d != "" {
		t.Errorf("the module changed:\n%s", d)
	}
	if err := os.WriteFile(filepath.Join(dir, "max.go"), []byte(maxGo+"// more\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := m.Write(ctx, &res.Edits[0]); err == nil || !strings.Contains(err.Error(), "changed meanwhile") {
		t.Errorf("a file that somebody changed is written: %v", err)
	}
}
