package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/luthier-dev/luthier/sandbox"
)

// project makes a directory with one file. The examples lower the floor so that they run on any
// host; a program that runs a model's commands leaves it as it is.
func project() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "example-*")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "a.txt"), []byte("original\n"), 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
	return dir, func() { os.RemoveAll(dir) }
}

func run(sb sandbox.Sandbox, script string) {
	if _, err := sb.Exec(context.Background(), sandbox.Cmd{Args: []string{"sh", "-c", script}}); err != nil {
		log.Fatal(err)
	}
}

// Two attempts continue from one state.
func ExampleForker() {
	dir, remove := project()
	defer remove()
	ctx := context.Background()
	first, err := sandbox.Local(ctx, sandbox.Config{Snapshot: sandbox.SnapshotDir(dir), Floor: sandbox.TierNone})
	if err != nil {
		log.Fatal(err)
	}
	defer first.Close()
	run(first, "echo prepared > b.txt")
	forker, ok := sandbox.As[sandbox.Forker](first)
	if !ok {
		log.Fatal("this sandbox cannot be forked")
	}
	second, err := forker.Fork(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer second.Close()
	run(first, "echo one > a.txt")
	run(second, "echo two > a.txt")
	if err := sandbox.AbilitiesOf(second).Exporter.Diff(ctx, sandbox.AtFork, os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// diff --git a/a.txt b/a.txt
	// index 4b48deed3a433909bfd6b6ab3d4b91348b6af464..f719efd430d52bcfc8566a43b2eb655688d38871 100644
	// --- a/a.txt
	// +++ b/a.txt
	// @@ -1 +1 @@
	// -original
	// +two
}

// Changes are exported after a review; changes that the host would execute later stop it.
func ExampleExporter() {
	dir, remove := project()
	defer remove()
	ctx := context.Background()
	sb, err := sandbox.Local(ctx, sandbox.Config{Snapshot: sandbox.SnapshotDir(dir), Floor: sandbox.TierNone})
	if err != nil {
		log.Fatal(err)
	}
	defer sb.Close()
	run(sb, "echo changed > a.txt; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit")
	_, err = sandbox.AbilitiesOf(sb).Exporter.Export(ctx, sandbox.ExportOptions{})
	var refused *sandbox.ReviewError
	if errors.As(err, &refused) {
		for _, f := range refused.Findings {
			fmt.Println(f)
		}
	}
	run(sb, "rm -r .git")
	if _, err := sandbox.AbilitiesOf(sb).Exporter.Export(ctx, sandbox.ExportOptions{}); err != nil {
		log.Fatal(err)
	}
	b, _ := os.ReadFile(filepath.Join(dir, "a.txt"))
	fmt.Printf("%s", b)
	// Output:
	// refuse: ".git/hooks/pre-commit": git-hook: git runs hooks by itself
	// changed
}

// Several attempts start from one state, and the work continues from the best.
func ExampleAdopter() {
	dir, remove := project()
	defer remove()
	ctx := context.Background()
	sb, err := sandbox.Local(ctx, sandbox.Config{Snapshot: sandbox.SnapshotDir(dir), Floor: sandbox.TierNone})
	if err != nil {
		log.Fatal(err)
	}
	defer sb.Close()
	var best sandbox.Sandbox
	for _, text := range []string{"short", "the longest", "longer"} {
		fork, err := sandbox.AbilitiesOf(sb).Forker.Fork(ctx)
		if err != nil {
			log.Fatal(err)
		}
		defer fork.Close()
		run(fork, "echo "+text+" > a.txt")
		if text == "the longest" {
			best = fork
		}
	}
	if err := sandbox.AbilitiesOf(sb).Adopter.Adopt(ctx, best); err != nil {
		log.Fatal(err)
	}
	exit, err := sb.Exec(ctx, sandbox.Cmd{Args: []string{"cat", "a.txt"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(exit.Stdout)
	// Output:
	// the longest
}

// A command is tried, and its changes are kept or dropped.
func ExampleDryRunner() {
	dir, remove := project()
	defer remove()
	ctx := context.Background()
	sb, err := sandbox.Local(ctx, sandbox.Config{Dir: dir, Floor: sandbox.TierNone})
	if err != nil {
		log.Fatal(err)
	}
	defer sb.Close()
	trial, err := sb.(sandbox.DryRunner).DryRun(ctx, sandbox.Cmd{Args: []string{"rm", "a.txt"}})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range trial.Changes {
		fmt.Println(c.Kind, c.Path)
	}
	if err := trial.Drop(); err != nil {
		log.Fatal(err)
	}
	_, err = os.Stat(filepath.Join(dir, "a.txt"))
	fmt.Println("still there:", err == nil)
	// Output:
	// deleted a.txt
	// still there: true
}

// The host reads and changes the files of a workspace that exists only inside its sandbox.
func ExampleTreer() {
	dir, remove := project()
	defer remove()
	ctx := context.Background()
	sb, err := sandbox.Local(ctx, sandbox.Config{Snapshot: sandbox.SnapshotDir(dir), Floor: sandbox.TierNone})
	if err != nil {
		log.Fatal(err)
	}
	defer sb.Close()
	tree, err := sb.(sandbox.Treer).Tree(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer tree.Close()
	run(sb, "echo from a command > new.txt")
	err = tree.Change(ctx, func(root *os.Root) error {
		text, err := root.ReadFile("new.txt")
		if err != nil {
			return err
		}
		fmt.Print(string(text))
		return root.WriteFile("new.txt", []byte("from the host\n"), 0o644)
	})
	if err != nil {
		log.Fatal(err)
	}
	exit, err := sb.Exec(ctx, sandbox.Cmd{Args: []string{"cat", "new.txt"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(exit.Stdout)
	// Output:
	// from a command
	// from the host
}
