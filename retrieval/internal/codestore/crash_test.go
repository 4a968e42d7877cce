package codestore

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// The test program starts itself as the child process that is killed. If childWork is set in the
// environment, the program is that child and runs no tests.
const (
	childWork = "CODESTORE_CHILD" // what to do: sync, update, or both forever
	childRoot = "CODESTORE_ROOT"
	childDir  = "CODESTORE_DIR"
	childStep = "CODESTORE_STEP" // the step before which it kills itself, 0 for none
)

func TestMain(m *testing.M) {
	if work := os.Getenv(childWork); work != "" {
		if err := child(work, os.Getenv(childRoot), os.Getenv(childDir)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// smallSegments returns options that make several segments of a small tree, and map them as if they
// were large.
func smallSegments() Options { return Options{SegmentBytes: 3000, Workers: 2, mapAll: true} }

func child(work, root, dir string) error {
	deadly, _ := strconv.Atoi(os.Getenv(childStep))
	steps := make(chan int, 1)
	steps <- 0
	o := smallSegments()
	o.step = func(string) {
		n := <-steps + 1
		if n == deadly {
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
			select {} // until killed
		}
		steps <- n
	}
	s, err := Open(dir, testFormat(), o)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if work == "update" {
		files, err := worktree.Look(ctx, root, worktree.Options{}, strings.Split(os.Getenv("CODESTORE_PATHS"), ":")...)
		if err != nil {
			return err
		}
		_, err = s.Update(ctx, root, nil, files...)
		return err
	}
	for {
		tree, err := worktree.Scan(ctx, root, worktree.Options{})
		if err != nil {
			return err
		}
		if _, err = s.Sync(ctx, tree, nil, nil); err != nil || work == "sync" {
			return err
		}
		if err := disturb(s, root); err != nil {
			return err
		}
	}
}

// disturb changes a file of the tree and updates the store.
func disturb(s *Store, root string) error {
	path := fmt.Sprintf("d%d/f%d", rand.IntN(4), rand.IntN(10))
	if err := os.WriteFile(filepath.Join(root, path), []byte(strings.Repeat(fmt.Sprint(rand.Uint64(), "\n"), 20)), 0o644); err != nil {
		return err
	}
	files, err := worktree.Look(context.Background(), root, worktree.Options{}, path)
	if err != nil {
		return err
	}
	_, err = s.Update(context.Background(), root, nil, files...)
	return err
}

func startChild(t *testing.T, work, root, dir string, step int, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childWork+"="+work, childRoot+"="+root, childDir+"="+dir, fmt.Sprintf("%s=%d", childStep, step))
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// someFiles returns 40 files in 4 directories, each with a text of about 400 bytes that depends on
// salt.
func someFiles(salt string) map[string]string {
	files := map[string]string{}
	for i := range 40 {
		files[fmt.Sprintf("d%d/f%d", i/10, i%10)] = strings.Repeat(fmt.Sprintf("%s %d\n", salt, i), 60)
	}
	return files
}

// killEverywhere runs the given work in a child that dies before its first step, then in a child
// that dies before a later step, and so on (before every step in the long tier). After each child
// it checks the files that are left. It returns the last step before which a child died. change
// prepares the tree that the child indexes; env is passed to the child.
func killEverywhere(t *testing.T, work string, change func(root string), env ...string) (adopted, points int) {
	t.Helper()
	for step := 1; ; step += tier.Pick(7, 3, 1) {
		root, dir := t.TempDir(), t.TempDir()
		put(t, root, someFiles("old"))
		first := open(t, dir, smallSegments())
		syncTree(t, first, root)
		before := onDisk(t, root)
		change(root)
		after := onDisk(t, root)
		cmd := startChild(t, work, root, dir, step, env...)
		err := cmd.Wait()
		if err == nil {
			return adopted, points
		}
		if cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("step %d: child: %v", step, err)
		}
		points = step
		// As seen by a process that had the index open all the time, and by a new one.
		for _, s := range []*Store{first, open(t, dir, smallSegments())} {
			got, err := contents(s)
			if err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
			if !maps.Equal(got, before) && !maps.Equal(got, after) {
				t.Fatalf("step %d: the index is neither the old one nor the new one:\n%s", step, cmp.Diff(after, got))
			}
			r := syncTree(t, s, root)
			if r.Rebuilt != "" || r.Memory != "" {
				t.Errorf("step %d: %+v", step, r)
			}
			adopted += r.Adopted
			wantIndex(t, s, root)
		}
		wantClean(t, dir)
		first.Close()
	}
}

// wantClean checks that the directory holds only files that the manifest names.
func wantClean(t *testing.T, dir string) {
	t.Helper()
	s := open(t, dir, smallSegments())
	want := map[string]bool{manifestName: true, lockName: true}
	for name := range s.state.manifest(s.format).files() {
		want[name] = true
	}
	got := map[string]bool{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		got[e.Name()] = true
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("files of the index -want +got\n%s", d)
	}
	s.Close()
}

func TestKillDuringSync(t *testing.T) {
	tier.Normal(t)
	adopted, points := killEverywhere(t, "sync", func(root string) {
		put(t, root, someFiles("new"))
		if err := os.RemoveAll(filepath.Join(root, "d3")); err != nil {
			t.Fatal(err)
		}
		put(t, root, map[string]string{"e/new": "new"})
	})
	t.Logf("killed before up to the step %d; %d documents were taken over from finished segments", points, adopted)
	if adopted == 0 || points < 20 {
		t.Errorf("killed at %d points, %d documents taken over", points, adopted)
	}
}

func TestKillDuringUpdate(t *testing.T) {
	_, points := killEverywhere(t, "update", func(root string) {
		put(t, root, map[string]string{"d0/f0": "new", "d1/f1": "new", "x": "new"})
		if err := os.RemoveAll(filepath.Join(root, "d3")); err != nil {
			t.Fatal(err)
		}
	}, "CODESTORE_PATHS=d0/f0:d1/f1:x:d3")
	t.Logf("killed before up to the step %d", points)
	if points < 8 {
		t.Errorf("killed at %d points", points)
	}
}

// TestKillAnytime kills a process that syncs and updates forever, at random moments.
func TestKillAnytime(t *testing.T) {
	rounds := tier.Pick(2, 12, 25)
	root, dir := t.TempDir(), t.TempDir()
	put(t, root, someFiles("old"))
	for range rounds {
		cmd := startChild(t, "loop", root, dir, 0)
		time.Sleep(time.Duration(10+rand.IntN(60)) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		s := open(t, dir, smallSegments())
		if _, err := contents(s); err != nil {
			t.Fatal(err)
		}
		if r := syncTree(t, s, root); r.Rebuilt != "" {
			t.Errorf("rebuilt: %s", r.Rebuilt)
		}
		wantIndex(t, s, root)
		wantClean(t, dir)
		s.Close()
	}
}
