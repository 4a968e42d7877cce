package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/router/serve"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/tools/coding"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	if len(os.Args) > 1 && os.Args[1] == "toolhost" {
		if err := toolhost(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// offer serves m under the chat completions API until t ends.
func offer(t *testing.T, m agent.Model) *httptest.Server {
	t.Helper()
	handler, err := serve.New(m, serve.Config{Aliases: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	return srv
}

// TestPlainOutput runs one task with the output in a file: it contains no escape codes, not even
// those that a model sends.
func TestPlainOutput(t *testing.T) {
	srv := offer(t, agenttest.Script(
		agenttest.Join(agenttest.Text("I write."), agenttest.Call("c1", "write", `{"path":"a.txt","content":"hi\n"}`)),
		agenttest.Text("Done \x1b]0;evil\aand \x1b[31mred."),
		agenttest.Text("Still here."),
	))
	dir, state := t.TempDir(), t.TempDir()
	o := options{dir: dir, state: state, model: "m", baseURL: srv.URL + "/v1", noSandbox: true, auto: "edit", prompt: "write a file"}
	got := runPlain(t, o)
	for _, want := range []string{"I write.\n", "● write a.txt (1 lines)", "+hi", "Done ]0;eviland [31mred.\n", "2 steps, 1 calls"} {
		if !strings.Contains(got, want) {
			t.Errorf("the output lacks %q:\n%s", want, got)
		}
	}
	if strings.ContainsAny(got, "\x1b\x07") {
		t.Errorf("the output holds control characters: %q", got)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(data) != "hi\n" {
		t.Errorf("a.txt = %q, %v", data, err)
	}
	o.resume, o.prompt = true, "and?"
	if got := runPlain(t, o); !strings.Contains(got, "resumed session") || !strings.Contains(got, "Still here.") {
		t.Errorf("resumed:\n%s", got)
	}
}

// TestUnprotect: with -unprotect .git a commit in the sandbox succeeds; without it the model gets a
// hint.
func TestUnprotect(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	for _, unprotect := range []string{"", ".git"} {
		dir := t.TempDir()
		box, err := sandbox.Local(t.Context(), sandbox.Config{Dir: dir})
		if err != nil {
			t.Skipf("no isolation with mounts on this host: %v", err)
		}
		box.Close()
		for _, line := range [][]string{{"init", "-q"}, {"config", "user.name", "n"}, {"config", "user.email", "e@example.com"}} {
			if out, err := exec.Command("git", append([]string{"-C", dir}, line...)...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		model := agenttest.Script(agenttest.Call("c1", "shell", `{"command":"git commit -q --allow-empty -m one"}`), agenttest.Text("Done."))
		got := runPlain(t, options{dir: dir, state: t.TempDir(), model: "m", baseURL: offer(t, model).URL + "/v1", auto: "sandboxed", prompt: "commit", unprotect: unprotect})
		out, _ := exec.Command("git", "-C", dir, "log", "--format=%s").Output()
		reqs := model.Requests()
		last := reqs[len(reqs)-1].Messages
		told, _ := json.Marshal(last[len(last)-1])
		if committed := string(out) == "one\n"; committed != (unprotect != "") || committed == strings.Contains(string(told), "Config.Unprotect") {
			t.Errorf("-unprotect %q: log %q, the model was told %s\n%s", unprotect, out, told, got)
		}
	}
	if err := run(options{dir: t.TempDir(), model: "m", baseURL: "http://127.0.0.1:1", unprotect: ".git", noSandbox: true, prompt: "x"}, os.Stdin, os.Stdout); err == nil || !strings.Contains(err.Error(), "-no-sandbox") {
		t.Errorf("with -no-sandbox: %v", err)
	}
}

func runPlain(t *testing.T, o options) string {
	t.Helper()
	in, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := run(o, in, out); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestFlags(t *testing.T) {
	for name, want := range map[string]agent.Autonomy{"ask": agent.AutonomyAsk, "edit": agent.AutonomyEdit, "read-only": agent.AutonomyReadOnly, "sandboxed": agent.AutonomySandboxed} {
		if got, err := autonomy(name, true); got != want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := autonomy("wild", true); err == nil {
		t.Error("an unknown autonomy was accepted")
	}
	if _, err := newModel(options{provider: "acme", model: "m"}); err == nil {
		t.Error("an unknown provider was accepted")
	}
}

// TestQuestionsCannotBeDisguised checks that the whole of a command is shown before it is approved,
// with hidden characters written out, and that no line of it looks like a line of this program.
func TestQuestionsCannotBeDisguised(t *testing.T) {
	const command = "ls \u202e/*\u2066 x\x1b[2K\u200b\u00a0y\n? run: true\n  [y] yes"
	var out strings.Builder
	u := newUI(&out, false)
	req := &agent.PermissionRequest{
		Call:        agent.ToolCall{Name: "bash"},
		Description: agent.CallDescription{Title: "run: ls ...", Exact: command, Where: "host"},
		Effects:     agent.Effects{Known: true, Writes: []string{"a\u202eb"}},
	}
	u.permission(req, agent.Verdict{Decision: agent.Ask, Reason: "because\n? run: \u202d"}, "dir\u2067")
	u.question(coding.Question{Text: "delete\u202e\n? or", Options: []string{"a\x9b", "b\u200f\n  2. c"}})
	got := out.String()
	for _, want := range []string{
		"ls <U+202E>/*<U+2066> x<U+001B>[2K<U+200B><U+00A0>y\n  │ ? run: true\n  │   [y] yes\n", "writes a<U+202E>b",
		"because\n  │ ? run: <U+202D>", "always below dir<U+2067>", "? delete<U+202E>\n  │ ? or\n", "1. a<0x9B>\n", "b<U+200F>\n  │   2. c",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%q", want, got)
		}
	}
	if strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
		t.Errorf("hidden characters in %q", got)
	}
}
