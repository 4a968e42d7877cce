//go:build unix

package coding

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// needsAsking reports whether the effects of a command line do not allow it to run by itself.
func needsAsking(w *Workspace, cmd string) bool {
	e := inside(w).shellEffects(shellIn{Command: cmd})
	return !e.IsReadOnly() || e.Flags != 0
}

// gitReads are commands that run what the configuration of a repository names, although they only
// read.
var gitReads = []string{"git status", "git diff", "git ls-files", "git describe --dirty --always", "git log -1 | cat", "timeout 5 git status", "ls && git show", "echo $(git rev-parse HEAD)", "git -C . status", "/usr/bin/git status", "command git status", "nice git status", "LC_ALL=C git status", "for i in 1 2; do git status; done"}

// TestPlantedRepository promises that git does not run by itself where the file tools can write its
// configuration: in a workspace with the files of a bare repository, and where .git leads to
// another directory of the workspace. An ordinary repository needs no question.
//
// Evidence: coding · git asks where the workspace itself may pass for a repository
func TestPlantedRepository(t *testing.T) {
	for name, c := range map[string]struct {
		files files
		asks  bool
	}{
		"bare":             {files{"HEAD": "ref: refs/heads/m\n", "config": "[core]\n", "objects/x": "", "refs/x": ""}, true},
		"without a config": {files{"HEAD": "ref: refs/heads/m\n", "objects/x": "", "refs/x": ""}, true},
		"common directory": {files{"HEAD": "ref: refs/heads/m\n", "commondir": "c\n", "c/objects/x": "", "c/refs/x": ""}, true},
		"next to .git":     {files{".git/HEAD": "", "HEAD": "ref: refs/heads/m\n", "objects/x": "", "refs/x": ""}, true},
		"a .git file":      {files{".git": "gitdir: .bare\n", ".bare/HEAD": ""}, true},
		"a .git file, ./":  {files{".git": "gitdir: ./a/../b\n", "b/HEAD": ""}, true},
		"plain":            {files{"a.txt": "x"}, false},
		"repository":       {files{".git/HEAD": "ref: refs/heads/m\n", ".git/objects/x": "", ".git/refs/x": ""}, false},
		"a file HEAD":      {files{"HEAD": "x", "objects.go": "x", "refs/a": "x"}, false},
		"a worktree":       {files{".git": "gitdir: /elsewhere/.git/worktrees/w\n"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := openWith(t, Config{}, c.files)
			for _, cmd := range gitReads {
				if got := needsAsking(w, cmd); got != c.asks {
					t.Errorf("%q: asked = %v, want %v: %v", cmd, got, c.asks, inside(w).shellEffects(shellIn{Command: cmd}).Reasons)
				}
			}
			if needsAsking(w, "ls") {
				t.Error("ls is asked about")
			}
		})
	}
	t.Run("a link", func(t *testing.T) {
		w := openWith(t, Config{}, files{"elsewhere/HEAD": ""})
		if err := os.Symlink("elsewhere", filepath.Join(w.name, ".git")); err != nil {
			t.Skip(err)
		}
		if !needsAsking(w, "git status") {
			t.Error("git status runs with the configuration of a directory that the tools can write")
		}
	})
}

// TestPlantedRepositoryIsReal promises that the files refused above are really taken for a
// repository by the installed git.
func TestPlantedRepositoryIsReal(t *testing.T) {
	needProgram(t, "git")
	w := openWith(t, Config{}, files{"HEAD": "ref: refs/heads/m\n", "objects/x": "", "refs/x": "", "config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = \"touch ran; false\"\n"})
	cmd := exec.Command("git", "status")
	cmd.Dir, cmd.Env = w.name, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(w.name))
	out, _ := cmd.CombinedOutput()
	if _, err := os.Lstat(filepath.Join(w.name, "ran")); err != nil {
		t.Logf("this git does not run it: %s", out)
	}
	if !needsAsking(w, "git status") {
		t.Error("git status is not asked about")
	}
}

// TestOtherToolchain promises that go does not run by itself where go.mod or go.work asks for a
// toolchain that it would download and run, and needs no question elsewhere.
//
// Evidence: coding · go asks where a go.mod could make it download another toolchain
func TestOtherToolchain(t *testing.T) {
	needProgram(t, "go")
	if installedGo() == "" {
		t.Skip("the installed go does not say its version in a file")
	}
	for name, c := range map[string]struct {
		files files
		asks  bool
	}{
		"newer go":        {files{"go.mod": "module x\n\ngo 1.99.0\n"}, true},
		"newer toolchain": {files{"go.mod": "module x\n\ngo 1.21\n\ntoolchain go1.99.0\n"}, true},
		"custom":          {files{"go.mod": "module x\ntoolchain go1.99-custom // x\n"}, true},
		"nonsense":        {files{"go.mod": "module x\ngo one\n"}, true},
		"indented":        {files{"go.mod": "module x\n \tgo\t1.99.0\n"}, true},
		"workspace":       {files{"go.mod": "module x\n\ngo 1.21\n", "go.work": "go 1.99.0\n"}, true},
		"older":           {files{"go.mod": "module x\n\ngo 1.21\n\ntoolchain go1.21.3\n"}, false},
		"installed":       {files{"go.mod": "module x\n\ngo " + strings.TrimPrefix(installedGo(), "go") + "\n"}, false},
		"none":            {files{"a.go": "package a\n"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := openWith(t, Config{}, c.files)
			for _, cmd := range []string{"go version", "go env GOPATH", "go version -m a", "/usr/bin/go version", "ls | (go env)"} {
				if got := needsAsking(w, cmd); got != c.asks {
					t.Errorf("%q: asked = %v, want %v", cmd, got, c.asks)
				}
			}
		})
	}
	w := openWith(t, Config{}, files{"sub/go.mod": "module x\ngo 1.99.0\n"})
	if !needsAsking(w, "cd sub && go version") || needsAsking(w, "go version") {
		t.Error("the go.mod of another directory decides")
	}
	fifo := filepath.Join(w.name, "go.mod")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	if !needsAsking(w, "go version") {
		t.Error("a go.mod that is a FIFO is not asked about")
	}
}

// TestOptionNames promises that a wildcard at the beginning of a word needs a question where a file
// name would become an option that reads elsewhere, and only there.
//
// Evidence: coding · A wildcard that may become an option is asked about
func TestOptionNames(t *testing.T) {
	cmds := []string{"wc -l *", "du -s *", "md5sum *", "for f in *; do wc -l $f; done", "cat *"}
	for name, asks := range map[string]bool{"--files0-from=list": true, "-c": true, "x --files0-from=list": true, "plain.txt": false, "a-b": false, "a - b": true} {
		w := openWith(t, Config{}, files{name: "x", "f": "x"})
		for _, cmd := range cmds {
			if got := needsAsking(w, cmd); got != asks {
				t.Errorf("%q next to %q: asked = %v, want %v", cmd, name, got, asks)
			}
		}
		if needsAsking(w, "wc -l ./*") || needsAsking(w, "wc -l f") {
			t.Errorf("a wildcard that begins with a name is asked about next to %q", name)
		}
	}
}
