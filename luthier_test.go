package luthier_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/router/openai"
	"github.com/luthier-dev/luthier/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	if dir := os.Getenv(toolhostFlag); dir != "" {
		os.Exit(serveToolhost(dir))
	}
	os.Exit(m.Run())
}

// faultyRepo creates the git repository of examples/demo: a Go module with a failing test.
func faultyRepo(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "repo")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "stats.go", "stats_test.go"} {
		data, err := os.ReadFile(filepath.Join("examples/demo/broken", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "-m", "first")
	return dir
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// recordedServer replays the streams of examples/demo over real HTTP: a request that holds n
// answers gets the recorded answer that follows those n. After the end of the recording the answer
// is a plain "Noted.".
func recordedServer(t *testing.T) *httptest.Server {
	t.Helper()
	data, err := os.ReadFile("examples/demo/recorded.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct{ Messages []struct{ Role string } }
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		n := 0
		for _, m := range req.Messages {
			if m.Role == "assistant" {
				n++
			}
		}
		chunks := []json.RawMessage{json.RawMessage(`{"choices":[{"index":0,"delta":{"content":"Noted."},"finish_reason":"stop"}]}`)}
		if n < len(lines) {
			if err := json.Unmarshal([]byte(lines[n]), &chunks); err != nil {
				t.Error(err)
			}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, c := range chunks {
			fmt.Fprintf(w, "data: %s\n\n", c)
			http.NewResponseController(w).Flush()
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(srv.Close)
	return srv
}

func newCoder(t *testing.T, dir, state, url string) *luthier.Coder {
	t.Helper()
	model, err := openai.New(openai.Config{Model: "recorded", BaseURL: url + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := luthier.New(context.Background(), dir, luthier.Options{Model: model, Autonomy: agent.AutonomySandboxed, StateDir: state})
	if errors.Is(err, sandbox.ErrFloor) {
		t.Skipf("no sandbox on this host: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// TestFixesARealRepository is the main use case: over real HTTP, the agent runs the failing tests
// of a real git repository in a sandbox, reads two files in parallel, edits one and runs the tests
// again; then its work is undone, redone and resumed.
//
// Evidence: luthier · A complete agent fixes a real repository in a sandbox
// Evidence: luthier · Its work can be undone, redone and resumed
func TestFixesARealRepository(t *testing.T) {
	agenttest.CheckLeaks(t)
	ctx := context.Background()
	dir, state := faultyRepo(t), t.TempDir()
	os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("untracked"), 0o644)
	before := read(t, dir, "stats.go")
	c := newCoder(t, dir, state, recordedServer(t).URL)
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	var failed []string
	var res *agent.Result
	for ev, err := range c.Run(ctx, s, agent.Text{Text: "Make the tests pass."}) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case agent.CallDone:
			if text := ev.Result.Text(); strings.Contains(text, "Not permitted") || ev.Call.Name != "test" && ev.Result.IsError {
				failed = append(failed, ev.Call.Name+": "+text)
			}
		case agent.Done:
			res = ev.Result
		}
	}
	if res.Stop != agent.StopDone || res.Steps != 5 || res.Calls != 5 || len(failed) > 0 {
		t.Fatalf("%+v\nfailed calls: %q", res, failed)
	}
	if first, last := lastToolText(s, 0), lastToolText(s, 3); !strings.Contains(first, "TestMedian") || !strings.Contains(first, "want 2.5") || strings.Contains(last, "want 2.5") {
		t.Errorf("the first test run said %q, the last %q", first, last)
	}
	after := read(t, dir, "stats.go")
	if out, err := goTest(dir); err != nil {
		t.Errorf("the tests still fail: %v\n%s", err, out)
	}
	if got := git(t, dir, "status", "--porcelain"); got != " M stats.go\n?? notes.txt\n" {
		t.Errorf("git status:\n%s", got)
	}

	undo, err := c.Undo(ctx, s)
	if err != nil || read(t, dir, "stats.go") != before || read(t, dir, "notes.txt") != "untracked" {
		t.Errorf("undo: %v, %+v", err, undo)
	}
	if _, err := goTest(dir); err == nil {
		t.Error("the tests pass after undo")
	}
	if _, err := c.Redo(ctx, s); err != nil || read(t, dir, "stats.go") != after {
		t.Errorf("redo: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	resumed, rec, err := c.Resume("")
	if err != nil || rec.Torn != nil || len(resumed.Messages()) != 10 {
		t.Fatalf("resume: %v, %+v", err, rec)
	}
	defer resumed.Close()
	if res, err := c.Run(ctx, resumed, agent.Text{Text: "Thank you."}).Collect(); err != nil || res.Text() != "Noted." {
		t.Errorf("resumed: %+v, %v", res, err)
	}
}

func lastToolText(s *agent.Session, n int) string {
	for _, m := range s.Messages() {
		if m.Role == agent.RoleTool {
			if n == 0 {
				return m.Parts[0].(agent.ToolResult).Text()
			}
			n--
		}
	}
	return ""
}

func goTest(dir string) (string, error) {
	cmd := exec.Command("go", "test", "./...")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestNewRefuses(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	os.WriteFile(file, nil, 0o644)
	m := agenttest.Script()
	for name, tt := range map[string]struct {
		dir  string
		opts luthier.Options
		want string
	}{
		"no model":        {dir, luthier.Options{}, "Options.Model"},
		"no such dir":     {filepath.Join(dir, "none"), luthier.Options{Model: m}, "no such file"},
		"not a dir":       {file, luthier.Options{Model: m}, "not a directory"},
		"state inside":    {dir, luthier.Options{Model: m, StateDir: filepath.Join(dir, ".state")}, "inside the workspace"},
		"unknown tool":    {dir, luthier.Options{Model: m, NoSandbox: true, StateDir: t.TempDir(), Only: []string{"teleport"}}, "teleport"},
		"duplicate tools": {dir, luthier.Options{Model: m, NoSandbox: true, StateDir: t.TempDir(), Tools: []agent.Tool{readTool{}}}, "read"},
	} {
		c, err := luthier.New(ctx, tt.dir, tt.opts)
		if err == nil || !strings.Contains(err.Error(), tt.want) || c != nil {
			t.Errorf("%s: %v, want an error that holds %q", name, err, tt.want)
		}
	}
}

// readTool has the name of a built-in tool.
type readTool struct{}

func (readTool) Spec() agent.ToolSpec { return agent.ToolSpec{Name: "read"} }
func (readTool) Call(context.Context, agent.ToolCall) (*agent.ToolResult, error) {
	return nil, nil
}

// TestNeedsNoGit opens a workspace that is not a git repository, in a path with odd characters,
// with instructions.
func TestNeedsNoGit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "odd näme $(x) ;")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("Always whistle."), 0o644)
	m := agenttest.Script(agenttest.Call("1", "write", `{"path":"a.txt","content":"hello\n"}`), agenttest.Text("written"))
	c, err := luthier.New(context.Background(), dir, luthier.Options{Model: m, NoSandbox: true, Autonomy: agent.AutonomyEdit, StateDir: t.TempDir(), SubAgents: luthier.Shared})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := agent.NewSession()
	if res, err := c.Run(context.Background(), s, agent.Text{Text: "write a file"}).Collect(); err != nil || res.Text() != "written" || read(t, dir, "a.txt") != "hello\n" {
		t.Fatalf("%+v, %v", res, err)
	}
	if _, err := c.Undo(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a.txt")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("undo left the new file: %v", err)
	}
	req := m.Requests()[0]
	if !strings.Contains(req.System, "Always whistle.") {
		t.Error("AGENTS.md is not in the instructions")
	}
	names := map[string]bool{}
	for _, spec := range req.Tools {
		names[spec.Name] = true
	}
	for _, want := range strings.Fields("read write edit apply_patch list glob grep symbols shell shell_output shell_input shell_kill lint test git todo plan memory ask_user agent") {
		if !names[want] {
			t.Errorf("the tool %s is not offered", want)
		}
	}
}
