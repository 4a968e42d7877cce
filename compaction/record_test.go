package compaction_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/compaction"
	"github.com/luthier-dev/luthier/internal/artifact"
	"github.com/luthier-dev/luthier/tools"
)

// testLog returns the output of a noisy test run: progress bars in colour, the same warning over
// and over, one failure.
func testLog(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "\x1b[32mdownload\x1b[0m %d%%\r", i)
	}
	b.WriteString("\n")
	for i := range n {
		fmt.Fprintf(&b, "warning: the option foo is deprecated, use bar\n=== RUN   TestCase%d\n--- PASS: TestCase%d (0.00s)\n", i, i)
	}
	b.WriteString("=== RUN   TestPut\n    store_test.go:17: got 1, want 2\n--- FAIL: TestPut (0.00s)\nFAIL\nFAIL\texample.com/store\t0.412s\n")
	for i := range n {
		fmt.Fprintf(&b, "teardown of worker %d took %d ms\n", i, i*3)
	}
	return b.String() + "[exit code 1 after 2s]"
}

type shellIn struct {
	Command string `json:"command"`
}

type readIn struct {
	Path string `json:"path"`
}

// harness returns an agent with a shell that prints logs and a read tool for real files.
func harness(t *testing.T, dir string, c *compaction.Compactor, store agent.ArtifactStore, m agent.Model, budget int) *agent.Agent {
	t.Helper()
	shell, err := tools.New("shell", "runs", func(_ context.Context, in shellIn) (string, error) { return testLog(300), nil }, tools.WithMaxOutput(-1))
	if err != nil {
		t.Fatal(err)
	}
	read, err := tools.New("read", "reads", func(_ context.Context, in readIn) (string, error) {
		data, err := os.ReadFile(filepath.Join(dir, in.Path))
		var b strings.Builder
		for i, l := range strings.Split(string(data), "\n") {
			fmt.Fprintf(&b, "%d\t%s\n", i+1, l)
		}
		return b.String(), err
	}, tools.WithEffects(agent.ReadOnly(".")))
	if err != nil {
		t.Fatal(err)
	}
	recall, err := tools.NewReadArtifact(store)
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(agent.Config{Model: m, Tools: []agent.Tool{shell, read, recall}, Compactor: c,
		Middleware: []agent.Middleware{c.Record()}, ContextBudget: budget})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func results(ms []agent.Message) map[string]string {
	out := map[string]string{}
	for _, m := range ms {
		for _, p := range m.Parts {
			if r, ok := p.(agent.ToolResult); ok {
				out[r.CallID] = r.Text()
			}
		}
	}
	return out
}

// TestRecordInTheLoop runs the real loop over real files: a long log is reduced to its important
// lines, the handle in it reads the full log back by pattern, and reading an unchanged file again
// returns a pointer.
//
// Evidence: compaction · Results are shortened when they are recorded
func TestRecordInTheLoop(t *testing.T) {
	agenttest.CheckLeaks(t)
	dir := t.TempDir()
	var source strings.Builder
	for i := range 60 {
		fmt.Fprintf(&source, "func Handler%d(w http.ResponseWriter, r *http.Request) { serve(w, r, %d) }\n", i, i)
	}
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(source.String())
	store, err := tools.NewDirStore(filepath.Join(dir, "artifacts"))
	if err != nil {
		t.Fatal(err)
	}
	var handle string
	m := agenttest.ScriptFunc(func(req *agent.Request) agenttest.Turn {
		rs := results(req.Messages)
		switch len(rs) {
		case 0:
			return agenttest.Call("c1", "shell", `{"command":"go test ./..."}`)
		case 1:
			handle = artifact.Find(rs["c1"])
			return agenttest.Call("c2", "read_artifact", fmt.Sprintf(`{"handle":%q,"pattern":"TestCase299 ","context":1}`, handle))
		case 2:
			return agenttest.Call("c3", "read", `{"path":"a.go"}`)
		case 3:
			return agenttest.Call("c4", "read", `{"path":"./a.go"}`)
		case 4:
			write(strings.Replace(source.String(), "Handler30", "Changed30", 1))
			return agenttest.Call("c5", "read", `{"path":"a.go"}`)
		}
		return agenttest.Text("done")
	})
	s := agent.NewSession()
	if _, err := harness(t, dir, compaction.New(compaction.Config{Store: store}), store, m, 0).Run(context.Background(), s, agent.Text{Text: "go"}).Collect(); err != nil {
		t.Fatal(err)
	}
	rs := results(s.Messages())
	for _, want := range []string{"TestPut", "store_test.go:17", "got 1, want 2", "exit code 1", artifact.ReadTool} {
		if !strings.Contains(rs["c1"], want) {
			t.Errorf("the log's extract lacks %q:\n%s", want, rs["c1"])
		}
	}
	if len(rs["c1"]) > 3000 || strings.ContainsRune(rs["c1"], 0x1b) {
		t.Errorf("the extract has %d bytes:\n%s", len(rs["c1"]), rs["c1"])
	}
	if whole, err := store.Get(context.Background(), handle); err != nil || string(whole) != testLog(300) {
		t.Errorf("the whole log cannot be read back by %q: %v", handle, err)
	}
	if !strings.Contains(rs["c2"], "PASS: TestCase299 ") {
		t.Errorf("reading by pattern gave %q", rs["c2"])
	}
	if len(rs["c3"]) < source.Len() || !strings.Contains(rs["c4"], "[unchanged: lines 1-6") || len(rs["c4"]) > 200 {
		t.Errorf("the second read of an unchanged file is %q", rs["c4"])
	}
	if !strings.Contains(rs["c5"], "Changed30") || strings.Count(rs["c5"], "[unchanged: ") != 2 {
		t.Errorf("after a change the read is %q, want the new line between pointers", rs["c5"])
	}
}

// TestRecordWithoutStore checks that only noise is lost if there is no store for the full text.
func TestRecordWithoutStore(t *testing.T) {
	dir := t.TempDir()
	m := agenttest.Script(agenttest.Join(agenttest.Text(strings.Repeat("I think aloud. ", 500)), agenttest.Call("c1", "shell", `{"command":"go test"}`)), agenttest.Text("done"))
	s := agent.NewSession()
	if _, err := harness(t, dir, compaction.New(compaction.Config{}), tools.NewMemStore(), m, 0).Run(context.Background(), s, agent.Text{Text: "go"}).Collect(); err != nil {
		t.Fatal(err)
	}
	text := results(s.Messages())["c1"]
	if !strings.Contains(text, "PASS: TestCase123 ") || strings.ContainsRune(text, 0x1b) {
		t.Errorf("want the whole log without colours, got %d bytes", len(text))
	}
	if got := s.Messages()[1].Text(); got != strings.Repeat("I think aloud. ", 500) {
		t.Errorf("what the model said became %d bytes", len(got))
	}
}

// TestSessionKeepsTheBranch compacts a session on disk, cuts its log at every byte around the
// compaction as a crash would, and each time finds a valid history and every message.
//
// Evidence: compaction · A session keeps the history before a compaction as a branch
func TestSessionKeepsTheBranch(t *testing.T) {
	dir := t.TempDir()
	for i := range 12 {
		text := strings.Repeat(fmt.Sprintf("var v%d = compute(%d)\n", i, i), 120)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.go", i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var turns []agenttest.Turn
	for i := range 12 {
		turns = append(turns, agenttest.Call(fmt.Sprint("c", i), "read", fmt.Sprintf(`{"path":"f%d.go"}`, i)))
	}
	turns = append(turns, agenttest.Text("done"))
	s, err := agent.CreateSession(dir, agent.SessionOptions{ID: "s", NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	c := compaction.New(compaction.Config{Store: tools.NewMemStore(), OnlyWhenFull: true})
	a := harness(t, dir, c, tools.NewMemStore(), agenttest.Script(turns...), 9000)
	if _, err := a.Run(context.Background(), s, agent.Text{Text: "read them all"}).Collect(); err != nil {
		t.Fatal(err)
	}
	if s.Epoch() == 0 {
		t.Fatal("nothing was compacted")
	}
	all := s.Transcript()
	if got := results(all); len(got) < 12 || !strings.Contains(got["c0"], "compute(0)") {
		t.Errorf("the transcript has %d results", len(got))
	}
	firstRead := func(ms []agent.Message) bool { return len(results(ms)["c0"]) > 2000 }
	early, err := s.Fork(3, agent.SessionOptions{ID: "early"})
	if err != nil {
		t.Fatal(err)
	}
	if !firstRead(early.Messages()) || firstRead(s.Messages()) {
		t.Error("a fork from before the compaction must have the first read in full, the live history must not")
	}
	if err := early.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	killEverywhere(t, filepath.Join(dir, "s.jsonl"))
}

func killEverywhere(t *testing.T, path string) {
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end, at := 0, 0, 0
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line[:60], `"compaction"`) && end == 0 {
			begin, end = at, at+len(line)
		}
		at += len(line)
	}
	if end == 0 {
		t.Fatal("the log has no compaction")
	}
	before := countMessages(t, log[:begin])
	dir := t.TempDir()
	for cut := begin; cut <= end+3; cut += max(1, min((end-cut)/40, 97)) {
		file := filepath.Join(dir, fmt.Sprintf("k%d.jsonl", cut))
		if err := os.WriteFile(file, log[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		s, _, err := agent.OpenSession(file, agent.SessionOptions{NoSync: true})
		if err != nil {
			t.Fatalf("killed at byte %d of %d: %v", cut-begin, end-begin, err)
		}
		if err := agent.CheckPairing(s.Messages()); err != nil {
			t.Errorf("killed at byte %d: %v", cut-begin, err)
		}
		if n := len(s.Transcript()); n < before || (s.Epoch() == 1) != (cut >= end) {
			t.Errorf("killed at byte %d of %d: %d messages of %d, epoch %d", cut-begin, end-begin, n, before, s.Epoch())
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func countMessages(t *testing.T, log []byte) int {
	n := 0
	for e, err := range agent.ReadEntries(bufio.NewReader(strings.NewReader(string(log)))) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == agent.EntryMessage || e.Type == agent.EntryResults {
			n++
		}
	}
	return n
}

// TestOneCompactorForManyRuns: concurrent sub-agents can share one compactor.
func TestOneCompactorForManyRuns(t *testing.T) {
	agenttest.CheckLeaks(t)
	dir, store := t.TempDir(), tools.NewMemStore()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte(strings.Repeat("var x = compute(1)\n", 300)), 0o644); err != nil {
		t.Fatal(err)
	}
	c := compaction.New(compaction.Config{Store: store})
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			m := agenttest.ScriptFunc(func(req *agent.Request) agenttest.Turn {
				if n := req.Epoch*100 + len(req.Messages); n > 400 || len(req.Messages) > 30 {
					return agenttest.Text("done")
				}
				id := fmt.Sprint("c", req.Epoch, "_", len(req.Messages))
				return agenttest.Join(agenttest.Call(id, "shell", `{"command":"make"}`), agenttest.Call(id+"r", "read", `{"path":"a.go"}`))
			})
			s := agent.NewSession()
			if _, err := harness(t, dir, c, store, m, 6000).Run(context.Background(), s, agent.Text{Text: "go"}).Collect(); err != nil {
				t.Error(err)
			}
			if err := agent.CheckPairing(s.Messages()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
