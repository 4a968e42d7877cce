package luthier_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/devdata"
)

// traps are shell commands that released agents have run without asking.
var traps = []string{
	"env rm -rf x", "timeout 5 rm x", "ls & rm x", "echo x > ~/.bashrc", "git branch -D main", "git -C /other status",
	"uniq in out", "./ls", "find . -delete", "echo $(rm x)", "echo `rm x`", "cat <<EOF | sh\nrm x\nEOF", "sed -i s/a/b/ f",
	"echo x | xargs rm", "a=rm; $a x", "ls; curl http://x", "kill 1", "cat ~/.ssh/id_rsa", "cat .env", "printenv",
	"nohup rm x", "command rm x", "r\\m x", "ls || rm x", "(rm x)", "if true; then rm x; fi", "git push", "git stash drop",
	"awk 'BEGIN{system(\"rm x\")}'", "tee f < g", "dd if=a of=b", "python3 -c 'import os'", "cat /etc/shadow", "ls >out",
}

// TestShellApproval checks the decisions of a complete agent, wired as a host would get it, on
// shell commands: at every autonomy level that does not rely on a sandbox, only commands that do
// nothing but read run without asking.
//
// Evidence: coding · Only shell commands that are known to read run without approval
func TestShellApproval(t *testing.T) {
	want := map[string]bool{"cat go.mod": true, "git status": true, "ls -la | head -5": true, "grep -rn foo .": true}
	for _, cmd := range traps {
		want[cmd] = false
	}
	f, err := os.Open(devdata.Path(t, "tools-dev/shell-autoapprove.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var row struct {
			Cmd      string
			ReadOnly any
		}
		if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		want[row.Cmd] = row.ReadOnly == true
	}
	for _, level := range []agent.Autonomy{agent.AutonomyAsk, agent.AutonomyReadOnly, agent.AutonomyEdit, agent.AutonomySandboxed} {
		c, err := luthier.New(context.Background(), t.TempDir(), luthier.Options{Model: agenttest.Script(), Autonomy: level, NoSandbox: true, StateDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for cmd, allow := range want {
			args, err := json.Marshal(map[string]string{"command": cmd})
			if err != nil {
				t.Fatal(err)
			}
			ex := c.Explain(context.Background(), nil, agent.ToolCall{Name: "shell", Args: args})
			if got := ex.Verdict.Decision == agent.Allow; got != allow {
				t.Errorf("autonomy %d: %q: allowed = %v, want %v\n%s", level, cmd, got, allow, ex)
			}
		}
	}
}
