package gitlog_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval/internal/gitlog"
)

// TestHostileRepositories opens repositories that try to run a program, and checks that none runs.
// If plain git can trigger the trap, the test first verifies that it does, so that it really tests
// something.
func TestHostileRepositories(t *testing.T) {
	tier.Normal(t)
	if runtime.GOOS == "windows" {
		t.Skip("the traps are shell scripts")
	}
	base := newRepo(t)
	base.commit("one", files{"a": "1"})
	base.commit("two", files{"a": "2"})
	base.commit("three", files{"a": "3"})
	for _, tt := range []struct {
		name string
		// set sets the trap; the script writes the mark.
		set func(t *testing.T, r *repo, script string)
		env func(script string) []string
		// springs is a git command that triggers the trap if plain git runs it.
		springs []string
	}{
		{name: "core.fsmonitor", springs: []string{"status"}, set: config("core.fsmonitor", "SCRIPT")},
		// Git starts a pager only on a terminal.
		{name: "core.pager", set: both(config("core.pager", "SCRIPT"), config("pager.log", "SCRIPT"))},
		{name: "diff.external", springs: []string{"log", "-p", "--ext-diff"}, set: config("diff.external", "SCRIPT")},
		{name: "GIT_EXTERNAL_DIFF", springs: []string{"diff", "HEAD~1"},
			env: func(s string) []string { return []string{"GIT_EXTERNAL_DIFF=" + s} }},
		{name: "textconv", springs: []string{"log", "-p"}, set: both(config("diff.x.textconv", "SCRIPT"),
			attribute("* diff=x"))},
		{name: "diff driver", springs: []string{"log", "-p", "--ext-diff"}, set: both(config("diff.x.command", "SCRIPT"),
			attribute("* diff=x"))},
		{name: "filter", springs: []string{"add", "--renormalize", "."}, set: both(config("filter.x.clean", "SCRIPT"),
			attribute("* filter=x"))},
		{name: "alias", springs: []string{"trap"}, set: both(config("alias.trap", "!SCRIPT"), config("alias.log", "!SCRIPT"))},
		{name: "signatures", springs: []string{"log"}, set: func(t *testing.T, r *repo, script string) {
			r.git("config", "log.showSignature", "true")
			r.git("config", "gpg.program", script)
			signed := r.git("cat-file", "commit", "HEAD")
			head, body, _ := strings.Cut(signed, "\n\n")
			signed = head + "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n" + body + "\n"
			r.git("reset", "-q", "--soft", r.gitInput([]byte(signed), "hash-object", "-t", "commit", "-w", "--stdin"))
		}},
		{name: "fetch of what a partial clone lacks", springs: []string{"log", "--raw"},
			set: func(t *testing.T, r *repo, script string) {
				r.git("config", "core.repositoryformatversion", "1")
				r.git("config", "extensions.partialClone", "origin")
				r.git("config", "remote.origin.promisor", "true")
				r.git("config", "remote.origin.url", "file://"+r.dir)
				r.git("config", "remote.origin.uploadpack", script)
				removeObject(t, r, r.git("rev-parse", "HEAD~2^{tree}"))
			}},
		{name: "an included configuration", springs: []string{"status"}, set: func(t *testing.T, r *repo, script string) {
			path := filepath.Join(t.TempDir(), "config")
			if err := os.WriteFile(path, []byte("[core]\n\tfsmonitor = "+script+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			r.git("config", "include.path", path)
		}},
		{name: "configuration by environment", springs: []string{"status"}, env: func(s string) []string {
			return []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=" + s}
		}},
		{name: "another repository by environment", springs: []string{"status"}, env: func(s string) []string {
			evil := filepath.Join(filepath.Dir(s), "evil")
			_ = exec.Command("git", "init", "-q", evil).Run()
			_ = exec.Command("git", "-C", evil, "config", "core.fsmonitor", s).Run()
			return []string{"GIT_DIR=" + filepath.Join(evil, ".git")}
		}},
		{name: "trace into a file", springs: []string{"status"}, env: func(s string) []string {
			return []string{"GIT_TRACE=" + filepath.Join(filepath.Dir(s), "mark")}
		}},
		{name: "hooks", springs: []string{"commit", "-q", "--allow-empty", "-m", "x"},
			set: func(t *testing.T, r *repo, script string) {
				for _, hook := range []string{"pre-commit", "post-index-change", "reference-transaction"} {
					copyFile(t, script, filepath.Join(r.dir, ".git", "hooks", hook))
				}
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.env == nil {
				t.Parallel()
			}
			r := base.copy(t)
			traps := t.TempDir()
			script, mark := filepath.Join(traps, "script"), filepath.Join(traps, "mark")
			text := "#!/bin/sh\necho ran >> '" + mark + "'\n"
			if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
			if tt.set != nil {
				tt.set(t, r, script)
			}
			if tt.env != nil {
				for _, kv := range tt.env(script) {
					k, v, _ := strings.Cut(kv, "=")
					t.Setenv(k, v)
				}
			}
			if tt.springs != nil {
				trapSprings(t, r, tt.springs, mark)
			}
			for _, o := range []gitlog.Options{{}, {Head: "main"}, {NoGit: true}} {
				l := open(t, r.dir, o)
				if _, err := os.Stat(mark); err == nil {
					t.Fatalf("opening with %+v ran the program", o)
				}
				if l.Len() == 0 {
					t.Errorf("nothing was read with %+v: %+v", o, l.Status())
				}
			}
		})
	}
}

// trapSprings runs plain git on a copy and checks that it wrote the mark.
func trapSprings(t *testing.T, r *repo, args []string, mark string) {
	t.Helper()
	cp := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(cp, os.DirFS(r.dir)); err != nil {
		t.Fatal(err)
	}
	for _, hook := range []string{"pre-commit", "post-index-change", "reference-transaction"} {
		_ = os.Chmod(filepath.Join(cp, ".git", "hooks", hook), 0o755)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.WaitDelay = cp, time.Second
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@a", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@a")
	out, _ := cmd.CombinedOutput()
	if _, err := os.Stat(mark); err != nil {
		t.Fatalf("the trap does not spring with git %v, so it tests nothing: %s", args, out)
	}
	if err := os.Remove(mark); err != nil {
		t.Fatal(err)
	}
}

type setter = func(t *testing.T, r *repo, script string)

func config(key, value string) setter {
	return func(_ *testing.T, r *repo, script string) {
		r.git("config", key, strings.ReplaceAll(value, "SCRIPT", script))
	}
}

func attribute(line string) setter {
	return func(_ *testing.T, r *repo, _ string) {
		r.commit("attributes", files{".gitattributes": line + "\n", "a": "4"})
	}
}

func both(a, b setter) setter {
	return func(t *testing.T, r *repo, script string) {
		b(t, r, script)
		a(t, r, script)
	}
}

func copyFile(t *testing.T, from, to string) {
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestReplacementsDoNotCount checks that a repository's replacement refs, which substitute one
// commit for another, have no effect.
func TestReplacementsDoNotCount(t *testing.T) {
	t.Parallel()
	r := three(t)
	want := ids(open(t, r.dir, gitlog.Options{}))
	other := newRepo(t)
	other.commit("forged", files{"forged": "1"})
	forged := r.gitInput([]byte(other.git("cat-file", "commit", "HEAD")+"\n"), "hash-object", "-t", "commit", "-w", "--stdin")
	r.git("replace", "HEAD~1", forged)
	grafts := filepath.Join(r.dir, ".git", "info", "grafts")
	if err := os.WriteFile(grafts, []byte(want[0]+" "+forged+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := r.git("log", "--format=%H"); !strings.Contains(out, forged) {
		t.Fatalf("git itself does not fall for it, so this tests nothing: %s", out)
	}
	for _, o := range []gitlog.Options{{}, {NoGit: true}} {
		if got := ids(open(t, r.dir, o)); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("commits %v, want %v", got, want)
		}
	}
}

// TestPipes checks that named pipes, which would block when opened, are not opened.
func TestPipes(t *testing.T) {
	for _, name := range []string{"HEAD", "packed-refs", "shallow", "commondir", "refs/heads/main", "config"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := three(t)
			path := filepath.Join(r.dir, ".git", filepath.FromSlash(name))
			_ = os.Remove(path)
			if !makePipe(path) {
				t.Skip("no named pipes here")
			}
			open(t, r.dir, gitlog.Options{})
		})
	}
}
