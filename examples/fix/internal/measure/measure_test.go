package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	os.Exit(m.Run())
}

// plain is a model that reads the first function and makes the same edits in every conversation.
type plain struct {
	edits map[string][]string // by a word in the function: the edits to make in that function
	mu    sync.Mutex
	asked int
}

// Stream implements [agent.Model].
func (m *plain) Stream(_ context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	m.mu.Lock()
	m.asked++
	id := fmt.Sprint("c", m.asked)
	m.mu.Unlock()
	name, args := m.next(req)
	return func(yield func(agent.Chunk, error) bool) {
		switch {
		case name == "":
			yield(nil, &agent.ModelError{Kind: agent.ErrInvalid, Err: fmt.Errorf("no idea is left")})
		case !yield(agent.ToolCallStart{ID: id, Name: name}, nil), !yield(agent.ToolCallDelta{Args: args}, nil):
		default:
			yield(agent.Finish{Reason: agent.FinishTools}, nil)
		}
	}
}

// next decides from the messages of the conversation.
func (m *plain) next(req *agent.Request) (name, args string) {
	made, last, function := 0, "", ""
	for _, msg := range req.Messages {
		for _, c := range msg.Calls() {
			last = c.Name
			if last == repair.ToolEdit {
				made++
			}
		}
		if msg.Role == agent.RoleTool && last == repair.ToolRead {
			function = fmt.Sprint(msg.Parts)
		}
	}
	switch last {
	case "", repair.ToolEdit:
		return repair.ToolRun, "{}"
	}
	if function == "" {
		return repair.ToolRead, `{"number":1}`
	}
	for word, edits := range m.edits {
		if strings.Contains(function, "func "+word+"(") && made < len(edits) {
			return repair.ToolEdit, edits[made]
		}
	}
	return "", ""
}

// spans writes the module in testdata.
func spans(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	names, err := filepath.Glob("testdata/spans/*.txt")
	if err != nil || len(names) != 3 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, strings.TrimSuffix(filepath.Base(name), ".txt")), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestRun measures a model that repairs one function with its second edit and never repairs the
// other, in a real module with real tests. The enumerator must repair both.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("builds test binaries")
	}
	dir := spans(t)
	fact := Fact{Module: "example.com/spans", Version: "v1.0.0", Dir: ".", File: "spans.go"}
	clamp, sum, name := fact, fact, fact
	clamp.Function, clamp.Start, clamp.Line, clamp.Text, clamp.Kind = "Clamp", 5, 5, "if n < high {", "order"
	sum.Function, sum.Start, sum.Line, sum.Text, sum.Kind = "Sum", 16, 4, "total -= n", "assign"
	name.Function, name.Start, name.Line, name.Text, name.Kind = "Name", 25, 2, `return ""`, "string"
	model := &plain{edits: map[string][]string{
		// The first edit fails its tests; the second is not the released line, but passes.
		"Clamp": {`{"line":5,"text":"if n <= high {"}`, `{"line":5,"text":"if high < n {"}`, `{"line":5,"text":"if n == high {"}`},
		"Sum":   {`{"line":2,"text":"total := 1"}`, `{"line":5,"text":"return"}`, `{"line":6,"text":"return -total + 1"}`},
	}}
	var told []Progress
	rep, err := Run(t.Context(), Config{Model: model, Seed: 1, Edits: 120, Workers: 2,
		Source:   func(context.Context, string, string) (string, error) { return dir, nil },
		Progress: func(p Progress) { told = append(told, p) }}, []Fact{clamp, sum, name})
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Tallies) != 2 || len(told) != 1 || told[0].Done != 3 {
		t.Fatalf("%+v, told %+v", rep, told)
	}
	got := map[string]any{}
	for _, tally := range rep.Tallies {
		got[tally.Function] = tally.Model
		if e := tally.Enumerator["function"]; e < 1 {
			t.Errorf("the enumerator did not repair %s: it has %d", tally.Function, e)
		}
	}
	want := map[string]any{
		"Clamp": map[string]int{"function": 2, "package": 2},
		"Sum":   map[string]int{"function": 0, "package": 0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wantTried := []Tried{{5, "if n <= high {", false}, {5, "if high < n {", true}}
	if diff := cmp.Diff(wantTried, rep.Tallies[0].Tried["function"]); diff != "" {
		t.Error(diff)
	}
	// The calls for Clamp are: run, read, and three edits with a run after each. The calls for Sum
	// are the same, but one edit is of a line that does not exist and one does not compile, so that
	// there is only one run.
	if s := rep.Model["function"]; s.Runs != 2+1+1 && s.Runs != 2+2 {
		t.Errorf("%d test runs, of %v", s.Runs, rep.Tallies[1].Tried)
	}
	if rep.Refused == 0 || rep.Calls == 0 {
		t.Errorf("%d calls, %d refused", rep.Calls, rep.Refused)
	}
	if diff := cmp.Diff([]Skip{{"example.com/spans@v1.0.0 .", 1, "the tests that are used here do not notice, or hang"}}, rep.Skipped); diff != "" {
		t.Error(diff)
	}
	var b bytes.Buffer
	if err := rep.Write(&b, 120); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"2 broken lines in 1 modules", "50.0 %", "gave up on example.com/spans@v1.0.0 . Sum: "} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("no %q in\n%s", part, b.String())
		}
	}
	if _, err := json.Marshal(rep); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "spans.go")); err != nil || !bytes.Contains(data, []byte("if n > high {")) {
		t.Errorf("the module was changed: %v\n%s", err, data)
	}
}

// TestSkip checks that a package that cannot be measured is listed with the reason, and that the
// others are measured.
func TestSkip(t *testing.T) {
	fact := Fact{Module: "example.com/none", Version: "v1.0.0", Dir: ".", File: "x.go", Function: "F", Start: 1, Line: 1, Text: "x"}
	rep, err := Run(t.Context(), Config{Model: &plain{}, Source: func(context.Context, string, string) (string, error) {
		return "", fmt.Errorf("it is not there")
	}}, []Fact{fact})
	if err != nil || len(rep.Skipped) != 1 || rep.Skipped[0].Why != "it is not there" {
		t.Errorf("%+v, %v", rep.Skipped, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if rep, err = Run(ctx, Config{Model: &plain{}}, []Fact{fact}); err != nil || !rep.Interrupted || len(rep.Skipped) > 0 {
		t.Errorf("interrupted: %+v, %v", rep, err)
	}
}

func TestChoose(t *testing.T) {
	var facts []Fact
	for _, m := range []string{"a", "b", "c"} {
		for line := range 4 {
			facts = append(facts, Fact{Module: m, Line: line})
		}
	}
	for _, tt := range []struct {
		n    int
		want string
	}{
		{0, "a0 a1 a2 a3 b0 b1 b2 b3 c0 c1 c2 c3"},
		{1, "a0"},
		{5, "a0 a1 a2 b0 b1"},
		{9, "a0 a1 a2 b0 b1 b2 c0 c1 c2"},
		{10, "a0 a1 a2 a3 b0 b1 b2 c0 c1 c2"},
		{99, "a0 a1 a2 a3 b0 b1 b2 b3 c0 c1 c2 c3"},
	} {
		var got []string
		for _, f := range Choose(facts, tt.n) {
			got = append(got, fmt.Sprint(f.Module, f.Line))
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%d: %s", tt.n, diff)
		}
	}
}

func TestScore(t *testing.T) {
	s := &Score{}
	fail, pass := Tried{Line: 1}, Tried{Line: 1, Pass: true}
	for _, list := range [][]Tried{{pass}, {fail, pass, fail}, {fail, fail, fail}, nil} {
		s.add(list)
	}
	if diff := cmp.Diff(&Score{Tries: []int{1, 2, 0, 0}, Runs: 6}, s); diff != "" {
		t.Error(diff)
	}
	if got := []float64{s.At(1), s.At(2), s.At(10), s.Mean()}; !cmp.Equal(got, []float64{0.25, 0.5, 0.5, 1.5}) {
		t.Error(got)
	}
}

// FuzzReadFacts checks that arbitrary lines result in facts or an error.
func FuzzReadFacts(f *testing.F) {
	f.Add([]byte(`{"Module":"m","Version":"v1.0.0","Dir":".","File":"x.go","Function":"F","Start":3,"Line":2,"Text":"x","Kind":"k"}`))
	f.Add([]byte(`{"Pkg":"m/p","Module":"m","Line":1,"Function":{"Text":"func F() {}"}}`))
	f.Add([]byte("{}\n\n{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		facts, err := ReadFacts(bytes.NewReader(data))
		for _, fact := range facts {
			if err == nil && fact.Line < 1 {
				t.Errorf("line %d", fact.Line)
			}
		}
	})
}
