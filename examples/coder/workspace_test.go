package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/sandbox"
)

// repo makes a repository with one commit.
func repo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "config", "user.name", "n")
	git(t, dir, "config", "user.email", "e@example.com")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "first")
	return dir
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return string(out)
}

// TestCopies: with -snapshot and -commit the directory stays as it is, and -export makes a patch, a
// branch or changes of the directory of what the agent did.
func TestCopies(t *testing.T) {
	box, err := sandbox.Local(t.Context(), sandbox.Config{Dir: t.TempDir()})
	if err != nil {
		t.Skipf("no sandbox on this host: %v", err)
	}
	box.Close()
	patch := filepath.Join(t.TempDir(), "out.patch")
	for how, want := range map[string]string{"dir": "exported to the directory", "patch=" + patch: "git apply", "branch=agent/one": "the branch agent/one", "drop": "Done."} {
		dir := repo(t)
		srv := offer(t, agenttest.Script(agenttest.Call("c1", "shell", `{"command":"echo two >>a.txt"}`), agenttest.Text("Done.")))
		o := options{dir: dir, state: t.TempDir(), model: "m", baseURL: srv.URL + "/v1", prompt: "go", export: how}
		if o.snapshot = how == "dir"; !o.snapshot {
			o.commit = "HEAD"
		}
		if got := runPlain(t, o); !strings.Contains(got, want) {
			t.Errorf("-export %s: the output lacks %q:\n%s", how, want, got)
		}
		data, err := os.ReadFile(filepath.Join(dir, "a.txt"))
		if changed := string(data) == "one\ntwo\n"; err != nil || changed != (how == "dir") {
			t.Errorf("-export %s: the directory has %q, %v", how, data, err)
		}
		if strings.HasPrefix(how, "branch") && git(t, dir, "show", "agent/one:a.txt") != "one\ntwo\n" {
			t.Error("the branch lacks the change")
		}
	}
	if data, err := os.ReadFile(patch); err != nil || !strings.Contains(string(data), "+two") {
		t.Errorf("patch %q, %v", data, err)
	}
}

// TestExec: with -exec the agent works on the other side of a command.
func TestExec(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	dir := repo(t)
	srv := offer(t, agenttest.Script(agenttest.Call("c1", "shell", `{"command":"echo two >>a.txt; pwd"}`), agenttest.Text("Done.")))
	o := options{state: t.TempDir(), model: "m", baseURL: srv.URL + "/v1", prompt: "go"}
	o.exec = "'" + os.Args[0] + "' toolhost -root '" + dir + "'"
	box, err := sandbox.Local(t.Context(), sandbox.Config{Dir: dir})
	if err != nil {
		t.Skipf("no sandbox on this host: %v", err)
	}
	box.Close()
	got := runPlain(t, o)
	if data, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(data) != "one\ntwo\n" {
		t.Errorf("the directory has %q, %v\n%s", data, err, got)
	}
}

// TestWorkspaceFlags: flags that contradict each other are errors that say what to do.
func TestWorkspaceFlags(t *testing.T) {
	for _, c := range []struct {
		o    options
		want string
	}{
		{options{snapshot: true, commit: "HEAD"}, "give one of them"},
		{options{remote: "http://x", exec: "y"}, "give one of them"},
		{options{snapshot: true, noSandbox: true}, "-no-sandbox"},
		{options{exec: "x", unprotect: ".git"}, "coder toolhost"},
		{options{export: "dir"}, "works in place"},
		{options{exec: "x", export: "dir"}, "works in place"},
		{options{snapshot: true, prompt: "x"}, "-export"},
	} {
		if _, _, err := c.o.workspace(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
	if _, elsewhere, err := (options{}).workspace(); elsewhere || err != nil {
		t.Errorf("without flags: %t, %v", elsewhere, err)
	}
}
