package luthier

import (
	"context"
	"errors"
	"fmt"

	"github.com/luthier-dev/luthier/sandbox"
)

// treeWorkspace is a workspace whose tree this process can open.
type treeWorkspace struct {
	at      place
	tree    *sandbox.Tree
	box     sandbox.Sandbox
	ownsBox bool
}

// openBox opens the workspace of a sandbox.
func openBox(ctx context.Context, box sandbox.Sandbox, at place) (*treeWorkspace, error) {
	treer, ok := sandbox.As[sandbox.Treer](box)
	if !ok {
		return nil, errNoTree
	}
	tree, err := treer.Tree(ctx)
	if err != nil {
		return nil, err
	}
	return &treeWorkspace{at: at, tree: tree, box: box}, nil
}

// errNoTree means that neither files nor tools can be reached through a sandbox.
var errNoTree = errors.New("this process cannot open the files of the sandbox, and the sandbox runs no tools. " +
	"Open it with Remote if it is on a remote server, or with Command if a program such as docker, ssh or kubectl runs commands there")

func (w *treeWorkspace) Name() string             { return w.tree.Name() }
func (w *treeWorkspace) ID() string               { return w.tree.ID() }
func (w *treeWorkspace) Sandbox() sandbox.Sandbox { return w.box }
func (w *treeWorkspace) place() *place            { return &w.at }

func (w *treeWorkspace) ground() ground {
	if w.at.kind == inPlace {
		return ground{dir: w.at.Dir, workspace: w}
	}
	return ground{tree: w.tree, workspace: w}
}

// Fork implements Workspace.
func (w *treeWorkspace) Fork(ctx context.Context) (Workspace, error) {
	box, err := forkBox(ctx, w)
	if err != nil {
		return nil, err
	}
	at := w.at
	at.Fork = true
	out, err := openBox(ctx, box, at)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("luthier: fork %s: %w", w.Name(), err), box.Close())
	}
	out.ownsBox = true
	return out, nil
}

// forkBox forks the sandbox of a workspace.
func forkBox(ctx context.Context, w Workspace) (sandbox.Sandbox, error) {
	f, ok := sandbox.As[sandbox.Forker](w.Sandbox())
	if !ok {
		return nil, fmt.Errorf("luthier: fork %s: %w", w.Name(), errCannot("fork"))
	}
	box, err := f.Fork(ctx)
	if err != nil {
		return nil, fmt.Errorf("luthier: fork %s: %w", w.Name(), err)
	}
	return box, nil
}

// Adopt implements Workspace.
func (w *treeWorkspace) Adopt(ctx context.Context, fork Workspace) error { return adopt(ctx, w, fork) }

// adopt takes over a fork: what changed in it or, if the sandbox cannot do that, the whole fork.
func adopt(ctx context.Context, w, fork Workspace) error {
	if fork == nil || fork.Sandbox() == nil {
		return fmt.Errorf("luthier: adopt a fork of %s: there is none", w.Name())
	}
	var err error
	if m, ok := sandbox.As[sandbox.Merger](w.Sandbox()); ok {
		err = m.Merge(ctx, fork.Sandbox())
	} else if a, ok := sandbox.As[sandbox.Adopter](w.Sandbox()); ok {
		err = a.Adopt(ctx, fork.Sandbox())
	} else {
		err = errCannot("adopt")
	}
	if err != nil {
		return fmt.Errorf("luthier: adopt a fork of %s: %w", w.Name(), err)
	}
	return fork.Close()
}

// Export implements Workspace.
func (w *treeWorkspace) Export(ctx context.Context, o sandbox.ExportOptions) (*sandbox.Review, error) {
	return export(ctx, w, o)
}

// export brings the changes out of the sandbox of a workspace.
func export(ctx context.Context, w Workspace, o sandbox.ExportOptions) (*sandbox.Review, error) {
	if k := w.place().kind; k == inPlace || k == ofCommand {
		return nil, fmt.Errorf("luthier: export %s: %w", w.Name(), sandbox.ErrInPlace)
	}
	e, ok := sandbox.As[sandbox.Exporter](w.Sandbox())
	if !ok {
		return nil, fmt.Errorf("luthier: export %s: %w", w.Name(), errCannot("export"))
	}
	o.WithoutGit = o.WithoutGit || w.place().kind != ofBox
	r, err := e.Export(ctx, o)
	if err != nil {
		return r, fmt.Errorf("luthier: export %s: %w", w.Name(), err)
	}
	return r, nil
}

func errCannot(what string) error { return fmt.Errorf("the sandbox cannot %s", what) }

// Close implements Workspace.
func (w *treeWorkspace) Close() error {
	err := w.tree.Close()
	if w.ownsBox {
		err = errors.Join(err, w.box.Close())
	}
	return err
}
