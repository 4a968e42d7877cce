package agent

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

type rootTree struct{ *os.Root }

func (r rootTree) View(_ context.Context, do func(*os.Root) error) error { return do(r.Root) }

// TestInstructionsOfATree: the instructions of a workspace that has no path on this machine are
// those in its tree, and its name leads nowhere.
func TestInstructionsOfATree(t *testing.T) {
	dir, decoy := t.TempDir(), t.TempDir()
	for _, p := range []string{filepath.Join(dir, "AGENTS.md"), filepath.Join(dir, "sub", "AGENTS.md"), filepath.Join(decoy, "AGENTS.md"), filepath.Join(decoy, "sub", "AGENTS.md")} {
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(p), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	in := Instructions{Workspace: decoy, Tree: rootTree{root}}
	got, err := in.Find("sub")
	if err != nil || len(got) != 2 || got[0].Text != filepath.Join(dir, "AGENTS.md") || got[1].Text != filepath.Join(dir, "sub", "AGENTS.md") {
		t.Errorf("found %v, %v", got, err)
	}
	nested := in.nestedFor(t.Context(), Effects{Reads: []string{filepath.Join(decoy, "sub", "x.go"), "AGENTS.md", "../x"}})
	if len(nested) != 1 || nested[0].Text != filepath.Join(dir, "sub", "AGENTS.md") {
		t.Errorf("nested %v", nested)
	}
}
