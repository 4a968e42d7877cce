package luthier_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/retrieval"
	"github.com/luthier-dev/luthier/tools/coding"
)

// The tests of the coding tools that use an index are here, so that they run with the index of
// package retrieval.

// files maps paths in a directory to contents.
type files map[string]string

func (fs files) write(t testing.TB, dir string) {
	t.Helper()
	for name, text := range fs {
		p := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		must(t, os.WriteFile(p, []byte(text), 0o644))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openAt(t testing.TB, dir string, cfg coding.Config) *coding.Workspace {
	t.Helper()
	w, err := coding.Open(dir, cfg)
	must(t, err)
	t.Cleanup(func() { must(t, w.Close()) })
	return w
}

// openIndexed creates a directory that holds fs and opens a workspace with an index over it.
func openIndexed(t testing.TB, cfg retrieval.Config, fs files) (*coding.Workspace, *retrieval.Index) {
	t.Helper()
	dir := t.TempDir()
	fs.write(t, dir)
	if cfg.CacheDir == "" {
		cfg.CacheDir = t.TempDir()
	}
	x, err := retrieval.Open(t.Context(), dir, cfg)
	must(t, err)
	t.Cleanup(func() { must(t, x.Close()) })
	return openAt(t, dir, onIndex(x)), x
}

func onIndex(x *retrieval.Index) coding.Config {
	return coding.Config{Index: luthier.CodingIndex(x), Ripgrep: "none"}
}

// settled waits until an index is complete.
func settled(t testing.TB, x *retrieval.Index) {
	t.Helper()
	young := func(l retrieval.LayerStatus) bool { return !l.Ready && l.Err == nil }
	for start := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if st := x.Status(); !slices.ContainsFunc(st.Layers, young) {
			return
		} else if time.Since(start) > time.Minute {
			t.Fatalf("the index is not ready:\n%v", st)
		}
	}
}

type args map[string]any

// try calls a tool the way the loop does, with JSON arguments.
func try(t testing.TB, w *coding.Workspace, name string, in args) (string, error) {
	t.Helper()
	ts, err := w.Tools()
	must(t, err)
	i := slices.IndexFunc(ts, func(tool agent.Tool) bool { return tool.Spec().Name == name })
	if i < 0 {
		t.Fatalf("no tool %q", name)
	}
	raw, err := json.Marshal(in)
	must(t, err)
	res, err := ts[i].Call(context.Background(), agent.ToolCall{ID: "1", Name: name, Args: raw})
	if err == nil && res.IsError {
		err = errors.New(res.Text())
	}
	if err != nil {
		return "", err
	}
	return agent.PartsText(res.Parts), nil
}

// do is try for calls that must succeed.
func do(t testing.TB, w *coding.Workspace, name string, in args) string {
	t.Helper()
	out, err := try(t, w, name, in)
	if err != nil {
		t.Fatalf("%s %v: %v", name, in, err)
	}
	return out
}

// refused is try for calls that must fail, with every want in the error's text.
func refused(t testing.TB, w *coding.Workspace, name string, in args, want ...string) {
	t.Helper()
	out, err := try(t, w, name, in)
	if err == nil {
		t.Fatalf("%s %v succeeded: %s", name, in, out)
	}
	contains(t, err.Error(), want...)
}

func contains(t testing.TB, got string, want ...string) {
	t.Helper()
	for _, s := range want {
		if !strings.Contains(got, s) {
			t.Errorf("%q is not in:\n%s", s, got)
		}
	}
}

// runTools lets a scripted model make calls in one run of a real agent, and returns their results.
func runTools(t testing.TB, w *coding.Workspace, s *agent.Session, turns ...agenttest.Turn) []agent.ToolResult {
	t.Helper()
	ts, err := w.Tools()
	must(t, err)
	a, err := agent.New(agent.Config{Model: agenttest.Script(append(turns, agenttest.Text("done"))...), Tools: ts})
	must(t, err)
	var results []agent.ToolResult
	for ev, err := range a.Run(context.Background(), s, agent.Text{Text: "go"}) {
		must(t, err)
		if m, ok := ev.(agent.MessageAdded); ok && m.Message.Role == agent.RoleTool {
			for _, p := range m.Message.Parts {
				results = append(results, p.(agent.ToolResult))
			}
		}
	}
	return results
}
