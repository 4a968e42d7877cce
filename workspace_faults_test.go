package luthier_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/internal/workspacetest"
	"github.com/luthier-dev/luthier/sandbox"
)

// call lets the agent make one call and returns what the model reads.
func (w *wired) call(t *testing.T, tool, args string, values ...any) workspacetest.Result {
	t.Helper()
	r, err := w.Play(t.Context(), []workspacetest.Call{{Tool: tool, Args: json.RawMessage(fmt.Sprintf(args, values...))}})
	must(t, err)
	if len(r) != 1 {
		t.Fatalf("%d results of one call", len(r))
	}
	return r[0]
}

// ok is call for a call that must succeed.
func (w *wired) ok(t *testing.T, tool, args string, values ...any) string {
	t.Helper()
	r := w.call(t, tool, args, values...)
	if r.IsError {
		t.Fatalf("%s: %s", tool, r.Text)
	}
	return r.Text
}

// shopIn makes the fixture in a new directory.
func shopIn(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	workspacetest.Fixture(t, dir, true)
	return dir
}

// TestForksExportedOverEachOther: of two agents on forks that change the same file, the second one
// to be exported fails with ErrConflict, which names the file, and changes nothing. Changes of
// different files both arrive.
//
// Evidence: luthier · Two exported forks conflict by name; disjoint changes both apply
func TestForksExportedOverEachOther(t *testing.T) {
	tier.Normal(t)
	export := func(w *wired) error {
		_, err := w.coder.Export(t.Context(), sandbox.ExportOptions{Allow: func(sandbox.Finding) bool { return true }})
		return err
	}
	for name, source := range map[string]func(dir string) luthier.Source{
		"directory": luthier.Snapshot,
		"commit":    func(dir string) luthier.Source { return luthier.Commit(dir, "HEAD") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := shopIn(t)
			parent := opened(t, source(dir))
			a, b, c := over(t, forked(t, parent)), over(t, forked(t, parent)), over(t, forked(t, parent))
			a.ok(t, "edit", `{"path":"calc/calc.go","old":"return a - b","new":"return a + b"}`)
			a.ok(t, "write", `{"path":"a.txt","content":"a\n"}`)
			b.ok(t, "edit", `{"path":"calc/calc.go","old":"return a - b","new":"return b + a"}`)
			b.ok(t, "write", `{"path":"b.txt","content":"b\n"}`)
			c.ok(t, "edit", `{"path":"main.go","old":"calc.Add(1, 2)","new":"calc.Add(3, 4)"}`)
			c.ok(t, "shell", `{"command":"rm notes.txt; echo c > c.txt"}`)
			for _, w := range []*wired{a, b, c} {
				defer w.Close()
			}
			must(t, export(a))
			if err := export(b); !errors.Is(err, sandbox.ErrConflict) || !strings.Contains(fmt.Sprint(err), "calc/calc.go") {
				t.Errorf("the second export of the same file: %v", err)
			}
			must(t, export(c))
			for name, want := range map[string]string{"calc/calc.go": "a + b", "a.txt": "a\n", "main.go": "calc.Add(3, 4)", "c.txt": "c\n"} {
				if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(got), want) {
					t.Errorf("%s holds %q, %v", name, got, err)
				}
			}
			for _, name := range []string{"b.txt", "notes.txt"} {
				if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s is there: %v", name, err)
				}
			}
		})
	}
}

// TestForkDuringACall: while the shell tool runs a command, a fork says that the workspace is busy,
// and neither side is harmed. While file tools work, a fork waits for the call, so that it never
// holds half of a change.
//
// Evidence: luthier · A fork is refused during a shell call and waits for a file call
func TestForkDuringACall(t *testing.T) {
	tier.Normal(t)
	workspace := opened(t, luthier.Snapshot(shopIn(t)))
	w := over(t, workspace)
	defer w.Close()

	t.Run("shell", func(t *testing.T) {
		done := make(chan workspacetest.Result, 1)
		go func() {
			r, err := w.Play(t.Context(), []workspacetest.Call{{Tool: "shell", Args: json.RawMessage(`{"command":"touch started; until [ -e go ]; do sleep 0.02; done; echo finished"}`)}})
			if err != nil || len(r) != 1 {
				t.Errorf("%v, %v", r, err)
				r = make([]workspacetest.Result, 1)
			}
			done <- r[0]
		}()
		w.await(t, "started")
		if _, err := workspace.Fork(t.Context()); !errors.Is(err, sandbox.ErrBusy) {
			t.Errorf("a fork during a shell call: %v", err)
		}
		must(t, w.tree.Change(t.Context(), func(root *os.Root) error { return root.WriteFile("go", nil, 0o644) }))
		if r := <-done; r.IsError || !strings.Contains(r.Text, "finished") {
			t.Errorf("the command after a fork was refused: %q", r.Text)
		}
		must(t, forked(t, workspace).Close())
	})
	t.Run("patches", func(t *testing.T) {
		text := func(n int) string { return strings.Repeat(fmt.Sprintf("version %d\n", n), 2000) }
		const files = 3
		for i := range files {
			w.ok(t, "write", `{"path":"f%d.txt","content":%q}`, i, text(0))
		}
		ctx, stop := context.WithCancel(t.Context())
		wrote := make(chan int, 1)
		go func() {
			n := 0
			for ; ctx.Err() == nil; n++ {
				for i := range files {
					if r := w.call(t, "write", `{"path":"f%d.txt","content":%q}`, i, text(n+1)); r.IsError {
						t.Errorf("write %d during forks: %s", n, r.Text)
					}
				}
			}
			wrote <- n
		}()
		for range tier.Pick(3, 8, 40) {
			fork := forked(t, workspace)
			exit, err := fork.Sandbox().Exec(t.Context(), sandbox.Cmd{Args: []string{"sh", "-c", `for f in f?.txt; do sort -u $f | wc -l; wc -l <$f; done`}})
			must(t, err)
			if got := strings.Join(strings.Fields(exit.Stdout.String()), " "); got != "1 2000 1 2000 1 2000" {
				t.Errorf("a fork holds half of a change: %q %s", got, exit.Stderr)
			}
			must(t, fork.Close())
		}
		stop()
		if n := <-wrote; n == 0 {
			t.Error("nothing was written meanwhile")
		}
	})
}

// await waits until the workspace holds a file.
func (w *wired) await(t *testing.T, name string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		err := w.tree.View(t.Context(), func(root *os.Root) error {
			_, err := root.Lstat(name)
			return err
		})
		if err == nil {
			return
		}
	}
	t.Fatalf("%s does not appear", name)
}
