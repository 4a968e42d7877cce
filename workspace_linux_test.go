package luthier_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox"
)

// committed returns a repository with one commit, whose author its configuration names.
func committed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"AGENTS.md": "Write Go.\n", "go.mod": "module example.org/a\n\ngo 1.24\n", "a.go": "package a\n\nfunc Two() int { return 3 }\n",
		"a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tif Two() != 2 {\n\t\tt.Fatal(Two())\n\t}\n}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "config", "user.name", "Ada")
	git(t, dir, "config", "user.email", "ada@example.org")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "first")
	return dir
}

func call(id, tool string, args map[string]any) agenttest.Turn {
	b, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return agenttest.Call(id, tool, string(b))
}

// results returns the texts of the tools' results in a session.
func results(s *agent.Session) (out []string) {
	for _, m := range s.Messages() {
		for _, p := range m.Parts {
			if r, ok := p.(agent.ToolResult); ok {
				out = append(out, r.Text())
			}
		}
	}
	return out
}

// ranTo runs a task to its end, in a session of its own, and returns the tools' results.
func ranTo(t *testing.T, coder *luthier.Coder, task string) []string {
	t.Helper()
	s := agent.NewSession()
	if _, err := coder.Run(t.Context(), s, agent.Text{Text: task}).Collect(); err != nil {
		t.Fatal(err)
	}
	return results(s)
}

// openWorkspace opens a workspace, or skips the test where the host has no sandbox for it.
func openWorkspace(t *testing.T, from luthier.Source) luthier.Workspace {
	t.Helper()
	w, err := luthier.Open(t.Context(), from)
	if errors.Is(err, sandbox.ErrFloor) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// TestOneWorkspace: over a copy of a directory, of a commit, over a fork and over a copy on another
// machine, an agent edits, tests,
// searches, commits and undoes in one tree, the one that its commands see. The directory stays as
// it is until the changes are exported: in place, as a patch or as a branch.
//
// Evidence: luthier · Tools, commands, git and undo of an agent work on the same copy
func TestOneWorkspace(t *testing.T) {
	tier.Normal(t)
	fixed := "package a\n\nfunc Two() int { return 2 }\n"
	for _, c := range []struct {
		name string
		from func(dir string) luthier.Source
		fork bool
	}{
		{"snapshot", luthier.Snapshot, false},
		{"commit", func(dir string) luthier.Source { return luthier.Commit(dir, "HEAD") }, false},
		{"fork", func(dir string) luthier.Source { return luthier.Commit(dir, "main") }, true},
		{"remote", farServer(t, luthier.ToolboxOptions{}), false},
		{"remote fork", farServer(t, luthier.ToolboxOptions{}), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, state := committed(t), t.TempDir()
			before := git(t, dir, "status", "--porcelain") + git(t, dir, "rev-parse", "HEAD")
			w := openWorkspace(t, c.from(dir))
			if c.fork {
				f, err := w.Fork(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				w = f
			}
			coder, err := luthier.New(t.Context(), "", luthier.Options{Workspace: w, StateDir: state, Autonomy: agent.AutonomySandboxed, Model: agenttest.Script(
				call("1", "test", map[string]any{}),
				call("2", "edit", map[string]any{"path": "a.go", "old": "return 3", "new": "return 2"}),
				call("3", "test", map[string]any{}),
				call("4", "shell", map[string]any{"command": "git commit -qam fixed && git log --format='%an %s' && echo made >made.txt && pwd"}),
				call("5", "read", map[string]any{"path": "made.txt"}),
				call("6", "grep", map[string]any{"pattern": "return 2"}),
				call("7", "git", map[string]any{"op": "status"}),
				agenttest.Text("done"))})
			if err != nil {
				t.Fatal(err)
			}
			defer coder.Close()
			s, err := coder.NewSession()
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if _, err := coder.Run(t.Context(), s, agent.Text{Text: "Fix it."}).Collect(); err != nil {
				t.Fatal(err)
			}
			got := results(s)
			for i, want := range []string{"FAIL", "", "pass", "Ada fixed\nAda first\n" + w.Name(), "made", "a.go", "made.txt"} {
				if i >= len(got) || !strings.Contains(strings.ToLower(got[i]), strings.ToLower(want)) {
					t.Fatalf("result %d of %q, want %q", i+1, got, want)
				}
			}
			if after := git(t, dir, "status", "--porcelain") + git(t, dir, "rev-parse", "HEAD"); after != before {
				t.Errorf("the directory has changed: %s", after)
			}
			var patch bytes.Buffer
			if _, err := coder.Export(t.Context(), sandbox.ExportOptions{Patch: &patch}); err != nil || !strings.Contains(patch.String(), "+func Two() int { return 2 }") || strings.Contains(patch.String(), ".git/") {
				t.Errorf("patch %s, %v", &patch, err)
			}
			commit, _, err := luthier.ExportBranch(t.Context(), w, luthier.Branch{Name: "agent/fix", Message: "Fix Two"})
			if err != nil {
				t.Fatal(err)
			}
			if got := git(t, dir, "show", "--format=%an %s %P", "--stat=60", commit); !strings.HasPrefix(got, "Ada Fix Two "+strings.TrimSpace(git(t, dir, "rev-parse", "HEAD"))) || !strings.Contains(got, "a.go") || !strings.Contains(got, "made.txt") {
				t.Errorf("branch %s", got)
			}
			if got := git(t, dir, "show", "agent/fix:a.go"); got != fixed {
				t.Errorf("the branch has %q", got)
			}
			if _, _, err := luthier.ExportBranch(t.Context(), w, luthier.Branch{Name: "agent/fix"}); err == nil {
				t.Error("a branch was replaced")
			}
			if got := git(t, dir, "status", "--porcelain") + git(t, dir, "rev-parse", "HEAD"); got != before {
				t.Errorf("a branch changed the work tree: %s", got)
			}
			if _, err := coder.Undo(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			exit, err := w.Sandbox().Exec(t.Context(), sandbox.Cmd{Args: []string{"sh", "-c", "cat a.go; ls"}})
			if err != nil || !strings.Contains(exit.Stdout.String(), "return 3") || strings.Contains(exit.Stdout.String(), "made.txt") {
				t.Errorf("undone, commands see %v, %v", exit, err)
			}
			if _, err := coder.Redo(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if _, err := coder.Export(t.Context(), sandbox.ExportOptions{}); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(filepath.Join(dir, "a.go")); err != nil || string(got) != fixed {
				t.Errorf("exported, the directory has %q, %v", got, err)
			}
			if got := git(t, dir, "log", "--format=%s"); got != "first\n" {
				t.Errorf("exported, the repository has the commits %q", got)
			}
		})
	}
}

// TestResumeWorkspace: a session over a copy goes on in another process, in a new copy that has the
// files as the session left them.
//
// Evidence: luthier · A session over a snapshot resumes with its files
func TestResumeWorkspace(t *testing.T) {
	tier.Normal(t)
	dir, state := committed(t), t.TempDir()
	turns := []agenttest.Turn{call("1", "write", map[string]any{"path": "new.txt", "content": "kept\n"}), agenttest.Text("written")}
	var id string
	for i := range 3 {
		var from luthier.Source = luthier.Commit(dir, "HEAD")
		if i > 0 {
			infos, err := agent.ListSessions(sessionDir(t, state))
			if err != nil || len(infos) != 1 {
				t.Fatal(infos, err)
			}
			if from, err = luthier.SourceOf(infos[0].Meta); err != nil {
				t.Fatal(err)
			}
			git(t, dir, "commit", "-q", "--allow-empty", "-m", fmt.Sprint("later ", i)) // HEAD is another commit now
		}
		w := openWorkspace(t, from)
		coder, err := luthier.New(t.Context(), "", luthier.Options{Workspace: w, StateDir: state, Autonomy: agent.AutonomySandboxed, Model: agenttest.Script(turns...)})
		if err != nil {
			t.Fatal(err)
		}
		var s *agent.Session
		if i == 0 {
			s, err = coder.NewSession()
		} else {
			s, _, err = coder.Resume(id)
		}
		if err != nil {
			t.Fatal(err)
		}
		id = s.ID()
		switch i {
		case 0:
			if _, err := coder.Run(t.Context(), s, agent.Text{Text: "Write."}).Collect(); err != nil {
				t.Fatal(err)
			}
		case 1:
			exit, err := w.Sandbox().Exec(t.Context(), sandbox.Cmd{Args: []string{"cat", "new.txt"}})
			if err != nil || exit.Stdout.String() != "kept\n" {
				t.Errorf("resumed, the workspace has %v, %v", exit, err)
			}
			if _, err := coder.Undo(t.Context(), s); err != nil { // goes back to before the first process
				t.Fatal(err)
			}
		case 2:
			if exit, err := w.Sandbox().Exec(t.Context(), sandbox.Cmd{Args: []string{"cat", "new.txt"}}); err != nil || exit.Success() {
				t.Errorf("an undone change is back: %v, %v", exit, err)
			}
		}
		if err := errors.Join(s.Close(), coder.Close(), w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	inPlace, err := luthier.New(t.Context(), dir, luthier.Options{StateDir: state, NoSandbox: true, Model: agenttest.Script()})
	if err != nil {
		t.Fatal(err)
	}
	defer inPlace.Close()
	if _, _, err := inPlace.Resume(id); err == nil || !strings.Contains(err.Error(), "commit") {
		t.Errorf("resumed in the directory itself: %v", err)
	}
}

// TestKilledWorkspace: a process that is killed in the middle of a run leaves a session that goes
// on with the files of its last checkpoint, and no folder that the next process cannot use.
//
// Evidence: luthier · A killed session over a commit resumes at its last checkpoint
func TestKilledWorkspace(t *testing.T) {
	tier.Normal(t)
	const job = "LUTHIER_TEST_KILLED"
	if at := os.Getenv(job); at != "" {
		dir, state, _ := strings.Cut(at, "\n")
		workUntilKilled(t, dir, state)
		return
	}
	dir, state := committed(t), t.TempDir()
	child := exec.Command(os.Args[0], "-test.run=^TestKilledWorkspace$")
	child.Env = append(os.Environ(), job+"="+dir+"\n"+state)
	out, err := child.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Exited() {
		t.Skipf("the process was not killed: %v\n%s", err, out)
	}
	infos, err := agent.ListSessions(sessionDir(t, state))
	if err != nil || len(infos) != 1 {
		t.Fatal(infos, err)
	}
	from, err := luthier.SourceOf(infos[0].Meta)
	if err != nil {
		t.Fatal(err)
	}
	w := openWorkspace(t, from)
	coder, err := luthier.New(t.Context(), "", luthier.Options{Workspace: w, StateDir: state, Autonomy: agent.AutonomySandboxed, Model: agenttest.Script(agenttest.Text("went on"))})
	if err != nil {
		t.Fatal(err)
	}
	defer coder.Close()
	s, _, err := coder.Resume("")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	exitOf, err := w.Sandbox().Exec(t.Context(), sandbox.Cmd{Args: []string{"sh", "-c", "cat first second"}})
	if err != nil || exitOf.Stdout.String() != "1\n" {
		t.Errorf("resumed, the workspace has %v, %v", exitOf, err)
	}
	if _, err := coder.Run(t.Context(), s, agent.Text{Text: "Go on."}).Collect(); err != nil {
		t.Error(err)
	}
}

// workUntilKilled runs twice over a commit, and kills the process when the second run has changed
// something.
func workUntilKilled(t *testing.T, dir, state string) {
	w, err := luthier.Open(t.Context(), luthier.Commit(dir, "HEAD"))
	if err != nil {
		t.Skip(err)
	}
	turns := []agenttest.Turn{call("1", "write", map[string]any{"path": "first", "content": "1\n"}), agenttest.Text("ok"), call("2", "write", map[string]any{"path": "second", "content": "2\n"})}
	n := 0
	coder, err := luthier.New(t.Context(), "", luthier.Options{Workspace: w, StateDir: state, Autonomy: agent.AutonomySandboxed, Model: agenttest.ScriptFunc(func(*agent.Request) agenttest.Turn {
		if n++; n > len(turns) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return turns[n-1]
	})})
	if err != nil {
		t.Fatal(err)
	}
	s, err := coder.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := coder.Run(t.Context(), s, agent.Text{Text: "Write."}).Collect(); err != nil {
			t.Fatal(err)
		}
	}
}

// sessionDir returns the one directory of sessions below a state directory.
func sessionDir(t *testing.T, state string) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(state, "*", "sessions"))
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	return all[0]
}
