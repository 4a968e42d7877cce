package coding

import (
	"context"
	"fmt"
	"os"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/ignore"
)

// A Tree is a workspace whose files this process can open, wherever it is: the directory of a
// sandbox that other processes see under another path, or under none. [sandbox.Tree] is one.
type Tree interface {
	// Name is the workspace's path as commands and the model see it. No file is opened by it.
	Name() string
	// ID identifies the workspace for as long as notes about it are kept.
	ID() string
	// View lets do read the tree. The root is valid until do returns. Calls do not nest.
	View(ctx context.Context, do func(root *os.Root) error) error
	// Change lets do change the tree, in the calling goroutine. Outside the tree, do may lack the
	// rights that the process has.
	Change(ctx context.Context, do func(root *os.Root) error) error
}

// OpenTree opens the workspace of a sandbox as [Open] does a directory. The tools work on what the
// sandbox's commands see. Config.Proc.Sandbox must be that sandbox; without one, no programs run.
// The host closes the tree, after the workspace.
//
// Each call of a tool holds the tree while it reads or changes files, so that a fork waits for it.
// It does not hold the tree while a program runs.
func OpenTree(t Tree, cfg Config) (*Workspace, error) {
	w := &Workspace{dir: t.Name(), name: t.Name(), id: t.ID(), tree: t}
	if err := w.openTree(cfg); err != nil {
		return nil, fmt.Errorf("coding: open workspace %s: %w", t.Name(), err)
	}
	return w, nil
}

// openTree completes a workspace over a tree.
func (w *Workspace) openTree(cfg Config) error {
	if err := cfg.complete(); err != nil {
		return err
	}
	if box := cfg.Proc.Sandbox; box != nil && box.Dir() != w.name {
		return fmt.Errorf("Config.Proc.Sandbox: it is over %s; give the sandbox that the tree belongs to", box.Dir())
	}
	w.complete(cfg)
	ctx := context.Background()
	crashed := false
	err := w.tree.View(ctx, func(root *os.Root) error {
		w.folds, crashed = foldsCase(root), len(journals(root)) > 0
		return nil
	})
	if err == nil && crashed {
		err = w.tree.Change(ctx, func(root *os.Root) error {
			opened{w, root}.recover()
			return nil
		})
	}
	return err
}

// opened is a workspace during a call, in which its tree is open. Methods of opened use the tree,
// and must not open it again. Methods of Workspace do not use it, or open it themselves.
type opened struct {
	*Workspace
	root *os.Root
}

// reading returns a tool's function that calls do with the tree open for reading.
func reading[In, Out any](w *Workspace, do func(opened, context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (Out, error) { return viewing(ctx, w, in, do) }
}

// changing returns a tool's function that calls do with the tree open for changes.
func changing[In, Out any](w *Workspace, do func(opened, context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (Out, error) {
		if w.top != nil {
			return do(opened{w, w.top}, ctx, in)
		}
		return within(w.tree.Change, ctx, w, in, do)
	}
}

// viewing calls do with the tree open for reading. In place it needs no memory if do is a method.
func viewing[In, Out any](ctx context.Context, w *Workspace, in In, do func(opened, context.Context, In) (Out, error)) (Out, error) {
	if w.top != nil {
		return do(opened{w, w.top}, ctx, in)
	}
	return within(w.tree.View, ctx, w, in, do)
}

// looking is viewing for what has no context, such as the effects of a call.
func looking[In, Out any](w *Workspace, in In, do func(opened, In) Out) (Out, error) {
	if w.top != nil {
		return do(opened{w, w.top}, in), nil
	}
	return within(w.tree.View, context.Background(), w, in, func(w opened, _ context.Context, in In) (Out, error) { return do(w, in), nil })
}

// effectsIn returns the effects of a call that depend on what the tree holds.
func effectsIn[In any](w *Workspace, in In, do func(opened, In) agent.Effects) agent.Effects {
	e, err := looking(w, in, do)
	if err != nil {
		return w.outside(agent.Effects{}, err)
	}
	return e
}

// within calls do in a call of View or Change.
func within[In, Out any](open func(context.Context, func(*os.Root) error) error, ctx context.Context, w *Workspace, in In, do func(opened, context.Context, In) (Out, error)) (out Out, err error) {
	err = open(ctx, func(root *os.Root) error {
		var err error
		out, err = do(opened{w, root}, ctx, in)
		return err
	})
	return out, err
}

// ignored returns the current ignore rules. Those of a tree elsewhere are all inside it.
func (w opened) ignored() *ignore.Matcher {
	if w.onHost {
		return ignore.New(w.name)
	}
	return ignore.NewRoot(w.root)
}
