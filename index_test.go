package luthier_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval"
)

// offered opens a Coder over dir, runs it once and returns what its model was sent.
func offered(t *testing.T, dir string, opts luthier.Options, turns ...agenttest.Turn) (*luthier.Coder, *agent.Request, []string) {
	t.Helper()
	m := agenttest.Script(append(turns, agenttest.Text("done"))...)
	opts.Model, opts.NoSandbox, opts.Autonomy = m, true, agent.AutonomyEdit
	if opts.StateDir == "" {
		opts.StateDir = t.TempDir()
	}
	c, err := luthier.New(t.Context(), dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	s := agent.NewSession()
	if _, err := c.Run(t.Context(), s, agent.Text{Text: "go"}).Collect(); err != nil {
		t.Fatal(err)
	}
	var results []string
	for _, msg := range s.Messages() {
		for _, p := range msg.Parts {
			if r, ok := p.(agent.ToolResult); ok {
				results = append(results, r.Text())
			}
		}
	}
	return c, m.Requests()[0], results
}

func hasTool(req *agent.Request, name string) bool {
	for _, spec := range req.Tools {
		if spec.Name == name {
			return true
		}
	}
	return false
}

// TestIndexByDefault: by default an agent can search both what was there before and what it wrote
// itself, and nothing is left behind afterwards.
//
// Evidence: retrieval · An agent has an index by default
func TestIndexByDefault(t *testing.T) {
	agenttest.CheckLeaks(t)
	state := t.TempDir()
	c, req, got := offered(t, faultyRepo(t), luthier.Options{StateDir: state},
		agenttest.Call("1", "search", `{"query": "median of an even number of values"}`),
		agenttest.Call("2", "write", `{"path": "moon.go", "content": "package stats\n\n// Perigee is the moon at its nearest.\nfunc Perigee() {}\n"}`),
		agenttest.Call("3", "search", `{"query": "where is the moon nearest"}`),
		agenttest.Call("4", "repo_map", `{"words": "median"}`),
	)
	if !hasTool(req, "search") || !hasTool(req, "repo_map") || !strings.Contains(req.System, "repo_map") {
		t.Error("search or repo_map are not offered")
	}
	for i, want := range []string{"Median", "", "moon.go:", "func Median"} {
		if !strings.Contains(got[i], want) {
			t.Errorf("call %d: %q is not in:\n%s", i+1, want, got[i])
		}
	}
	if c.Index == nil {
		t.Fatal("the Coder has no index")
	}
	if st := c.Index.Status(); !strings.HasPrefix(st.CacheDir, state) || st.Err != nil {
		t.Errorf("the index lies outside of the state directory %s:\n%v", state, st)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Index.Search(t.Context(), retrieval.Query{Text: "moon"}); err != retrieval.ErrClosed {
		t.Errorf("after Close the index answers %v", err)
	}
}

func TestIndexOptions(t *testing.T) {
	dir := faultyRepo(t)
	for name, opts := range map[string]luthier.Options{
		"NoIndex": {NoIndex: true},
		"Only":    {Only: []string{"read", "edit"}},
		"Without": {Without: []string{"search", "repo_map"}},
	} {
		c, req, _ := offered(t, dir, opts)
		if c.Index != nil || hasTool(req, "search") || hasTool(req, "repo_map") || strings.Contains(req.System, "repo_map") {
			t.Errorf("%s: there is an index", name)
		}
	}
	own, err := retrieval.Open(t.Context(), dir, retrieval.Config{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	c, req, _ := offered(t, dir, luthier.Options{Index: own})
	if c.Index != own || !hasTool(req, "search") {
		t.Error("the host's index is not used")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if hits, err := own.Search(t.Context(), retrieval.Query{Text: "median"}); err != nil || len(hits) == 0 {
		t.Errorf("Close closed the host's index: %v, %v", hits, err)
	}
}

// vanishing is a tool that moves the workspace away when it is registered, which New does before it
// opens the index.
type vanishing struct{ dir string }

func (v vanishing) Spec() agent.ToolSpec {
	os.Rename(v.dir, v.dir+"-gone")
	return agent.ToolSpec{Name: "vanish", Description: "nothing"}
}

func (vanishing) Call(context.Context, agent.ToolCall) (*agent.ToolResult, error) {
	return agent.TextResult(""), nil
}

// TestIndexFails: if the index cannot be opened because the directory is gone, the agent still
// works, and both the log and the tool say why.
func TestIndexFails(t *testing.T) {
	dir := faultyRepo(t)
	var log bytes.Buffer
	c, _, got := offered(t, dir, luthier.Options{
		NoCheckpoints: true, Tools: []agent.Tool{vanishing{dir}}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}, agenttest.Call("1", "search", `{"query": "median"}`), agenttest.Call("2", "todo", `{"todos": [{"text": "go on", "status": "pending"}]}`))
	if c.Index != nil {
		t.Fatal("an index was opened over a directory that is gone")
	}
	if !strings.Contains(got[0], "no such file") || !strings.Contains(got[0], "use grep") || !strings.Contains(got[1], "go on") {
		t.Errorf("the tools answered %q", got)
	}
	if !strings.Contains(log.String(), "open index") || !strings.Contains(log.String(), "no such file") {
		t.Errorf("the log does not say why there is no index: %q", log.String())
	}
}

// TestIndexInMemory puts a file where the index's directory should be.
func TestIndexInMemory(t *testing.T) {
	dir, state := faultyRepo(t), t.TempDir()
	c, _, _ := offered(t, dir, luthier.Options{StateDir: state})
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	homes, err := filepath.Glob(filepath.Join(state, "*", "index"))
	if err != nil || len(homes) != 1 {
		t.Fatalf("%v, %v", homes, err)
	}
	if err := os.RemoveAll(homes[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(homes[0], []byte("in the way"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, got := offered(t, dir, luthier.Options{StateDir: state}, agenttest.Call("1", "search", `{"query": "median of values"}`))
	if !strings.Contains(got[0], "stats.go:") {
		t.Errorf("without a directory for the index search answers %q", got)
	}
}

// manyFiles creates a tree of n Go files.
func manyFiles(t testing.TB, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		name := filepath.Join(dir, fmt.Sprintf("p%d/f%d.go", i/50, i))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		text := strings.Repeat(fmt.Sprintf("// Number %d of many.\nfunc F%d(a, b int) int { return a*b + %d }\n\n", i, i, i), 60)
		if err := os.WriteFile(name, []byte("package p\n\n"+text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestCloseWhileIndexing: after closing a Coder whose index has just begun, nothing goes on in the
// background.
func TestCloseWhileIndexing(t *testing.T) {
	agenttest.CheckLeaks(t)
	dir := manyFiles(t, tier.Pick(600, 3000, 10_000))
	c, err := luthier.New(t.Context(), dir, luthier.Options{Model: agenttest.Script(), NoSandbox: true, NoCheckpoints: true, StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	t.Logf("closed within %v", time.Since(begin))
}

// BenchmarkNew measures how long a host waits for an agent, with and without the index, which is
// built in the background.
func BenchmarkNew(b *testing.B) {
	dir := manyFiles(b, 2000)
	for _, bc := range []struct {
		name string
		opts luthier.Options
	}{{"index", luthier.Options{}}, {"none", luthier.Options{NoIndex: true}}} {
		b.Run(bc.name, func(b *testing.B) {
			opts := bc.opts
			opts.Model, opts.NoSandbox, opts.NoCheckpoints, opts.StateDir = agenttest.Script(), true, true, b.TempDir()
			b.ReportAllocs()
			for b.Loop() {
				c, err := luthier.New(context.Background(), dir, opts)
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := c.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}
