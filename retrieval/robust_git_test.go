package retrieval_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval"
)

// lampRepo returns a new repository in which only the log connects a lamp with two.go. The first
// one is created with git; the others are copies of it.
var lampRepo = func() func(testing.TB) string {
	var once sync.Once
	files := fstest.MapFS{}
	return func(t testing.TB) string {
		t.Helper()
		once.Do(func() { readTree(t, makeLampRepo(t), files) })
		dir := t.TempDir()
		if err := os.CopyFS(dir, files); err != nil {
			t.Fatal(err)
		}
		return dir
	}
}()

// readTree reads a directory into memory.
func readTree(t testing.TB, dir string, into fstest.MapFS) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		name, _ := filepath.Rel(dir, p)
		f := &fstest.MapFile{Mode: d.Type() | 0o755}
		if !d.IsDir() {
			f.Mode = 0o644
			f.Data, err = os.ReadFile(p)
		}
		into[filepath.ToSlash(name)] = f
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func makeLampRepo(t testing.TB) string {
	t.Helper()
	dir := tree(t, map[string]string{"one.go": "package p\n\nfunc alpha() {}\n", "two.go": "package p\n\nfunc beta() {}\n"})
	git(t, dir, "init", "-q", "-b", "main", "--template=")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "start")
	for i, message := range []string{"Dim the lamp", "Avoid the flicker of the lamp at dawn"} {
		put(t, dir, "two.go", fmt.Sprintf("package p\n\nfunc beta() { println(%d) }\n", i))
		git(t, dir, "commit", "-qam", message)
	}
	return dir
}

// lampFound checks that the given number of commits was read from the log, and that a search for
// words works in every case.
func lampFound(t testing.TB, x *retrieval.Index, commits int) {
	t.Helper()
	s := x.Status()
	if s.Commits != commits {
		t.Errorf("%d commits, want %d:\n%v", s.Commits, commits, s)
	}
	if commits > 1 {
		if got := first(t, x, "the lamp flickers at dawn again"); got != "two.go" {
			t.Errorf("by the log found %q\n%v", got, s)
		}
	}
	if got := filesFor(t, x, "alpha"); len(got) != 1 || got[0] != "one.go" {
		t.Errorf("by words found %q\n%v", got, s)
	}
}

// TestWithoutGit opens repositories on a system without a git program.
func TestWithoutGit(t *testing.T) {
	dir := lampRepo(t)
	t.Setenv("PATH", t.TempDir())
	x := open(t, dir, retrieval.Config{})
	lampFound(t, x, 3)
	if h := x.Status().History; !strings.Contains(h, "without the git program") {
		t.Errorf("history: %s", h)
	}
}

// TestGitThatFails uses git programs that only fail, print nonsense, or hang at the end of their
// output.
func TestGitThatFails(t *testing.T) {
	tier.Normal(t)
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip(err)
	}
	for name, script := range map[string]string{"fails": "exit 3", "nonsense": "head -c 100000 /dev/urandom", "silent": "exit 0"} {
		t.Run(name, func(t *testing.T) {
			dir := lampRepo(t)
			bin := t.TempDir()
			if err := os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			x := open(t, dir, retrieval.Config{})
			s := x.Status()
			if s.Commits != 3 && (s.History == "" || strings.HasPrefix(s.History, "3 commits")) {
				t.Errorf("status says %q of %d commits", s.History, s.Commits)
			}
			if got := filesFor(t, x, "alpha"); len(got) != 1 {
				t.Errorf("found %v", got)
			}
			t.Log(s.History)
		})
	}
}

// TestBrokenRepository opens work trees with repositories that are damaged in several ways.
//
// Evidence: retrieval · A damaged repository can still be searched
func TestBrokenRepository(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	remove := func(names ...string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			for _, n := range names {
				if err := os.RemoveAll(filepath.Join(dir, ".git", n)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	write := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			os.Remove(filepath.Join(dir, name))
			put(t, dir, name, text)
		}
	}
	for name, c := range map[string]struct {
		hurt func(*testing.T, string)
		says string // a part of Status.History
	}{
		"HEAD gone":          {remove("HEAD"), "repository"},
		"HEAD nonsense":      {write(".git/HEAD", "\x00\x01 what"), ""},
		"HEAD endless":       {write(".git/HEAD", strings.Repeat("ref: ", 1<<20)), ""},
		"objects gone":       {remove("objects"), ""},
		"branch gone":        {remove("refs/heads/main", "packed-refs", "logs"), ""},
		"branch nonsense":    {write(".git/refs/heads/main", strings.Repeat("f", 40)+"\n"), ""},
		"config nonsense":    {write(".git/config", "[core\nx = \x00"), ""},
		"config of tomorrow": {write(".git/config", "[core]\nrepositoryformatversion = 99\n"), ""},
		"git is empty":       {func(t *testing.T, dir string) { remove("")(t, dir); os.Mkdir(filepath.Join(dir, ".git"), 0o755) }, "repository"},
		"git is a file":      {func(t *testing.T, dir string) { remove("")(t, dir); put(t, dir, ".git", "gitdir: /nowhere/at/all\n") }, "nowhere"},
		"git points to self": {func(t *testing.T, dir string) { remove("")(t, dir); put(t, dir, ".git", "gitdir: .git\n") }, ""},
		"git is a link loop": {func(t *testing.T, dir string) { remove("")(t, dir); os.Symlink(".git", filepath.Join(dir, ".git")) }, ""},
		"alternates to self": {write(".git/objects/info/alternates", "../objects\n"), ""},
		"object cut": {func(t *testing.T, dir string) {
			out, err := exec.Command("git", "-C", dir, "rev-parse", "HEAD~1").Output()
			if err != nil {
				t.Fatal(err)
			}
			id := strings.TrimSpace(string(out))
			obj := filepath.Join(dir, ".git/objects", id[:2], id[2:])
			if err := os.Chmod(obj, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(obj, 10); err != nil {
				t.Fatal(err)
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := lampRepo(t)
			c.hurt(t, dir)
			x := open(t, dir, retrieval.Config{})
			if got := filesFor(t, x, "alpha"); len(got) != 1 || got[0] != "one.go" {
				t.Errorf("found %q", got)
			}
			s := x.Status()
			t.Log(s.Commits, s.History)
			if s.Commits < 3 && strings.HasPrefix(s.History, fmt.Sprint(s.Commits, " commits")) && !strings.Contains(s.History, ";") {
				t.Errorf("status calls it whole: %s", s.History)
			}
			if !strings.Contains(s.History, c.says) {
				t.Errorf("status says %q, not %q", s.History, c.says)
			}
		})
	}
}

// TestKindsOfRepositories opens a shallow clone, a linked work tree, a submodule, a directory
// inside a repository, and a bare repository.
func TestKindsOfRepositories(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	src := lampRepo(t)
	top := t.TempDir()
	shallow := filepath.Join(top, "shallow")
	git(t, top, "clone", "-q", "--depth", "1", "file://"+filepath.ToSlash(src), shallow)
	x := open(t, shallow, retrieval.Config{})
	if s := x.Status(); s.Commits != 1 || !strings.Contains(s.History, "shallow") {
		t.Errorf("shallow clone: %s", s.History)
	}
	lampFound(t, x, 1)

	worktree := filepath.Join(top, "worktree")
	git(t, src, "worktree", "add", "-q", "-b", "side", worktree)
	lampFound(t, open(t, worktree, retrieval.Config{}), 3)

	super := tree(t, map[string]string{"main.go": "package main\n"})
	git(t, super, "init", "-q")
	git(t, super, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", src, "sub")
	git(t, super, "add", ".")
	git(t, super, "commit", "-qm", "with a submodule")
	lampFound(t, open(t, filepath.Join(super, "sub"), retrieval.Config{}), 3)
	y := open(t, super, retrieval.Config{})
	if got := filesFor(t, y, "alpha"); len(got) != 1 || got[0] != "sub/one.go" {
		t.Errorf("in the submodule found %v", got)
	}
	// A work tree inside the tree holds the same code again, and is left out.
	git(t, src, "worktree", "add", "-q", "-b", "inner", filepath.Join(src, "inner"))
	z := open(t, src, retrieval.Config{})
	if got := skipped(z.Status(), "inner"); got != "another work tree" {
		t.Errorf("inner work tree is skipped as %q", got)
	}
	lampFound(t, z, 3)

	below := filepath.Join(src, "below")
	put(t, below, "three.go", "package below\n\n// gamma rays\nfunc gamma() {}\n")
	git(t, src, "add", "below")
	git(t, src, "commit", "-qm", "Candles for emergencies")
	b := open(t, below, retrieval.Config{})
	if got := first(t, b, "candles in emergencies"); got != "three.go" {
		t.Errorf("below the root of a repository by the log found %q\n%v", got, b.Status())
	}

	bare := filepath.Join(top, "bare.git")
	git(t, top, "clone", "-q", "--bare", src, bare)
	c := open(t, bare, retrieval.Config{})
	if _, err := c.Search(t.Context(), retrieval.Query{Text: "the lamp flickers"}); err != nil {
		t.Errorf("bare repository: %v", err)
	}
	if got := grepped(t, c, retrieval.GrepQuery{Pattern: "func alpha"}); len(got) > 0 {
		t.Errorf("bare repository: %v", got)
	}
	t.Log(c.Status())
}

// TestHostileRepository opens a repository whose configuration, hooks and attributes run a program
// in every way that git allows: none may run.
//
// Evidence: retrieval · A hostile repository runs no program
func TestHostileRepository(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip(err)
	}
	dir := lampRepo(t)
	ran := filepath.Join(t.TempDir(), "ran")
	evil := filepath.Join(t.TempDir(), "evil")
	if err := os.WriteFile(evil, fmt.Appendf(nil, "#!/bin/sh\necho \"$0 $@\" >> %s\n", ran), 0o755); err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{
		"core.fsmonitor": evil, "core.sshCommand": evil, "core.pager": evil, "core.editor": evil, "core.askPass": evil, "core.gitProxy": evil,
		"core.alternateRefsCommand": evil, "core.hooksPath": filepath.Dir(evil), "diff.external": evil, "diff.x.textconv": evil, "diff.x.command": evil,
		"filter.x.clean": evil, "filter.x.smudge": evil, "filter.x.process": evil, "merge.x.driver": evil, "pager.log": evil, "pager.rev-list": evil, "pager.cat-file": evil,
		"alias.log": "!" + evil, "alias.rev-list": "!" + evil, "gpg.program": evil, "log.showSignature": "true", "credential.helper": evil, "interactive.diffFilter": evil,
		"extensions.partialClone": "origin", "remote.origin.promisor": "true", "remote.origin.url": "ext::" + evil, "protocol.ext.allow": "always", "remote.origin.uploadpack": evil,
		"trailer.x.command": evil, "uploadpack.packObjectsHook": evil, "gc.auto": "1", "maintenance.auto": "true",
	} {
		git(t, dir, "config", k, v)
	}
	put(t, dir, ".git/info/attributes", "* diff=x filter=x merge=x\n")
	put(t, dir, ".gitattributes", "* diff=x filter=x merge=x\n")
	for _, h := range []string{"post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout"} {
		copyScript(t, evil, filepath.Join(dir, ".git/hooks", h))
	}
	// An object is missing, which git would request from a promisor remote.
	out, err := exec.Command("git", "--git-dir", filepath.Join(dir, ".git"), "-c", "core.fsmonitor=", "rev-parse", "HEAD~1^{tree}").Output()
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(string(out))
	os.Remove(filepath.Join(dir, ".git/objects", id[:2], id[2:]))
	os.Remove(ran) // created by the git commands of this test
	path := os.Getenv("PATH")
	for _, noGit := range []bool{false, true} {
		if noGit {
			t.Setenv("PATH", t.TempDir())
		}
		x := open(t, dir, retrieval.Config{Watch: true})
		if got := filesFor(t, x, "alpha"); len(got) != 1 {
			t.Errorf("found %v", got)
		}
		if err := x.Update(t.Context()); err != nil {
			t.Error(err)
		}
		if err := x.Update(t.Context(), "one.go", ".gitattributes"); err != nil {
			t.Error(err)
		}
		t.Log(x.Status().Commits, x.Status().History)
	}
	if text, err := os.ReadFile(ran); err == nil {
		t.Errorf("the repository ran a program:\n%s", text)
	}
	// Check that the trap works: plain git must run the program.
	t.Setenv("PATH", path)
	exec.Command("git", "-C", dir, "status").Run()
	if _, err := os.Stat(ran); err != nil {
		t.Error("this repository is harmless, the test shows nothing")
	}
}

func copyScript(t testing.TB, from, to string) {
	t.Helper()
	raw, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Dir(to), filepath.Base(to), string(raw))
	if err := os.Chmod(to, 0o755); err != nil {
		t.Fatal(err)
	}
}
