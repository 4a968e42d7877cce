package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/tier"
)

func TestSnapshotIsNeverChanged(t *testing.T) {
	t.Parallel()
	tiers(t, func(t *testing.T, cfg Config) {
		dir := t.TempDir()
		write(t, dir, "keep", "k")
		write(t, dir, "edit", "old")
		write(t, dir, "gone", "g")
		write(t, dir, "dir/deep/file", "d")
		write(t, dir, "swap/file", "s")
		write(t, dir, "empty/x", "x")
		write(t, dir, "touched", "same")
		if err := os.Symlink("keep", filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		before := treeOf(t, dir)
		cfg.Snapshot = SnapshotDir(dir)
		sb := open(t, cfg)
		sh(t, sb, `set -e
			echo new > edit; rm gone; rm -r dir; echo n > new; mkdir -p a/b; echo c > a/b/c
			rm -r swap; echo f > swap; ln -sf edit link; chmod +x keep; rm -r empty; mkdir empty; echo y > empty/y; touch touched`)
		if d := cmp.Diff(before, treeOf(t, dir)); d != "" {
			t.Errorf("the original changed: %s", d)
		}
		changes, err := sb.(Differ).Changes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]ChangeKind{}
		for i, c := range changes {
			got[c.Path] = c.Kind
			if i > 0 && changes[i-1].Path >= c.Path {
				t.Errorf("not in order: %q, %q", changes[i-1].Path, c.Path)
			}
		}
		want := map[string]ChangeKind{
			"a": Added, "a/b": Added, "a/b/c": Added, "new": Added, "edit": Modified, "keep": Modified, "link": Modified,
			"gone": Deleted, "dir": Deleted, "dir/deep": Deleted, "dir/deep/file": Deleted,
			"swap": Modified, "swap/file": Deleted, "empty/x": Deleted, "empty/y": Added,
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		// The next sandbox starts from the snapshot again.
		if again := open(t, cfg); sh(t, again, "cat edit") != "old" {
			t.Error("changes of one sandbox show in another")
		}
	})
}

// TestWorkspaceIsShared checks that commands of one sandbox see each other's changes, even when
// they run at the same time.
func TestWorkspaceIsShared(t *testing.T) {
	tiers(t, func(t *testing.T, cfg Config) {
		dir := t.TempDir()
		write(t, dir, "f", "1")
		cfg.Snapshot = SnapshotDir(dir)
		sb := open(t, cfg)
		p, err := sb.Start(t.Context(), Cmd{Args: []string{"sh", "-c", "while [ ! -e stop ]; do sleep 0.01; done; cat stop"}})
		if err != nil {
			t.Fatal(err)
		}
		sh(t, sb, "echo seen > stop.tmp && mv stop.tmp stop; echo t > $TMPDIR/t")
		if exit, err := p.Wait(); err != nil || exit.Stdout.String() != "seen\n" {
			t.Errorf("%v, %v", exit, err)
		}
		if got := sh(t, sb, "cat stop $TMPDIR/t"); got != "seen\nt\n" {
			t.Errorf("got %q", got)
		}
	})
}

func TestInPlaceHasNoChanges(t *testing.T) {
	sb := open(t, plain())
	if _, err := sb.(Differ).Changes(t.Context()); !errors.Is(err, ErrInPlace) {
		t.Errorf("error %v", err)
	}
}

// repository makes a git repository with two commits and returns its directory.
func repository(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	repo, err := git.PlainInit(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	wt, err := repo.Worktree()
	if err != nil {
		t.Fatal(err)
	}
	commit := func() {
		t.Helper()
		if err := wt.AddWithOptions(&git.AddOptions{All: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := wt.Commit("c", &git.CommitOptions{Author: signature()}); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir, "file", "first")
	write(t, dir, "sub/run.sh", "#!/bin/sh\necho ran\n")
	if err := errors.Join(os.Chmod(filepath.Join(dir, "sub/run.sh"), 0o755), os.Symlink("../file", filepath.Join(dir, "sub/link"))); err != nil {
		t.Fatal(err)
	}
	commit()
	write(t, dir, "file", "second")
	write(t, dir, "later", "x")
	commit()
	write(t, dir, "untracked", "not in any commit")
	return dir
}

func signature() *object.Signature {
	return &object.Signature{Name: "n", Email: "e@x", When: time.Unix(1700000000, 0)}
}

func TestCommitSnapshot(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	dir := repository(t)
	tiers(t, func(t *testing.T, cfg Config) {
		for rev, want := range map[string]string{
			"HEAD":   "file later sub\nsecond",
			"HEAD~1": "file sub\nfirst",
			"master": "file later sub\nsecond",
		} {
			cfg.Snapshot = SnapshotCommit(dir, rev)
			sb := open(t, cfg)
			if got := sh(t, sb, "echo $(ls -A); cat sub/link"); got != want {
				t.Errorf("%s: %q, want %q", rev, got, want)
			}
			if got := sh(t, sb, "sub/run.sh"); got != "ran\n" {
				t.Errorf("%s: script says %q", rev, got)
			}
			if changes, err := sb.(Differ).Changes(t.Context()); err != nil || len(changes) > 0 {
				t.Errorf("%s: untouched, but %v, %v", rev, changes, err)
			}
		}
	})
	for _, tt := range []struct{ dir, rev, text string }{
		{dir, "no-such-branch", "resolve revision"},
		{t.TempDir(), "HEAD", "open repository"},
	} {
		_, err := Local(t.Context(), Config{Snapshot: SnapshotCommit(tt.dir, tt.rev), Floor: TierNone})
		if err == nil || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s@%s: error %v, want one with %q", tt.dir, tt.rev, err, tt.text)
		}
	}
}

// TestOddNames uses names that break option strings, shells and parsers.
func TestOddNames(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	tiers(t, func(t *testing.T, cfg Config) {
		// By default every name is tried at only one of the tiers.
		step := tier.Pick(3, 2, 1)
		for i, name := range []string{"with space", "colon:comma,equals=", "new\nline", `back\slash "quote'`, "\xff\xfe not utf-8", "-dash", "ünïcödé", "%s%n", "$HOME"} {
			if (i+int(cfg.Ceiling))%step != 0 {
				continue
			}
			dir := filepath.Join(t.TempDir(), name)
			write(t, dir, name, "content")
			for _, cfg := range []Config{
				{Dir: dir, Floor: cfg.Floor, Ceiling: cfg.Ceiling},
				{Snapshot: SnapshotDir(dir), Floor: cfg.Floor, Ceiling: cfg.Ceiling},
			} {
				sb := open(t, cfg)
				exit := mustExec(t, sb, Cmd{Args: []string{"cat", "./" + name}})
				if exit.Stdout.String() != "content" {
					t.Errorf("%q: %v %s", name, exit, exit.Stderr)
				}
				if got := strings.TrimSuffix(sh(t, sb, "pwd"), "\n"); got != sb.Dir() {
					t.Errorf("%q: pwd %q, Dir %q", name, got, sb.Dir())
				}
				exit = mustExec(t, sb, Cmd{Args: []string{"touch", "./new " + name}})
				if !exit.Success() {
					t.Errorf("%q: %v %s", name, exit, exit.Stderr)
				}
			}
		}
	})
}

func TestReadOnlyWorkspace(t *testing.T) {
	t.Parallel()
	for _, tier := range []Tier{TierLandlock, TierBubblewrap, TierNamespaces} {
		t.Run(tier.String(), func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "f", "content")
			for _, cfg := range []Config{{Dir: dir}, {Snapshot: SnapshotDir(dir)}} {
				cfg.Floor, cfg.Ceiling, cfg.ReadOnlyDir = tier, tier, true
				sb := open(t, cfg)
				if got := sh(t, sb, "cat f; echo x > $TMPDIR/ok"); got != "content" {
					t.Errorf("got %q", got)
				}
				if exit := mustExec(t, sb, Cmd{Args: []string{"sh", "-c", "echo x >> f"}}); exit.Success() {
					t.Error("a read-only workspace was written")
				}
			}
		})
	}
}

func TestReadOnlyAndWritableGrants(t *testing.T) {
	for _, tier := range []Tier{TierLandlock, TierBubblewrap, TierNamespaces} {
		t.Run(tier.String(), func(t *testing.T) {
			ro, rw := t.TempDir(), t.TempDir()
			write(t, ro, "f", "r")
			if err := os.Chmod(filepath.Join(ro, "f"), 0o600); err != nil {
				t.Fatal(err)
			}
			sb := open(t, Config{Dir: t.TempDir(), ReadOnly: []string{ro}, Writable: []string{rw}, Floor: tier, Ceiling: tier})
			if got := sh(t, sb, "cat "+ro+"/f && echo w > "+rw+"/g"); got != "r" {
				t.Errorf("got %q", got)
			}
			if read(t, filepath.Join(rw, "g")) != "w\n" {
				t.Error("the writable grant did not write through")
			}
			if exit := mustExec(t, sb, Cmd{Args: []string{"touch", ro + "/new"}}); exit.Success() {
				t.Error("the read-only grant was written")
			}
		})
	}
}

func TestConfigErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, filepath.Dir(file), "file", "")
	for _, tt := range []struct {
		name string
		cfg  Config
		text string
	}{
		{"nothing", Config{}, "exactly one of Dir and Snapshot"},
		{"both", Config{Dir: ".", Snapshot: SnapshotDir(".")}, "exactly one of Dir and Snapshot"},
		{"missing directory", Config{Dir: "/no/such/dir"}, "Config.Dir"},
		{"file", Config{Dir: file}, "not a directory"},
		{"missing snapshot", Config{Snapshot: SnapshotDir("/no/such/dir")}, "Config.Snapshot"},
		{"root", Config{Dir: "/"}, "system directory"},
		{"etc", Config{Dir: "/etc"}, "system directory"},
		{"writable usr", Config{Dir: ".", Writable: []string{"/usr/lib"}}, "system directory"},
		{"read-only", Config{Dir: ".", ReadOnly: []string{"/no/such"}}, "Config.ReadOnly"},
		{"floor", Config{Dir: ".", Floor: 7}, "no tier"},
		{"ceiling", Config{Dir: ".", Ceiling: TierNone}, "below Config.Floor"},
		{"scratch in workspace", Config{Dir: filepath.Dir(file), ScratchDir: filepath.Dir(file)}, "Config.ScratchDir"},
		{"environment", Config{Dir: ".", Env: []string{"=x"}}, "KEY=value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sb, err := Local(t.Context(), tt.cfg)
			if err == nil {
				sb.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.text) || !strings.HasPrefix(err.Error(), "sandbox: open workspace: ") {
				t.Errorf("error %v, want one with %q", err, tt.text)
			}
		})
	}
}
