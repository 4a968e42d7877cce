package luthier_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/tier"
)

// forkingModel answers the agent with turns, and each sub-agent by its task: the task is a command,
// which the sub-agent runs, and then it says that it is done.
func forkingModel(turns ...func(*agent.Request) agenttest.Turn) agent.Model {
	n := 0
	return agenttest.ScriptFunc(func(req *agent.Request) agenttest.Turn {
		first, _ := req.Messages[0].Parts[0].(agent.Text)
		if task, ok := strings.CutPrefix(first.Text, "sh: "); ok {
			if len(req.Messages) > 1 {
				return agenttest.Text("did it")
			}
			return call("s", "shell", map[string]any{"command": task})
		}
		n++
		return turns[n-1](req)
	}).Forget()
}

func work(id, command string) agenttest.Turn {
	return call(id, "agent", map[string]any{"mode": "work", "task": "sh: " + command})
}

func always(t agenttest.Turn) func(*agent.Request) agenttest.Turn {
	return func(*agent.Request) agenttest.Turn { return t }
}

// adopt decides on the fork whose diff contains a text.
func adopt(id, diff string, drop bool) func(*agent.Request) agenttest.Turn {
	return func(req *agent.Request) agenttest.Turn {
		name := "fork-9"
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				if r, ok := p.(agent.ToolResult); ok && strings.Contains(r.Text(), diff) {
					name = regexp.MustCompile(`fork-\d`).FindString(r.Text())
				}
			}
		}
		return call(id, "adopt", map[string]any{"fork": name, "drop": drop})
	}
}

// TestForkedSubAgents: sub-agents that change something work on forks, several at the same time,
// see what the agent did before them and nothing of one another. The agent reads what each changed,
// and takes it over or drops it. What clashes is named, and changes nothing.
//
// Evidence: luthier · Sub-agents work on forks, several at once
func TestForkedSubAgents(t *testing.T) {
	tier.Normal(t)
	t.Run("commit", func(t *testing.T) {
		forkedSubAgents(t, func(dir string) luthier.Source { return luthier.Commit(dir, "HEAD") })
	})
	t.Run("remote", func(t *testing.T) { forkedSubAgents(t, farServer(t, luthier.ToolboxOptions{})) })
}

func forkedSubAgents(t *testing.T, from func(dir string) luthier.Source) {
	t.Helper()
	dir := committed(t)
	w := openWorkspace(t, from(dir))
	model := forkingModel(
		always(call("1", "write", map[string]any{"path": "base.txt", "content": "base\n"})),
		always(agenttest.Join(work("2", "cat base.txt && git status && echo 2 >two.txt"), work("3", "cat base.txt && ls two.txt; sed -i s/3/2/ a.go && git commit -qam fix"),
			work("4", "echo clash >two.txt"), work("5", "true"), work("6", "echo dropped >six.txt"))),
		adopt("7", "+func Two() int { return 2 }", false),
		adopt("8", "+2\n", false),
		adopt("9", "+clash", false),
		adopt("10", "+dropped", true),
		adopt("11", "no such diff", false),
		always(call("12", "shell", map[string]any{"command": "cat base.txt two.txt a.go; git log --format='%an %s'; ls"})),
		always(agenttest.Text("done")))
	coder, err := luthier.New(t.Context(), "", luthier.Options{Workspace: w, StateDir: t.TempDir(), Autonomy: agent.AutonomySandboxed, SubAgents: luthier.Forked, Model: model})
	if err != nil {
		t.Fatal(err)
	}
	defer coder.Close()
	got := ranTo(t, coder, "Go.")
	forks := map[string]string{} // by what the fork changed
	for i, r := range got[1:6] {
		name := regexp.MustCompile(`fork-\d`).FindString(r)
		for _, what := range []string{"+2\n", "+func Two() int { return 2 }", "+clash", "+dropped"} {
			if strings.Contains(r, what) {
				forks[what] = name
			}
		}
		if strings.Contains(r, ".git/") || !strings.Contains(r, "did it") || (name == "") != (i == 3) {
			t.Errorf("sub-agent %d: %s", i, r)
		}
	}
	if len(forks) != 4 {
		t.Fatalf("forks %v of %q", forks, got)
	}
	clashes := 0
	for i, r := range got[6:10] {
		if i == 3 && r != forks["+dropped"]+" is dropped; nothing here has changed." {
			t.Error(r)
		} else if i < 3 && strings.Contains(r, `"two.txt"`) {
			clashes++
		} else if i < 3 && !strings.Contains(r, "is adopted") {
			t.Error(r)
		}
	}
	if clashes != 1 || !strings.Contains(got[10], "there is no fork-9") {
		t.Errorf("%d clashes: %q", clashes, got[6:])
	}
	if want := "base\n2\npackage a\n\nfunc Two() int { return 2 }\nAda fix\nAda first\nAGENTS.md\na.go\na_test.go\nbase.txt\ngo.mod\ntwo.txt\n"; !strings.HasPrefix(got[11], want) {
		t.Errorf("in the end %q, want %q", got[11], want)
	}
	if got := git(t, dir, "status", "--porcelain"); got != "" {
		t.Errorf("the directory has changed: %s", got)
	}
	if _, err := luthier.New(t.Context(), dir, luthier.Options{StateDir: t.TempDir(), SubAgents: luthier.Forked, Model: model}); err == nil || !strings.Contains(err.Error(), "Options.Workspace") {
		t.Errorf("forked sub-agents in place: %v", err)
	}
}
