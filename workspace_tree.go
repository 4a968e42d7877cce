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

// Fork implements Workspace.
func (w *treeWorkspace) Fork(ctx context.Context) (Workspace, error) {
	f, ok := sandbox.As[sandbox.Forker](w.box)
	if !ok {
		return nil, fmt.Errorf("luthier: fork %s: %w", w.Name(), errCannot("fork"))
	}
	box, err := f.Fork(ctx)
	if err != nil {
		return nil, fmt.Errorf("luthier: fork %s: %w", w.Name(), err)
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

// Adopt implements Workspace.
func (w *treeWorkspace) Adopt(ctx context.Context, fork Workspace) error {
	m, ok := sandbox.As[sandbox.Merger](w.box)
	if !ok {
		return fmt.Errorf("luthier: adopt a fork of %s: %w", w.Name(), errCannot("adopt"))
	}
	if fork == nil || fork.Sandbox() == nil {
		return fmt.Errorf("luthier: adopt a fork of %s: there is none", w.Name())
	}
	if err := m.Merge(ctx, fork.Sandbox()); err != nil {
		return fmt.Errorf("luthier: adopt a fork of %s: %w", w.Name(), err)
	}
	return fork.Close()
}

// Export implements Workspace.
func (w *treeWorkspace) Export(ctx context.Context, o sandbox.ExportOptions) (*sandbox.Review, error) {
	if w.at.kind == inPlace {
		return nil, fmt.Errorf("luthier: export %s: %w", w.Name(), sandbox.ErrInPlace)
	}
	e, ok := sandbox.As[sandbox.Exporter](w.box)
	if !ok {
		return nil, fmt.Errorf("luthier: export %s: %w", w.Name(), errCannot("export"))
	}
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
