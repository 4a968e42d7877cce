package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, dir string, files ...string) {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(dir, files[i])
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(files[i+1]), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestCompare checks that a change which breaks programs is found in every module, that an addition
// is none, that private packages may change, and that the changelog can announce a change.
func TestCompare(t *testing.T) {
	dir := t.TempDir()
	write(t, dir,
		"go.work", "go 1.26\n\nuse (\n\t.\n\t./far\n)\n",
		"go.mod", "module example.com/m\n\ngo 1.26\n",
		"m.go", "package m\n\ntype Config struct{ Dir string }\n\nfunc (*Config) Open() error { return nil }\n\nfunc Gone() {}\n",
		"internal/p/p.go", "package p\n\nfunc Private() {}\n",
		"examples/e/e.go", "package e\n\nfunc Shown() {}\n",
		"far/go.mod", "module example.com/m/far\n\ngo 1.26\n",
		"far/far.go", "package far\n\nfunc Away() {}\n",
		"CHANGELOG.md", "# Changelog\n\n## Unreleased\n\n## v0.1.0\n\n`Gone` is there.\n")
	git(t, dir, "init", "-q")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "x")
	commit := git(t, dir, "rev-parse", "HEAD")

	r, err := compare(dir, commit)
	if err != nil || len(r.broken)+len(r.compatible) > 0 || r.packages != 2 {
		t.Errorf("the same tree: %+v, %v", r, err)
	}
	write(t, dir,
		"m.go", "package m\n\ntype Config struct{ Dir int }\n\nfunc (*Config) Open(name string) error { return nil }\n\nfunc New() {}\n",
		"internal/p/p.go", "package p\n",
		"examples/e/e.go", "package e\n",
		"far/far.go", "package far\n\nfunc Away(int) {}\n")
	want := []string{
		"(*Config).Open: changed from func() error to func(string) error",
		"Config.Dir: changed from string to int",
		"Gone: removed",
		"Away: changed from func() to func(int)",
	}
	r, err = compare(dir, commit)
	if d := cmp.Diff(want, trimmed(r.broken)); err != nil || d != "" {
		t.Errorf("%v, broken (-want +got):\n%s", err, d)
	}
	if d := cmp.Diff([]string{"New: added"}, trimmed(r.compatible)); d != "" {
		t.Errorf("compatible (-want +got):\n%s", d)
	}
	write(t, dir, "CHANGELOG.md", "# Changelog\n\n## Unreleased\n\n- `Gone` is gone, `Config.Dir` a number, `Config.Open` takes a name, `far.Away` how far.\n")
	if r, err = compare(dir, commit); err != nil || len(r.broken) > 0 || r.announced != 4 {
		t.Errorf("announced: %+v, %v", r, err)
	}
	if _, err := compare(dir, "0123456789012345678901234567890123456789"); err == nil || !strings.Contains(err.Error(), "unshallow") {
		t.Errorf("a commit that is not there: %v", err)
	}
}

// trimmed returns changes without the package that some are printed with.
func trimmed(changes []string) []string {
	var out []string
	for _, c := range changes {
		c = strings.TrimPrefix(c, "./far.")
		out = append(out, c)
	}
	return out
}
