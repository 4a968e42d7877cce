package luthier_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/checkpoint"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval"
	"github.com/luthier-dev/luthier/sandbox"
)

// TestPartsOnASandboxTree: checkpoints, an index and instructions work on the tree that commands of
// a snapshot see, and of a fork of it, while the directory below stays as it is.
//
// Evidence: sandbox · Checkpoints, the index and AGENTS.md work on a snapshot's and a fork's tree
func TestPartsOnASandboxTree(t *testing.T) {
	tier.Normal(t)
	ctx := t.Context()
	dir := t.TempDir()
	origin := map[string]string{"AGENTS.md": "Write Go.\n", "a.go": "package a\n\n// Perigee is the point nearest to the earth.\nfunc Perigee() {}\n"}
	for name, text := range origin {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	box, err := sandbox.Local(ctx, sandbox.Config{Snapshot: sandbox.SnapshotDir(dir)})
	if err != nil {
		t.Skip(err)
	}
	defer box.Close()
	forker, _ := sandbox.As[sandbox.Forker](box)
	fork, err := forker.Fork(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer fork.Close()
	ids := map[string]bool{}
	for _, box := range []sandbox.Sandbox{box, fork} {
		treer, ok := sandbox.As[sandbox.Treer](box)
		if !ok {
			t.Fatal("no tree")
		}
		tree, err := treer.Tree(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer tree.Close()
		ids[tree.ID()] = true
		partsOn(t, ctx, box, tree)
	}
	if len(ids) != 2 {
		t.Errorf("the fork's tree is called as its parent's: %v", ids)
	}
	for name, want := range origin {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("the directory below has %q in %s, %v", got, name, err)
		}
	}
}

func partsOn(t *testing.T, ctx context.Context, box sandbox.Sandbox, tree *sandbox.Tree) {
	t.Helper()
	run := func(script string) string {
		exit, err := box.Exec(ctx, sandbox.Cmd{Args: []string{"sh", "-c", script}})
		if err != nil || !exit.Success() {
			t.Fatalf("%s: %v, %v", script, exit, err)
		}
		return exit.Stdout.String()
	}
	store, err := checkpoint.OpenTree(tree, t.TempDir(), checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.Snapshot(ctx, "first"); err != nil {
		t.Fatal(err)
	}
	run(`echo 'Write less.' >AGENTS.md; printf 'package a\n\n// Apogee is the point farthest from the earth.\nfunc Apogee() {}\n' >b.go; rm a.go`)

	found, err := (agent.Instructions{Workspace: tree.Name(), Tree: tree}).Find(".")
	if err != nil || len(found) != 1 || found[0].Text != "Write less." && found[0].Text != "Write less.\n" {
		t.Errorf("instructions %v, %v", found, err)
	}
	index, err := retrieval.OpenTree(ctx, tree, retrieval.Config{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	if err := index.Update(ctx); err != nil {
		t.Fatal(err)
	}
	hits, err := index.Search(ctx, retrieval.Query{Text: "which point is farthest"})
	if err != nil || len(hits) == 0 || hits[0].Path != "b.go" {
		t.Errorf("found %v, %v", hits, err)
	}
	if _, err := store.Undo(ctx); err != nil {
		t.Fatal(err)
	}
	if got := run("cat AGENTS.md a.go; ls; stat -c %u a.go; id -u"); !strings.HasPrefix(got, "Write Go.\npackage a\n") || strings.Contains(got, "b.go") {
		t.Errorf("undone, commands see %q", got)
	} else if f := strings.Fields(got); f[len(f)-1] != f[len(f)-2] {
		t.Errorf("what was restored belongs to %s, commands run as %s", f[len(f)-2], f[len(f)-1])
	}
}
