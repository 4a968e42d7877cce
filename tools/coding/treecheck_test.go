package coding

import (
	"bytes"
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"testing"
)

// checkedTree is the directory of a workspace as a tree that fails the test if the tools nest calls:
// between an outer and an inner call a fork may wait, and then both wait for ever.
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

// goroutine returns what identifies the calling goroutine.
func goroutine() string {
	buf := make([]byte, 64)
	id, _, _ := bytes.Cut(buf[:runtime.Stack(buf, false)], []byte(" ["))
	return string(id)
}

// checkTree makes a workspace in place open its directory through a checkedTree.
func checkTree(t testing.TB, w *Workspace) {
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
