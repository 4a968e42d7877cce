package luthier_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox"
)

// TestDryRuns: with AutonomyDry a command runs in a trial, in place and in a copy, and the question
// afterwards shows what it changed. What the host does not want has no effect; what it wants has
// the one that was shown. Commands that change nothing, tests and reads ask nothing, and nothing
// that a trial cannot take back runs before the question.
//
// Evidence: luthier · A command is approved by what it changed
func TestDryRuns(t *testing.T) {
	tier.Normal(t)
	for _, where := range []string{"in place", "commit", "remote"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			dir := committed(t)
			var asked []string
			opts := luthier.Options{StateDir: t.TempDir(), Autonomy: agent.AutonomyDry, Model: agenttest.Script(
				call("1", "shell", map[string]any{"command": "sed -i s/3/2/ a.go; touch made; rm go.mod; echo lost"}),
				call("2", "shell", map[string]any{"command": "ls; cat a.go"}),
				call("3", "shell", map[string]any{"command": "sed -i s/3/2/ a.go; echo harm >.envrc; echo kept"}),
				call("4", "test", map[string]any{}),
				call("5", "shell", map[string]any{"command": "python3 -c 'print(1)' || true"}),
				call("6", "read", map[string]any{"path": "a.go"}),
				call("7", "shell", map[string]any{"command": "touch late; sleep 60", "timeout_seconds": 1}),
				call("8", "shell", map[string]any{"command": "touch bg", "background": true}),
				agenttest.Text("done")),
				Ask: func(_ context.Context, req *agent.PermissionRequest, _ agent.Verdict) agent.Answer {
					asked = append(asked, req.Description.Title+"\n"+req.Description.Detail+"\n"+req.Effects.String())
					return agent.Answer{Allow: strings.Contains(req.Description.Detail, "kept"), Reason: "not that"}
				}}
			path := dir
			switch where {
			case "commit":
				opts.Workspace, path = openWorkspace(t, luthier.Commit(dir, "HEAD")), ""
			case "remote":
				opts.Workspace, path = openWorkspace(t, farServer(t, luthier.ToolboxOptions{})(dir)), ""
			}
			coder, err := luthier.New(t.Context(), path, opts)
			if errors.Is(err, sandbox.ErrFloor) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer coder.Close()
			got := ranTo(t, coder, "Go.")
			for i, want := range []string{"nothing in the workspace has changed: not that", "return 3", "kept\n[exit code 0", "PASS", "1\n[exit code 0", "return 2", "its changes are dropped", "not that"} {
				if !strings.Contains(got[i], want) {
					t.Errorf("result %d: %q, want %q", i+1, got[i], want)
				}
			}
			if len(asked) != 3 {
				t.Fatalf("asked %d times: %q", len(asked), asked)
			}
			for i, wants := range [][]string{{"keep what it changed: sed", "a.go (modified)", "made (added)", "go.mod (deleted)", "+func Two() int { return 2 }"}, {".envrc", "+harm"}, {"touch bg"}} {
				for _, want := range wants {
					if !strings.Contains(asked[i], want) {
						t.Errorf("question %d is %q, without %q", i+1, asked[i], want)
					}
				}
			}
			exit, err := coder.Sandbox.Exec(t.Context(), sandbox.Cmd{Args: []string{"sh", "-c", "cat a.go .envrc; ls"}})
			if err != nil || !strings.HasPrefix(exit.Stdout.String(), "package a\n\nfunc Two() int { return 2 }\nharm\nAGENTS.md\na.go\na_test.go\ngo.mod\n") || strings.Contains(exit.Stdout.String(), "late") {
				t.Errorf("in the end the workspace is %v, %v", exit.Stdout.String(), err)
			}
			if text, err := os.ReadFile(filepath.Join(dir, "a.go")); err != nil || strings.Contains(string(text), "return 2") != (where == "in place") {
				t.Errorf("%s, the directory has %q, %v", where, text, err)
			}
		})
	}
}
