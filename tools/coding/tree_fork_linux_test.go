package coding

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox"
)

// forkWaits reports, after some time at most, whether somebody waits to fork the box of a tree:
// then others wait before they see it.
func forkWaits(t *testing.T, tree Tree) bool {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		err := tree.View(ctx, func(*os.Root) error { return nil })
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			return true
		}
	}
	return false
}

// TestForkWaitsForTools checks that a fork waits for a tool that changes files, so that it has all
// of the change, and that it does not wait for a program, but says that the workspace is busy.
//
// Evidence: coding · A fork waits for the file tools, and has a change of several files whole
func TestForkWaitsForTools(t *testing.T) {
	agenttest.CheckLeaks(t)
	b, _ := boxes(t, Config{}, files{"a.txt": "a\n", "b.txt": "b\n"})
	forker, _ := sandbox.As[sandbox.Forker](b.box)
	var fork sandbox.Sandbox
	forked := make(chan error, 1)
	renames := 0
	b.fault = func(step, _ string) error {
		if step != "rename" {
			return nil
		}
		if renames++; renames == 2 { // the first file is new, the second is old
			go func() {
				var err error
				fork, err = forker.Fork(t.Context())
				forked <- err
			}()
			if !forkWaits(t, b.tree) {
				t.Error("the fork does not wait")
			}
		}
		return nil
	}
	do(t, b.Workspace, "apply_patch", args{"patch": "*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+aa\n*** Update File: b.txt\n@@\n-b\n+bb\n*** End Patch"})
	must(t, <-forked)
	t.Cleanup(func() { must(t, fork.Close()) })
	for name, c := range map[string]boxed{"parent": b, "fork": openBox(t, fork, Config{})} {
		if got := c.sh(t, "cat a.txt b.txt; ls -a"); got != "aa\nbb\n.\n..\na.txt\nb.txt\n" {
			t.Errorf("the %s has %q", name, got)
		}
	}
	do(t, b.Workspace, "edit", args{"path": "a.txt", "old": "aa", "new": "aaa"}) // the tree goes on after the fork
	if got := b.sh(t, "cat a.txt"); got != "aaa\n" {
		t.Errorf("after the fork the parent has %q", got)
	}

	do(t, b.Workspace, "shell", args{"command": "exec sleep 1000 >>log", "background": true})
	if _, err := forker.Fork(t.Context()); !errors.Is(err, sandbox.ErrBusy) {
		t.Errorf("a fork while a program writes: %v", err)
	}
	do(t, b.Workspace, "read", args{"path": "a.txt"}) // the tools do not wait for the program
	do(t, b.Workspace, "shell_kill", args{"id": 1})
}

// TestToolsAndForks makes calls of all kinds on a tree that is forked meanwhile, and checks that
// none fails and no change is lost, under the race detector.
//
// Evidence: coding · Parallel calls go on while their workspace is forked, and lose nothing
func TestToolsAndForks(t *testing.T) {
	agenttest.CheckLeaks(t)
	const workers, rounds = 4, 8
	fs := files{"shared.txt": strings.Repeat("line\n", 50)}
	for i := range workers {
		fs[fmt.Sprintf("d%d/f.txt", i)] = "count 0\n"
	}
	b, _ := boxes(t, Config{}, fs)
	w := b.Workspace
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			file := fmt.Sprintf("d%d/f.txt", i)
			for n := range rounds {
				for _, c := range []struct {
					tool string
					in   args
				}{
					{"read", args{"path": file}}, {"edit", args{"path": file, "old": fmt.Sprintf("count %d", n), "new": fmt.Sprintf("count %d", n+1)}},
					{"grep", args{"pattern": "line|count"}}, {"list", args{}}, {"glob", args{"pattern": "**"}},
					{"write", args{"path": fmt.Sprintf("d%d/n%d.txt", i, n), "content": "new\n"}},
				} {
					if _, err := try(t, w, c.tool, c.in); err != nil {
						t.Errorf("%s %v: %v", c.tool, c.in, err)
						return
					}
				}
			}
		})
	}
	forker, _ := sandbox.As[sandbox.Forker](b.box)
	for range 4 {
		fork, err := forker.Fork(t.Context())
		must(t, err)
		must(t, fork.Close())
	}
	wg.Wait()
	if got, want := b.sh(t, "cat d*/f.txt; ls d*/n*.txt | wc -l; find . -name '.luthier-*'"), strings.Repeat(fmt.Sprintf("count %d\n", rounds), workers)+fmt.Sprintln(workers*rounds); got != want {
		t.Errorf("commands see %q, want %q", got, want)
	}
}

// TestStaleTree checks that calls on the tree of a sandbox that is closed say so.
func TestStaleTree(t *testing.T) {
	dir := t.TempDir()
	files{"a.txt": "a\n"}.write(t, dir)
	box, err := sandbox.Local(t.Context(), sandbox.Config{Snapshot: sandbox.SnapshotDir(dir)})
	if err != nil {
		t.Skip(err)
	}
	b := openBox(t, box, Config{})
	do(t, b.Workspace, "read", args{"path": "a.txt"})
	must(t, box.Close())
	for _, c := range []struct {
		tool string
		in   args
	}{
		{"read", args{"path": "a.txt"}}, {"edit", args{"path": "a.txt", "old": "a", "new": "b"}}, {"list", args{}}, {"grep", args{"pattern": "a"}},
		{"git", args{"op": "status"}}, {"symbols", args{"name": "a"}}, {"test", args{}}, {"lint", args{}}, {"memory", args{"action": "read"}}, {"shell", args{"command": "true", "dir": "x"}},
	} {
		refused(t, b.Workspace, c.tool, c.in, "closed")
	}
}

// TestReadOnlyTree checks that a tree which commands cannot write is not written, and can be read.
func TestReadOnlyTree(t *testing.T) {
	dir := t.TempDir()
	files{"a.txt": "a\n"}.write(t, dir)
	box, err := sandbox.Local(t.Context(), sandbox.Config{Dir: dir, ReadOnlyDir: true})
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { must(t, box.Close()) })
	w := openBox(t, box, Config{}).Workspace
	contains(t, do(t, w, "read", args{"path": "a.txt"}), "1\ta")
	contains(t, do(t, w, "memory", args{"action": "read"}), "no notes")
	refused(t, w, "edit", args{"path": "a.txt", "old": "a", "new": "b"}, "read-only")
	refused(t, w, "write", args{"path": "b.txt", "content": "b"}, "read-only")
	refused(t, w, "memory", args{"action": "append", "text": "b"}, "read-only")
}

// TestTreesAsOrdinaryUser runs the tests of trees again as an ordinary user.
//
// Evidence: coding · The tools work on trees of an ordinary user's sandboxes, too
func TestTreesAsOrdinaryUser(t *testing.T) {
	tier.Normal(t)
	if os.Geteuid() != 0 {
		t.Skip("is one already")
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("", "luthier-user-*") // not below t.TempDir: others must be able to enter it
	must(t, err)
	defer os.RemoveAll(dir)
	exe, tmp := filepath.Join(dir, "coding.test"), filepath.Join(dir, "tmp")
	self, err := os.Executable()
	must(t, err)
	if os.Link(self, exe) != nil {
		data, err := os.ReadFile(self)
		must(t, err)
		must(t, os.WriteFile(exe, data, 0o755))
	}
	must(t, errors.Join(os.Mkdir(tmp, 0o700), os.Chown(tmp, nobody, nobody), os.Chmod(dir, 0o755), os.Chmod(exe, 0o755)))
	cmd := exec.Command(exe, "-test.v", "-test.run", "^Test(OpenTree|TreeAttacks|TreeRaces|ForkWaitsForTools|ToolsAndForks|StaleTree|ReadOnlyTree|TreeMemory)$")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + tmp, "HOME=" + tmp, "LANG=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("as uid %d: %v\n%s", nobody, err, out)
	}
	t.Logf("as uid %d: %d passed, %d skipped", nobody, strings.Count(string(out), "--- PASS"), strings.Count(string(out), "--- SKIP"))
}
