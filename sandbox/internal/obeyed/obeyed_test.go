package obeyed

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzFind checks that any configuration of a repository can be searched for what git executes, and
// that only paths of the workspace are named.
func FuzzFind(f *testing.F) {
	for _, s := range []string{"[core]\n\thooksPath = h\n", "[include]\n\tpath = config\n", "[alias]\n\tx = \"!\\\"$(git rev-parse --show-toplevel)/t/x\\\"\"\n",
		"[filter \"f\"]\n\tclean = ../../x ./y $HOME/z ~/a\n", "[core]\n\thooksPath = .\n\tfsmonitor = l/../../x\n"} {
		f.Add(s)
	}
	f.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(f.TempDir(), "none"))
	f.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	f.Fuzz(func(t *testing.T, config string) {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, ".git", "hooks"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("l", filepath.Join(dir, "l")); err != nil {
			t.Skip(err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".git", "config"), []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
		p := Find(dir)
		for _, rel := range p.Walls() {
			if !filepath.IsLocal(rel) || rel == "." {
				t.Errorf("%q names %q", config, rel)
			}
			if len(p.Uses(rel, nil)) == 0 && len(p.As(rel)) == 0 {
				t.Errorf("%q: %q has no use", config, rel)
			}
		}
	})
}

// TestFindDoesNotWait checks that a FIFO in place of a configuration does not hang the search.
func TestFindDoesNotWait(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	fifo(t, filepath.Join(dir, ".git", "config"))
	Find(dir)
	if err := os.Remove(filepath.Join(dir, ".git", "config")); err != nil {
		t.Fatal(err)
	}
	fifo(t, filepath.Join(dir, ".git", "commondir"))
	fifo(t, filepath.Join(dir, ".git", "hooks"))
	Find(dir)
}
