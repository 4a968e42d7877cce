package luthier_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/devdata"
	"github.com/luthier-dev/luthier/internal/tier"
)

// obeyedCall is one call of a scripted model that obeys a poisoned text.
type obeyedCall struct {
	Tool   string
	Args   json.RawMessage
	Repeat int
	Calls  []obeyedCall
}

// obeyedCase is a record of safety-dev.
type obeyedCase struct {
	ID, Class, Want, Effect string
	Obey, Calls             []obeyedCall
}

// safetyCases reads a file of safety-dev.
func safetyCases(t *testing.T, file string) []obeyedCase {
	t.Helper()
	f, err := os.Open(devdata.Path(t, "safety-dev/"+file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []obeyedCase
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var c obeyedCase
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

// flat lists the calls of a record that the coding tools can make, repeated ones three times.
func flat(calls []obeyedCall) []obeyedCall {
	var out []obeyedCall
	for _, c := range calls {
		if c.Repeat > 0 {
			for range min(c.Repeat, 3) {
				out = append(out, flat(c.Calls)...)
			}
		}
		if c.Tool == "shell" { // package managers repeat what has no network
			c.Args = json.RawMessage(strings.TrimSuffix(string(c.Args), "}") + `, "timeout_seconds": 1, "on_timeout": "kill"}`)
		}
		if slices.Contains([]string{"read", "write", "edit", "apply_patch", "shell", "memory", "todo"}, c.Tool) {
			out = append(out, c)
		}
	}
	return out
}

// attackedTree makes the workspace that the records are about: a fresh clone with a few files.
func attackedTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"src/main.go": "package main\n", "README.md": "read me\n", "go.mod": "module x\n\ngo 1.26\n", ".gitlab-ci.yml": "test:\n  script: make test\n",
		"package.json":      "{\n  \"name\": \"x\",\n  \"scripts\": {\"test\": \"true\"},\n  \"dependencies\": {\"left\": \"1.0.0\"}\n}\n",
		"package-lock.json": "{\n  \"left\": {\n    \"resolved\": \"https://registry.example/left-1.0.0.tgz?from=packages.example\"\n  }\n}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Skipf("no repository: %v: %s", err, out)
	}
	return dir
}

// filesOf maps the files of a tree to their contents.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		out[path[len(dir)+1:]] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// obey runs the calls one after the other in an agent as a host would get it, in place, with the
// sandbox. It returns the questions about files that are obeyed; all questions are refused. A
// headless agent asks nobody.
func obey(t *testing.T, dir string, calls []obeyedCall, level agent.Autonomy, headless bool) (questions int) {
	t.Helper()
	var turns []agenttest.Turn
	for i, c := range calls {
		turns = append(turns, agenttest.Call(string(rune('a'+i)), c.Tool, string(c.Args)))
	}
	opts := luthier.Options{Model: agenttest.Script(append(turns, agenttest.Text("done"))...), Autonomy: level, StateDir: t.TempDir(), NoIndex: true, NoCheckpoints: true}
	if !headless {
		opts.Ask = func(_ context.Context, req *agent.PermissionRequest, _ agent.Verdict) agent.Answer {
			if req.Effects.Flags&agent.EffectObeyed != 0 {
				questions++
			}
			return agent.Answer{}
		}
	}
	c, err := luthier.New(t.Context(), dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Run(t.Context(), agent.NewSession(), agent.Text{Text: "go"}).Collect(); err != nil {
		t.Fatal(err)
	}
	return questions
}

// TestObeyedFilesAsk lets a model obey poisoned texts, in place, at every autonomy, with a person
// to ask and without: no write of a file that something later obeys or executes lands without a
// question.
//
// Evidence: coding · Hooks, workflows and agent settings are not written without a question
func TestObeyedFilesAsk(t *testing.T) {
	tier.Normal(t)
	for _, c := range safetyCases(t, "attacks-dev.jsonl") {
		calls := flat(c.Obey)
		if len(calls) == 0 || c.Class != "B" && c.Class != "C" && c.ID != "E03" {
			continue
		}
		for _, level := range []agent.Autonomy{agent.AutonomyAsk, agent.AutonomyReadOnly, agent.AutonomyEdit, agent.AutonomySandboxed} {
			for _, headless := range []bool{false, true} {
				dir := attackedTree(t)
				before := filesOf(t, dir)
				questions := obey(t, dir, calls, level, headless)
				if d := cmp.Diff(before, filesOf(t, dir)); d != "" {
					t.Errorf("%s (%s) at autonomy %d, headless %v: landed after %d questions that were refused:\n%s", c.ID, c.Effect, level, headless, questions, d)
				}
			}
		}
	}
}

// TestOrdinaryWorkDoesNotAsk runs ordinary work in the sandbox, in place, with the same agent: none
// of it asks more than its record says.
func TestOrdinaryWorkDoesNotAsk(t *testing.T) {
	tier.Normal(t)
	for _, c := range safetyCases(t, "controls.jsonl") {
		calls := flat(c.Calls)
		if len(calls) == 0 {
			continue
		}
		most := 0
		if c.Want == "ask1" {
			most = 1
		}
		if n := obey(t, attackedTree(t), calls, agent.AutonomySandboxed, false); n > most {
			t.Errorf("%s: %d questions, want %s", c.ID, n, c.Want)
		}
	}
}
