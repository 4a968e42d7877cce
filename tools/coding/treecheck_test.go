package coding

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/luthier-dev/luthier/sandbox"
)

// checkedTree is the directory of a workspace as a tree that fails the test if the tools nest
// calls: between an outer and an inner call a fork may wait, and then both wait for ever.
type checkedTree struct {
	t    testing.TB
	name string
	root *os.Root
	in   sync.Map // goroutines that are in a call
}

func (c *checkedTree) Name() string { return c.name }
func (c *checkedTree) ID() string   { return c.name }

func (c *checkedTree) View(_ context.Context, do func(*os.Root) error) error {
	id := goroutine()
	if _, nested := c.in.LoadOrStore(id, true); nested {
		c.t.Error("a call of the tree in another one")
		return errors.New("nested")
	}
	defer c.in.Delete(id)
	return do(c.root)
}

func (c *checkedTree) Change(ctx context.Context, do func(*os.Root) error) error {
	return c.View(ctx, do)
}

// elsewhere runs the tests of this package on trees that have no path.
var elsewhere = flag.Bool("elsewhere", false, "open the workspaces of tests as trees without a path")

// inPlaceOnly skips a test of what only a directory of the host has, such as files above it.
func inPlaceOnly(t testing.TB) {
	t.Helper()
	if *elsewhere {
		t.Skip("only in place")
	}
}

// openElsewhere opens a directory as a tree without a path, and a sandbox over it.
func openElsewhere(t testing.TB, dir string, cfg Config) *Workspace {
	t.Helper()
	real, err := filepath.EvalSymlinks(dir)
	must(t, err)
	root, err := os.OpenRoot(real)
	must(t, err)
	t.Cleanup(func() { must(t, root.Close()) })
	if cfg.Proc.Sandbox == nil {
		box, err := sandbox.Local(context.Background(), sandbox.Config{Dir: real, Floor: sandbox.TierNone, Ceiling: sandbox.TierNone})
		must(t, err)
		t.Cleanup(func() { must(t, box.Close()) })
		cfg.Proc.Sandbox = box
	}
	w, err := OpenTree(&checkedTree{t: t, name: real, root: root}, cfg)
	must(t, err)
	t.Cleanup(func() { must(t, w.Close()) })
	return w
}

// goroutine returns what identifies the calling goroutine.
func goroutine() string {
	buf := make([]byte, 64)
	id, _, _ := bytes.Cut(buf[:runtime.Stack(buf, false)], []byte(" ["))
	return string(id)
}

// checkTree makes a workspace in place open its directory through a checkedTree.
func checkTree(t testing.TB, w *Workspace) {
	if _, measured := t.(*testing.B); measured {
		return
	}
	c := &checkedTree{t: t, name: w.name, root: w.top}
	w.tree, w.top = c, nil
	t.Cleanup(func() { must(t, c.root.Close()) })
}

// inside returns a workspace with its directory open.
func inside(w *Workspace) opened {
	if c, ok := w.tree.(*checkedTree); ok {
		return opened{w, c.root}
	}
	return opened{w, w.top}
}
