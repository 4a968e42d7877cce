package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
)

// attacksInPlace try to make the host's git run something later. Each leaves a trace on the host if
// it succeeds.
var attacksInPlace = map[string]string{
	"hook":               "echo evil > .git/hooks/post-checkout",
	"existing hook":      "echo evil >> .git/hooks/pre-commit",
	"config":             "printf '[core]\\n\\tfsmonitor = evil\\n' >> .git/config",
	"config by rename":   "echo evil > .git/c && mv .git/c .git/config",
	"config.worktree":    "echo evil > .git/config.worktree",
	"commondir":          "echo evil > .git/commondir",
	"info/attributes":    "mkdir -p .git/info && echo evil > .git/info/attributes",
	"another .git":       "mv .git away && mkdir .git && echo evil > .git/config",
	"removed .git":       "rm -rf .git; mkdir -p .git && echo evil > .git/config",
	"hooks moved":        "mv .git/hooks .git/h2; mkdir .git/hooks && echo evil > .git/hooks/post-merge",
	"link over":          "ln -sfn /tmp/evil .git/config",
	"hard link":          "ln .git/config evil.link && echo evil >> evil.link",
	"mode":               "chmod 777 .git/hooks/pre-commit && echo evil >> .git/hooks/pre-commit",
	"editor tasks":       "echo evil > .vscode/tasks.json",
	"agent servers":      "echo evil > .mcp.json",
	"environment":        "echo evil >> .envrc",
	"environment rename": "echo evil > e && mv e .envrc",
	"unmounted":          "umount .git 2>/dev/null; echo evil >> .git/config",
}

func workInPlace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, ".git/config", "[core]\n\tbare = false\n")
	write(t, dir, ".git/hooks/pre-commit", "#!/bin/sh\n")
	write(t, dir, ".git/HEAD", "ref: refs/heads/main\n")
	write(t, dir, ".vscode/tasks.json", "{}")
	write(t, dir, ".mcp.json", "{}")
	write(t, dir, ".envrc", "")
	write(t, dir, "code", "")
	return dir
}

func hasEvil(t *testing.T, dir string) bool {
	t.Helper()
	for name, text := range treeOf(t, dir) {
		protected := strings.HasPrefix(name, ".git/") || strings.HasPrefix(name, ".vscode/") || name == ".mcp.json" || name == ".envrc"
		if protected && strings.Contains(text, "evil") {
			return true
		}
	}
	return false
}

// TestInPlaceKeepsDirectories: what is protected below a directory cannot be exchanged by renaming
// the directory; everything else in it can be changed.
//
// Evidence: sandbox · The directory of a protected path cannot be exchanged
func TestInPlaceKeepsDirectories(t *testing.T) {
	t.Parallel()
	need(t, "git")
	for _, script := range []string{
		"mv tools away; mkdir -p tools/deep; echo evil >tools/deep/pager",
		"mv tools/deep away; mkdir -p tools/deep; echo evil >tools/deep/pager",
		"mkdir new; echo evil >new/pager; mv -T --exchange new tools/deep || mv new tools/deep/x",
		"mv nested away; mkdir -p nested/repo/.git; echo evil >nested/repo/.git/config",
		"mv nested/repo away; mkdir -p nested/repo/.git; echo evil >nested/repo/.git/config",
		"rm -r tools nested; mkdir -p tools/deep; echo evil >tools/deep/pager",
	} {
		dir := t.TempDir()
		hostScript(t, dir, "git init -q; git config core.pager tools/deep/pager; mkdir -p tools/deep nested/repo; git init -q nested/repo; echo good >tools/deep/pager; echo x >tools/f")
		sb := open(t, Config{Dir: dir})
		mustExec(t, sb, Cmd{Args: []string{"sh", "-c", script}})
		if got := read(t, filepath.Join(dir, "tools/deep/pager")); got != "good\n" {
			t.Errorf("%s: the pager is %q", script, got)
		}
		if got := read(t, filepath.Join(dir, "nested/repo/.git/config")); strings.Contains(got, "evil") {
			t.Errorf("%s: the settings of the repository are %q", script, got)
		}
		sh(t, sb, "echo y >tools/g && mkdir tools/d && mv tools/g tools/d/ && mv tools/d . && rm -r d && echo z >nested/repo/f")
	}
}

func TestInPlaceKeepsWhatTheHostExecutes(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	for name, script := range attacksInPlace {
		dir := workInPlace(t)
		sb := open(t, Config{Dir: dir})
		mustExec(t, sb, Cmd{Args: []string{"sh", "-c", script}})
		if hasEvil(t, dir) {
			t.Errorf("%s: succeeded", name)
		}
		sh(t, sb, "echo work > code; mkdir d; mv code d/")
		if name == "removed .git" || name == "unmounted" {
			continue // this control would add nothing to the others
		}
		free := workInPlace(t)
		control := open(t, Config{Dir: free, Unprotect: []string{"*"}})
		mustExec(t, control, Cmd{Args: []string{"sh", "-c", script}})
		if !hasEvil(t, free) {
			t.Errorf("%s: does not bite without protection", name)
		}
	}
}

// TestInPlaceUnprotectedGit checks that commits in place work if .git is writable, and that what
// git would run stays read-only even then.
func TestInPlaceUnprotectedGit(t *testing.T) {
	t.Parallel()
	need(t, "git")
	dir := repository(t)
	write(t, dir, ".git/hooks/keep.sample", "")
	sb := open(t, Config{Dir: dir, Unprotect: []string{".git"}})
	sh(t, sb, "git add -A && git -c user.name=n -c user.email=e commit -qm in-place && git checkout -qb other")
	for _, script := range []string{"echo x > .git/hooks/post-merge", "echo x >> .git/config", "mv .git g2", "mv .git/hooks .git/h"} {
		if exit := mustExec(t, sb, Cmd{Args: []string{"sh", "-c", script}}); exit.Success() {
			t.Errorf("%s: succeeded", script)
		}
	}
	out, err := exec.Command("git", "-c", "safe.directory=*", "-C", dir, "log", "--format=%s", "-1").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "in-place" {
		t.Errorf("%v: %s", err, out)
	}
}

// TestInPlaceProtectionFollowsNoLink checks that a link in place of something protected gives no
// access to its target.
func TestInPlaceProtectionFollowsNoLink(t *testing.T) {
	dir, secret := t.TempDir(), t.TempDir()
	write(t, secret, "key", "secret")
	if err := os.Chmod(secret, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(dir, ".idea")); err != nil {
		t.Fatal(err)
	}
	sb := open(t, Config{Dir: dir})
	if exit := mustExec(t, sb, Cmd{Args: []string{"cat", ".idea/key"}}); exit.Success() {
		t.Error("read what a link in the workspace leads to")
	}
}

func TestUnprotectNames(t *testing.T) {
	for _, name := range []string{"Makefile", "../.git", "/.git", "", ".git/"} {
		if _, err := Local(t.Context(), Config{Dir: t.TempDir(), Unprotect: []string{name}, Floor: TierNone}); err == nil || !strings.Contains(err.Error(), "Config.Unprotect") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestRepositoriesAmongPackages checks that a repository among unpacked packages is protected in
// place like any other: git, run there by the host's user or an editor, executes what its
// configuration and hooks name.
//
// Evidence: sandbox · Repositories inside node_modules are protected in place, too
func TestRepositoriesAmongPackages(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"node_modules/a/.git/config", "node_modules/@s/b/node_modules/c/.git/hooks/pre-commit", "web/node_modules/d/.git/HEAD",
		"node_modules/bare/HEAD", "node_modules/bare/objects/x", "node_modules/bare/refs/x", "node_modules/bare/config"} {
		write(t, dir, name, "x")
	}
	write(t, dir, "node_modules/linked/.git", "gitdir: ../a/.git")
	got := protectedIn(dir)
	for _, want := range []string{"node_modules/a/.git", "node_modules/@s/b/node_modules/c/.git", "web/node_modules/d/.git", "node_modules/linked/.git",
		"node_modules/bare/config"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not protected; protected are %q", want, got)
		}
	}
}

// belowPrivate makes a private directory below /opt, which commands see as a whole, with files.
func belowPrivate(t *testing.T, owner int, mode os.FileMode) string {
	t.Helper()
	private, err := os.MkdirTemp("/opt", "luthier-test-")
	if err != nil {
		t.Skipf("/opt cannot be written: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(private) })
	write(t, private, "secret", "secret\n")
	write(t, private, "a/project/f", "content\n")
	write(t, private, "a/project/deep/g", "")
	write(t, private, "a/other/h", "other\n")
	write(t, private, "a/file", "file\n")
	if os.Geteuid() == 0 {
		err := filepath.WalkDir(private, func(path string, _ os.DirEntry, err error) error {
			if err == nil {
				err = os.Lchown(path, owner, owner)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(private, mode); err != nil {
		t.Fatal(err)
	}
	return private
}

// openAnyway is open, but the place is no reason to skip the test.
func openAnyway(t *testing.T, cfg Config) Sandbox {
	t.Helper()
	open(t, Config{})
	sb, err := Local(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sb.Close() })
	return sb
}

// TestBelowPrivateDirectory: a workspace and further places work below a directory of the system
// that only its owner may pass, and nothing else of that directory is seen.
//
// Evidence: sandbox · A workspace below a private directory in /opt works
func TestBelowPrivateDirectory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		owner int
		mode  os.FileMode
	}{{0, 0o700}, {0, 0o750}, {4242, 0o700}, {0, 0o755}} {
		private := belowPrivate(t, c.owner, c.mode)
		project := private + "/a/project"
		all := Config{ReadOnly: []string{private + "/a/file"}, Writable: []string{private + "/a/other"}}
		place, snap, copied := all, all, Config{Snapshot: SnapshotDir(project), Limits: Limits{Disk: 32 << 20}}
		place.Dir, snap.Snapshot = project, SnapshotDir(project)
		for _, cfg := range []Config{place, snap, copied} {
			sb := openAnyway(t, cfg)
			got := sh(t, sb, "cat f; cat "+project+"/f; echo new > "+project+"/deep/n; cd "+project+"/deep && cat ../deep/n && pwd")
			if want := "content\ncontent\nnew\n" + project + "/deep\n"; got != want {
				t.Errorf("mode %o: got %q, want %q", c.mode, got, want)
			}
			if cfg.ReadOnly != nil {
				if got := sh(t, sb, "cat ../file; echo more >> ../other/h; tail -1 ../other/h; if echo x > ../file; then echo written; fi 2>/dev/null"); got != "file\nmore\n" {
					t.Errorf("mode %o: places beside it: %q", c.mode, got)
				}
			}
			if c.mode.Perm()&1 != 0 {
				continue
			}
			left := mustExec(t, sb, Cmd{Args: []string{"sh", "-c", "cat " + private + "/secret; touch " + private + "/x " + private + "/a/x; ls " + private}})
			if out := left.Stdout.String(); os.Geteuid() == 0 && out != "a\n" {
				t.Errorf("mode %o: seen above the workspace: %q", c.mode, out)
			}
			if strings.Contains(left.Stdout.String(), "secret") && os.Geteuid() == 0 {
				t.Errorf("mode %o: the private directory is read", c.mode)
			}
		}
		if text := read(t, filepath.Join(project, "deep/n")); text != "new\n" {
			t.Errorf("in place wrote %q", text)
		}
		for _, name := range []string{"x", "a/x"} {
			if _, err := os.Lstat(filepath.Join(private, name)); err == nil {
				t.Errorf("%s was written", name)
			}
		}
	}
}

// TestForkBelowPrivateDirectory: so do forks and sandboxes that are kept ready.
func TestForkBelowPrivateDirectory(t *testing.T) {
	tier.Normal(t)
	project := belowPrivate(t, 0, 0o700) + "/a/project"
	sb := openAnyway(t, Config{Snapshot: SnapshotDir(project)})
	sh(t, sb, "echo changed > f")
	fork, err := sb.(Forker).Fork(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer fork.Close()
	if got := sh(t, fork, "cat "+project+"/f"); got != "changed\n" {
		t.Errorf("a fork reads %q", got)
	}
	pool := newPool(t, PoolConfig{Warm: 1})
	for range 2 {
		lease := get(t, pool, SnapshotDir(project))
		if got := sh(t, lease, "cat "+project+"/f; echo x > "+project+"/deep/x; ls deep"); got != "content\ng\nx\n" {
			t.Errorf("a lease reads %q", got)
		}
		if err := lease.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestToolchainBelowPrivateDirectory: a tool chain there is granted as anywhere else.
func TestToolchainBelowPrivateDirectory(t *testing.T) {
	private := belowPrivate(t, 0, 0o700)
	t.Setenv("VIRTUAL_ENV", private+"/a/other")
	sb := openAnyway(t, Config{Dir: t.TempDir()})
	if got := sh(t, sb, "cat "+private+"/a/other/h"); got != "other\n" {
		t.Errorf("got %q", got)
	}
}

// TestForeignDirectoryInWorkspace: a directory of another user in a workspace in place does not
// keep the sandbox from opening, even with a repository in it; commands can neither read it nor put
// another in its place.
func TestForeignDirectoryInWorkspace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of another user")
	}
	dir := belowPrivate(t, 4242, 0o755) + "/a/project"
	write(t, dir, "own/.git/config", "[core]\n")
	write(t, dir, "own/sub/.git/config", "[core]\n")
	if err := os.Chmod(dir+"/own", 0o700); err != nil {
		t.Fatal(err)
	}
	sb := openAnyway(t, Config{Dir: dir})
	if got := sh(t, sb, "cat own/.git/config 2>/dev/null || echo refused; mv own away 2>/dev/null || echo stays; echo x > f"); got != "refused\nstays\n" {
		t.Errorf("got %q", got)
	}
}
