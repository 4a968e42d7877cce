//go:build unix

package coding

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox"
)

// The crash tests run this test binary again as a child process that is killed, or that has fewer
// rights.
const (
	childEnv = "LUTHIER_CODING_CHILD"
	stepEnv  = "LUTHIER_CODING_STEP"
)

func TestMain(m *testing.M) {
	sandbox.Init() // in a child that sandboxes a program this does not return
	if dir := os.Getenv(childEnv); dir != "" {
		child(dir, os.Getenv(stepEnv))
		os.Exit(0)
	}
	tier.AtOnce(8)
	tier.Main(m) // tests that run in parallel cannot count goroutines themselves
}

// child writes files until it is killed: by itself before step n, or by its parent if n is
// "forever". With "rights" it tries to write as a user without write permission.
func child(dir, n string) {
	w, err := Open(dir, Config{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	ctx := context.Background()
	switch n {
	case "rights":
		_, err := inside(w).write(ctx, writeIn{Path: "sub/new.txt", Content: "x"})
		fmt.Println(err)
		_, err = inside(w).edit(ctx, editIn{Path: "sub/f", Old: "a", New: "b"})
		fmt.Println(err)
		_, err = inside(w).read(ctx, readIn{Path: "sub/hidden"})
		fmt.Println(err)
		out, err := inside(w).grep(ctx, grepIn{Pattern: "a"})
		fmt.Println(out, err)
		return
	case "in place":
		childInPlace(ctx, w)
		return
	case "forever":
		for i := 0; ; i++ {
			text := strings.Repeat(fmt.Sprintf("%08d\n", i), 500)
			if _, err := inside(w).write(ctx, writeIn{Path: "f", Content: text, Overwrite: true}); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
		}
	}
	n, link := strings.CutSuffix(n, " linked")
	at, _ := strconv.Atoi(n)
	w.fault = func(string, string) error {
		if at--; at == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	}
	patch := bigPatch
	if link {
		patch = linkedPatch
	}
	if _, err := inside(w).applyPatch(ctx, patchIn{Patch: patch}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func startChild(t testing.TB, dir, step string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"="+dir, stepEnv+"="+step)
	cmd.Stderr = os.Stderr
	return cmd
}

// TestKilledAtAnyStep kills a program before each step of a patch of four files. Every file must be
// complete, old or new, and a later run must be able to clean up.
//
// Evidence: coding · A kill during a write leaves each file old or new
func TestKilledAtAnyStep(t *testing.T) {
	tier.Normal(t)
	after := files{"a.go": "package a\nvar A = 2\n", "new/deep/n.txt": "hello\n", "src/new.go": "package renamed\n", "other": "x\n"}
	stride := 1
	if testing.Short() {
		stride = 4
	}
	for step := 1; ; step += stride {
		dir := t.TempDir()
		patchStart.write(t, dir)
		err := startChild(t, dir, strconv.Itoa(step)).Run()
		got := tree(t, dir)
		for name, text := range got {
			switch {
			case isTempName(filepath.Base(name)):
			case text != patchStart[name] && text != after[name]:
				t.Errorf("killed at step %d: %s has %q", step, name, text)
			}
		}
		if _, lost := got["other"]; !lost {
			t.Errorf("killed at step %d: a file that nothing touched is gone", step)
		}
		if got["src/old.go"] == "" && got["src/new.go"] == "" {
			t.Errorf("killed at step %d: a file that was moved is nowhere", step)
		}
		sweepAndCompare(t, dir, step)
		if err == nil {
			if d := cmp.Diff(after, tree(t, dir)); d != "" {
				t.Errorf("the patch that was not killed (-want +got):\n%s", d)
			}
			if step < 15 {
				t.Errorf("only %d steps", step)
			}
			return
		}
	}
}

// sweepAndCompare makes the leftovers of a crash look old, and checks that later writes remove
// them.
func sweepAndCompare(t *testing.T, dir string, step int) {
	t.Helper()
	w, err := Open(dir, Config{Clock: func() time.Time { return time.Now().Add(time.Hour) }})
	must(t, err)
	defer w.Close()
	for _, d := range []string{".", "src", "new/deep"} {
		if _, err := os.Stat(filepath.Join(dir, d)); err == nil {
			do(t, w, "write", args{"path": d + "/sweep", "content": "x"})
			must(t, os.Remove(filepath.Join(dir, d, "sweep")))
		}
	}
	for name := range tree(t, dir) {
		if isTempName(filepath.Base(name)) {
			t.Errorf("killed at step %d: %s is still there", step, name)
		}
	}
}

// TestKilledAtAnyMoment kills a program that writes continuously, from outside and at random times.
func TestKilledAtAnyMoment(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 5
	}
	dir := t.TempDir()
	at := filepath.Join(dir, "f")
	must(t, os.WriteFile(at, []byte(strings.Repeat("start---\n", 500)), 0o644))
	for range rounds {
		cmd := startChild(t, dir, "forever")
		must(t, cmd.Start())
		time.Sleep(time.Duration(5+rand.IntN(40)) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		data, err := os.ReadFile(at)
		must(t, err)
		if len(data) != 4500 || strings.Count(string(data), string(data[:9])) != 500 {
			t.Fatalf("a torn file of %d bytes: %.40q", len(data), data)
		}
	}
}

// TestReadOnlyWorkspace runs the tools as a user who may read but not write. Root may do
// everything, so the child process drops its rights.
func TestReadOnlyWorkspace(t *testing.T) {
	dir := t.TempDir()
	files{"sub/f": "a\n", "sub/hidden": "a\n", "closed/x": "a\n"}.write(t, dir)
	for p := dir; p != "/" && p != os.TempDir(); p = filepath.Dir(p) {
		must(t, os.Chmod(p, 0o755))
	}
	must(t, os.Chmod(filepath.Join(dir, "sub/hidden"), 0o000))
	must(t, os.Chmod(filepath.Join(dir, "sub"), 0o555))
	must(t, os.Chmod(filepath.Join(dir, "closed"), 0o000))
	t.Cleanup(func() {
		_ = os.Chmod(filepath.Join(dir, "sub"), 0o755)
		_ = os.Chmod(filepath.Join(dir, "closed"), 0o755)
	})
	before := func() files {
		_ = os.Chmod(filepath.Join(dir, "sub/hidden"), 0o644)
		_ = os.Chmod(filepath.Join(dir, "closed"), 0o755)
		return tree(t, dir)
	}
	cmd := startChild(t, dir, "rights")
	if os.Getuid() == 0 {
		// The test binary itself may be in a place where other users cannot run it.
		exe := filepath.Join(t.TempDir(), "child")
		data, err := os.ReadFile(cmd.Path)
		must(t, err)
		must(t, os.WriteFile(exe, data, 0o755))
		for p := filepath.Dir(exe); p != "/" && p != os.TempDir(); p = filepath.Dir(p) {
			must(t, os.Chmod(p, 0o755))
		}
		cmd.Path, cmd.Args[0], cmd.Dir = exe, exe, "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534, NoSetGroups: true}}
	}
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("no child with fewer rights: %v", err)
	}
	got := string(out)
	contains(t, got, "the directory sub cannot be written", "nothing was changed", "sub/hidden: permission denied", "sub/f\n1:a")
	if d := cmp.Diff(files{"sub/f": "a\n", "sub/hidden": "a\n", "closed/x": "a\n"}, before()); d != "" {
		t.Errorf("(-before +after):\n%s", d)
	}
}
