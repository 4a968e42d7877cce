package sandbox

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func dryRun(t testing.TB, sb Sandbox, script string) *Trial {
	t.Helper()
	trial, err := sb.(DryRunner).DryRun(t.Context(), Cmd{Args: []string{"sh", "-c", script}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := trial.Drop(); err != nil {
			t.Error(err)
		}
	})
	return trial
}

// Evidence: sandbox · A dry run reports what a command would change
func TestDryRun(t *testing.T) {
	t.Parallel()
	tiers(t, func(t *testing.T, cfg Config) {
		dir := t.TempDir()
		write(t, dir, "f", "1\n")
		cfg.Snapshot = SnapshotDir(dir)
		sb := open(t, cfg)
		sh(t, sb, "echo earlier > e")
		trial := dryRun(t, sb, "echo 2 > f; rm e; echo said; exit 3")
		if trial.Exit.Code != 3 || trial.Exit.Stdout.String() != "said\n" {
			t.Errorf("%v %q", trial.Exit, trial.Exit.Stdout)
		}
		if len(trial.Changes) != 2 || trial.Changes[0].Kind != Deleted || trial.Changes[1].Kind != Modified {
			t.Errorf("changes %v", trial.Changes)
		}
		var b strings.Builder
		if err := trial.Diff(t.Context(), &b); err != nil || !strings.Contains(b.String(), "-1\n+2\n") || !strings.Contains(b.String(), "-earlier\n") {
			t.Errorf("%v: %s", err, b.String())
		}
		if got := sh(t, sb, "cat f e"); got != "1\nearlier\n" {
			t.Errorf("before commit: %q", got)
		}
		if err := trial.Commit(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if got := sh(t, sb, "cat f; ls"); got != "2\nf\n" {
			t.Errorf("after commit: %q", got)
		}
		dropped := dryRun(t, sb, "echo 3 > f")
		if err := dropped.Drop(); err != nil {
			t.Fatal(err)
		}
		late := dryRun(t, sb, "echo 4 > f")
		sh(t, sb, "echo mine > f")
		if err := late.Commit(t.Context(), nil); !errors.Is(err, ErrConflict) {
			t.Errorf("the workspace has changed, but commit says %v", err)
		}
		if got := sh(t, sb, "cat f"); got != "mine\n" {
			t.Errorf("got %q", got)
		}
	})
}

func TestDryRunInPlace(t *testing.T) {
	t.Parallel()
	tiers(t, func(t *testing.T, cfg Config) {
		dir := t.TempDir()
		write(t, dir, "f", "1\n")
		cfg.Dir = dir
		sb := open(t, cfg)
		trial := dryRun(t, sb, "echo 2 > f; echo x > .envrc")
		if d := cmp.Diff(map[string]string{"f": "1\n"}, treeOf(t, dir)); d != "" {
			t.Fatal(d)
		}
		var refused *ReviewError
		if err := trial.Commit(t.Context(), nil); !errors.As(err, &refused) || refused.Findings[0].Path != ".envrc" {
			t.Fatalf("commit: %v", err)
		}
		if err := trial.Commit(t.Context(), func(f Finding) bool { return f.Path == ".envrc" }); err != nil {
			t.Fatal(err)
		}
		if got := read(t, filepath.Join(dir, "f")); got != "2\n" {
			t.Errorf("got %q", got)
		}
	})
}
