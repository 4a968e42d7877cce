package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
)

// TestHint: a command that fails at something protected in place says which field of Config lets
// it, whatever program fails. With that field it works. Other failures have no hint.
//
// Evidence: sandbox · A commit in place that fails says what would allow it
func TestHint(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	need(t, "git")
	for _, c := range []struct{ name, script, grant, unprotect string }{
		{"commit", "echo x >>a; git commit -qam two", `".git"`, ".git"},
		{"commit through a pipe", "echo x >>a; git commit -qam two 2>&1 | tail -n 1", `".git"`, ".git"},
		{"commit in a directory", "cd deep && echo x >b && git add .", `".git"`, ".git"},
		{"branch", "git checkout -q -b other", `".git"`, ".git"},
		{"tag", "git tag v1", `".git"`, ".git"},
		{"settings", "git config a.b c", `".git"`, ".git,.git/config"},
		{"nested repository", "cd nested && echo x >a && git add a", `".git"`, ".git"},
		{"removal", "rm -rf .git", `".git"`, "*"},
		{"shell", "echo x >.envrc", `".envrc"`, ".envrc"},
		{"rename", "mv .envrc moved", `".envrc"`, ".envrc"},
		{"renamed directory", "mv tools elsewhere", `"tools/hook"`, "*"},
		{"from within", "cd .vscode && echo x >tasks.json", `".vscode"`, ".vscode"},
		{"python", `python3 -c 'open(".vscode/tasks.json", "w")'`, `".vscode"`, ".vscode"},
		{"elsewhere", "touch /usr/x", "", ""},
		{"not at all", "cat missing", "", ""},
		{"only words", "echo .git, Read-only file; echo system", "", ""},
		{"success", "git status --short; git log --oneline", "", ""},
	} {
		dir := filepath.Join(t.TempDir(), "it's a project: (1)")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(c.script, "python3") {
			need(t, "python3")
		}
		hostScript(t, dir, `git init -q; git config user.name n; git config user.email e@example.com; mkdir deep .vscode tools nested
			git init -q nested; echo x >a; echo x >.envrc; echo {} >.vscode/tasks.json; echo x >tools/hook; git config core.fsmonitor tools/hook; git config core.fsmonitor ""
			git config core.pager tools/hook; git add a; git commit -qm one`)
		for _, merged := range []bool{false, true} {
			sb := open(t, Config{Dir: dir})
			exit := mustExec(t, sb, Cmd{Args: []string{"sh", "-c", c.script}, MergeStderr: merged, Limit: -1})
			if c.grant == "" && exit.Hint != "" || c.grant != "" && !strings.HasSuffix(exit.Hint, "Config.Unprotect: "+c.grant) {
				t.Errorf("%s: hint %q, want %s", c.name, exit.Hint, c.grant)
			}
		}
		if c.unprotect != "" {
			sb := open(t, Config{Dir: dir, Unprotect: strings.Split(c.unprotect, ",")})
			exit := mustExec(t, sb, Cmd{Args: []string{"sh", "-c", c.script}})
			if !exit.Success() || exit.Hint != "" {
				t.Errorf("%s, with Unprotect %s: %v, hint %q, %s", c.name, c.unprotect, exit, exit.Hint, exit.Stderr)
			}
		}
	}
}

// TestHintOfReadOnlyDir: so does a workspace that is read-only as a whole, and a denial.
func TestHintOfReadOnlyDir(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "f", "")
	exit := mustExec(t, open(t, Config{Dir: dir, ReadOnlyDir: true}), Cmd{Args: []string{"sh", "-c", "echo x >f"}})
	if !strings.Contains(exit.Hint, "Config.ReadOnlyDir") {
		t.Errorf("hint %q", exit.Hint)
	}
	write(t, dir, ".git/config", "")
	sb := open(t, Config{Dir: dir, TraceWrites: true})
	noted(t, sb)
	exit = mustExec(t, sb, Cmd{Args: []string{"sh", "-c", "echo x >.git/config"}})
	if len(exit.Denials) != 1 || exit.Denials[0].Errno != syscall.EROFS || exit.Denials[0].Grant != `Config.Unprotect: ".git"` {
		t.Errorf("denials %v", exit.Denials)
	}
}

// TestHintInPieces: a message is found however its bytes arrive, and long output without lines
// costs no memory.
func TestHintInPieces(t *testing.T) {
	message := "x\nfatal: Unable to create '/w/.git/index.lock': Read-only file system"
	w := &wall{dir: "/w", paths: []string{".git", ".git/hooks"}}
	for size := 1; size <= len(message); size++ {
		h := &hint{wall: w, cwd: "/w"}
		for at := 0; at < len(message); at += size {
			h.see(Stdout, []byte(message[at:min(at+size, len(message))]))
			h.see(Stderr, []byte("other\n"))
		}
		if got := h.text(); !strings.Contains(got, `".git"`) {
			t.Fatalf("in pieces of %d: %q", size, got)
		}
	}
	h := &hint{wall: w, cwd: "/w"}
	for range 1000 {
		h.see(Stdout, []byte(strings.Repeat("y", 10000)))
	}
	if n := len(h.begun[Stdout]); n > maxHintLine || h.text() != "" {
		t.Errorf("%d bytes are kept, hint %q", n, h.text())
	}
}

// FuzzHint: no output makes it fail, and a hint names a path of the wall.
func FuzzHint(f *testing.F) {
	for _, s := range []string{"rm: cannot remove '.git': Device or resource busy\n", "Read-only file system: '../../etc'", "/w/.git/: Read-only file system", "= ead-only file system ''"} {
		f.Add([]byte(s), ".git/hooks")
	}
	f.Fuzz(func(t *testing.T, out []byte, p string) {
		h := &hint{wall: &wall{dir: "/w", paths: []string{".git", p}}, cwd: "/w/sub"}
		h.see(Stdout, out)
		h.see(Stdout, out)
		if got := h.text(); got != "" && !strings.Contains(got, ".git") && !strings.Contains(got, p) {
			t.Errorf("hint %q", got)
		}
	})
}
