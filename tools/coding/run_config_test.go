package coding

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
)

// needUnix skips tests that need a Unix shell and process table.
func needUnix(t testing.TB) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a Unix shell")
	}
}

func procTool(t testing.TB, w *Workspace, name string) agent.Tool {
	t.Helper()
	ts, err := w.Tools()
	must(t, err)
	i := slices.IndexFunc(ts, func(tool agent.Tool) bool { return tool.Spec().Name == name })
	if i < 0 {
		t.Fatalf("no tool %q", name)
	}
	return ts[i]
}

// run calls a tool as the loop does and returns the result's text, or the error's.
func run(t testing.TB, w *Workspace, name string, in args) string {
	t.Helper()
	return runCtx(t, context.Background(), w, name, in)
}

func runCtx(t testing.TB, ctx context.Context, w *Workspace, name string, in args) string {
	t.Helper()
	raw, err := json.Marshal(in)
	must(t, err)
	res, err := procTool(t, w, name).Call(ctx, agent.ToolCall{ID: "1", Name: name, Args: raw})
	if err != nil {
		return "error: " + err.Error()
	}
	return res.Text()
}

// soon fails a test if f does not return by itself: the processes that it starts sleep for a
// minute or longer.
func soon(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(45 * time.Second):
		t.Fatalf("%s: still going after 45 seconds", what)
	}
}

// started calls fn with ever longer times until it returns true: a busy machine may need more than
// a time limit of a test to start the command whose end the test is about.
func started(t testing.TB, first time.Duration, fn func(limit time.Duration) bool) {
	t.Helper()
	for limit := first; !fn(limit); limit *= 3 {
		if limit > 10*time.Second {
			t.Fatalf("no command was started within %v", limit)
		}
	}
}

// alive reports whether a process exists and is not a zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// pidIn reads a process id that a command wrote.
func pidIn(t testing.TB, w *Workspace, name string) int {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if pid, ok := readPid(w, name); ok {
			return pid
		}
	}
	t.Fatalf("no process id in %s", name)
	return 0
}

// readPid reads a process id that a program of the test writes. It returns false until it is
// written.
func readPid(w *Workspace, name string) (int, bool) {
	data, err := os.ReadFile(filepath.Join(w.Dir(), name))
	if err != nil {
		return 0, false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	return pid, err == nil
}

func gone(t testing.TB, pids ...int) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) { // by itself it would sleep longer
		if !slices.ContainsFunc(pids, alive) {
			return
		}
	}
	t.Errorf("still alive: %v", slices.DeleteFunc(pids, func(p int) bool { return !alive(p) }))
}

func TestProcConfigErrors(t *testing.T) {
	for _, tc := range []struct {
		cfg  ProcConfig
		want string
	}{
		{ProcConfig{Timeout: -1}, "Config.Proc.Timeout"},
		{ProcConfig{MaxTimeout: -1}, "Config.Proc.MaxTimeout"},
		{ProcConfig{TestTimeout: -1}, "Config.Proc.TestTimeout"},
		{ProcConfig{OutputBytes: -1}, "OutputBytes"},
		{ProcConfig{Agent: &agent.Config{}}, "Config.Proc.Agent.Model"},
		{ProcConfig{Linters: []Linter{{}}}, "Config.Proc.Linters[0].Name"},
		{ProcConfig{Linters: []Linter{{Name: "x"}}}, "Config.Proc.Linters[0].Args"},
		{ProcConfig{Linters: []Linter{{Name: "x", Args: []string{"x"}, Pattern: "("}}}, "Config.Proc.Linters[0].Pattern"},
		{ProcConfig{Linters: []Linter{{Name: "x", Args: []string{"x"}, Pattern: "(?P<path>.)"}}}, "(?P<line>...)"},
	} {
		w, err := Open(t.TempDir(), Config{Proc: tc.cfg})
		if err == nil {
			w.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v does not say %q", tc.cfg, err, tc.want)
		}
	}
}

// TestProcToolsHaveEverything checks that every tool is in the list of names, and has a text for
// the model and a description.
func TestProcToolsHaveEverything(t *testing.T) {
	agenttest.CheckLeaks(t)
	w := openWith(t, Config{}, nil)
	ts, err := w.Tools()
	must(t, err)
	for _, tool := range ts {
		s := tool.Spec()
		if !slices.Contains(toolNames(), s.Name) {
			t.Errorf("%s is not in the toolbox", s.Name)
		}
		if len(s.Description) < 40 || len(s.Description) > 2000 {
			t.Errorf("%s: a description of %d bytes", s.Name, len(s.Description))
		}
		if d, ok := tool.(agent.Describer); !ok || d.DescribeCall(agent.ToolCall{Name: s.Name, Args: json.RawMessage(`{}`)}).Title == "" {
			t.Errorf("%s: calls are not described", s.Name)
		}
	}
}
