package coding

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox"
)

// boxes opens a snapshot of a directory that holds fs and a fork of it, and a workspace on the tree
// of each. The test fails if the directory has changed at its end.
func boxes(t *testing.T, cfg Config, fs files) (snapshot, fork boxed) {
	t.Helper()
	dir := t.TempDir()
	fs.write(t, dir)
	return boxesOf(t, dir, cfg)
}

// boxesOf is boxes for a directory that exists.
func boxesOf(t *testing.T, dir string, cfg Config) (snapshot, fork boxed) {
	t.Helper()
	tier.Normal(t)
	unchanged(t, dir)
	return boxesIn(t, sandbox.Config{Snapshot: sandbox.SnapshotDir(dir)}, cfg)
}

// unchanged checks that a directory is the same at the end of the test.
func unchanged(t *testing.T, dir string) {
	t.Helper()
	before := tree(t, dir)
	t.Cleanup(func() {
		if d := cmp.Diff(before, tree(t, dir)); d != "" {
			t.Errorf("the directory below has changed (-before +after):\n%s", d)
		}
	})
}

func boxesIn(t *testing.T, at sandbox.Config, cfg Config) (snapshot, fork boxed) {
	t.Helper()
	box, err := sandbox.Local(t.Context(), at)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { must(t, box.Close()) })
	forker, ok := sandbox.As[sandbox.Forker](box)
	if !ok {
		t.Skip("no forks here")
	}
	other, err := forker.Fork(t.Context())
	must(t, err)
	t.Cleanup(func() { must(t, other.Close()) })
	return openBox(t, box, cfg), openBox(t, other, cfg)
}

// boxed is a workspace on the tree of a sandbox.
type boxed struct {
	*Workspace
	box sandbox.Sandbox
}

func openBox(t testing.TB, box sandbox.Sandbox, cfg Config) boxed {
	t.Helper()
	treer, ok := sandbox.As[sandbox.Treer](box)
	if !ok {
		t.Skip("no tree")
	}
	tree, err := treer.Tree(t.Context())
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { must(t, tree.Close()) })
	cfg.Proc.Sandbox = box
	w, err := OpenTree(tree, cfg)
	must(t, err)
	t.Cleanup(func() { must(t, w.Close()) })
	return boxed{w, box}
}

// forkOf returns a workspace on a fork, which is closed at the end of the test.
func forkOf(t *testing.T, b boxed) boxed {
	t.Helper()
	forker, _ := sandbox.As[sandbox.Forker](b.box)
	box, err := forker.Fork(t.Context())
	must(t, err)
	t.Cleanup(func() { must(t, box.Close()) })
	return openBox(t, box, Config{})
}

func shCmd(script string) sandbox.Cmd { return sandbox.Cmd{Args: []string{"sh", "-c", script}} }

// sh runs a command in the box and returns its output.
func (b boxed) sh(t testing.TB, command string) string {
	t.Helper()
	exit, err := b.box.Exec(t.Context(), shCmd(command))
	if err != nil || !exit.Success() {
		t.Fatalf("%s: %v, %v\n%s", command, exit, err, exit.Stderr.String())
	}
	return exit.Stdout.String()
}

// TestOpenTree checks that the file tools work on what the commands of a snapshot and of a fork
// see, while the directory below stays as it is.
//
// Evidence: coding · The file tools work on the tree that the commands of a snapshot or a fork see
func TestOpenTree(t *testing.T) {
	for _, kind := range []sandbox.Tier{sandbox.TierNone, sandbox.TierLandlock, sandbox.TierNamespaces} {
		t.Run(kind.String(), func(t *testing.T) {
			dir := t.TempDir()
			files{"a.txt": "one\ntwo\n", "sub/b.go": "package b\n", ".gitignore": "*.log\n", "x.log": "two\n"}.write(t, dir)
			unchanged(t, dir)
			snapshot, fork := boxesIn(t, sandbox.Config{Snapshot: sandbox.SnapshotDir(dir), Floor: kind, Ceiling: kind}, Config{})
			for _, b := range []boxed{snapshot, fork} {
				filesOn(t, b)
			}
		})
	}
}

func filesOn(t *testing.T, b boxed) {
	t.Helper()
	contains(t, do(t, b.Workspace, "read", args{"path": "a.txt"}), "2\ttwo")
	do(t, b.Workspace, "edit", args{"path": b.Dir() + "/a.txt", "old": "two", "new": "three"})
	do(t, b.Workspace, "write", args{"path": "new/c.txt", "content": "three\n"})
	if got := b.sh(t, "cat a.txt new/c.txt; rm a.txt; echo three >d.txt; stat -c %u new/c.txt; id -u"); got != "one\nthree\nthree\n"+b.sh(t, "id -u; id -u") {
		t.Errorf("commands see %q", got)
	}
	contains(t, do(t, b.Workspace, "list", args{}), "d.txt", "new/", "sub/")
	if got := do(t, b.Workspace, "grep", args{"pattern": "thr|two", "mode": "files"}); got != "d.txt\nnew/c.txt\n(2 matching lines in 2 files)" {
		t.Errorf("grep: %s", got)
	}
	refused(t, b.Workspace, "read", args{"path": "a.txt"}, "does not exist")
}

// TestTreeMemory checks where the notes of a tree are: in it, or in the host's directory under a
// name made from the tree's ID.
func TestTreeMemory(t *testing.T) {
	notes := t.TempDir()
	snapshot, fork := boxes(t, Config{MemoryDir: notes}, files{"a.txt": "a\n"})
	do(t, snapshot.Workspace, "memory", args{"action": "append", "text": "- of the snapshot"})
	do(t, fork.Workspace, "memory", args{"action": "append", "text": "- of the fork"})
	if got := do(t, snapshot.Workspace, "memory", args{"action": "read"}); got != "- of the snapshot" {
		t.Errorf("the snapshot's notes are %q", got)
	}
	if got := tree(t, notes); len(got) != 2 {
		t.Errorf("the directory for notes has %v", got)
	}
	if got := snapshot.sh(t, "ls -A"); got != "a.txt\n" {
		t.Errorf("the tree has %q", got)
	}
	within := openBox(t, fork.box, Config{}).Workspace
	do(t, within, "memory", args{"action": "append", "text": "- inside"})
	if got := fork.sh(t, "cat .luthier/memory.md; stat -c %u .luthier/memory.md; id -u"); got != "- inside\n"+fork.sh(t, "id -u; id -u") {
		t.Errorf("commands see %q", got)
	}
}

// TestOpenTreeErrors checks that a sandbox over another workspace is refused, and that without one
// no program runs: the path of the tree is another directory on this machine.
func TestOpenTreeErrors(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	tree, err := sandbox.DirTree(dir)
	must(t, err)
	defer tree.Close()
	box, err := sandbox.Local(t.Context(), sandbox.Config{Dir: other, Floor: sandbox.TierNone, Ceiling: sandbox.TierNone})
	must(t, err)
	defer box.Close()
	if _, err := OpenTree(tree, Config{Proc: ProcConfig{Sandbox: box}}); err == nil || !strings.Contains(err.Error(), "Config.Proc.Sandbox") {
		t.Errorf("a sandbox over another directory: %v", err)
	}
	w, err := OpenTree(tree, Config{})
	must(t, err)
	defer w.Close()
	refused(t, w, "shell", args{"command": "true"}, "no sandbox is set")
	do(t, w, "write", args{"path": "a.txt", "content": "a\n"})
}
