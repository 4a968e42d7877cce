package luthier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/remote"
)

// Remote is a copy of a directory of this machine, or an empty workspace, in a sandbox of an
// environment server; see [remote.Open]. The server must have tools, such as those of [ServeTools]:
// they run there, next to the sandbox. The changes come back with [Workspace.Export].
func Remote(o remote.Options) Source {
	return Source{"sandbox at " + o.URL, func(ctx context.Context) (Workspace, error) {
		at := place{kind: ofServer, Server: o.URL}
		if o.Dir != "" {
			dir, err := realDir(o.Dir)
			if err != nil {
				return nil, err
			}
			o.Dir, at.Dir = dir, dir
		}
		box, err := remote.Open(ctx, o)
		if err != nil {
			return nil, err
		}
		return ownedFar(ctx, box, at)
	}}
}

// Command is a workspace that a command of this machine reaches: the command must run a toolhost on
// its standard input and output, such as "docker exec -i ID coder toolhost" or "ssh HOST coder
// toolhost"; see [remote.DialCommand]. The agent's tools run there and change files in place. There
// is nothing to export and nothing can be forked.
func Command(argv ...string) Source {
	name := strings.Join(argv, " ")
	return Source{"command " + name, func(ctx context.Context) (Workspace, error) {
		box, err := remote.DialCommand(ctx, argv...)
		if err != nil {
			return nil, err
		}
		return ownedFar(ctx, box, place{kind: ofCommand, Server: name})
	}}
}

// farWorkspace is a workspace on another machine, with the tools next to it.
type farWorkspace struct {
	at      place
	box     sandbox.Sandbox
	tools   remote.ToolCaller
	can     *remote.Specs
	specs   farSpecs
	ownsBox bool
}

func ownedFar(ctx context.Context, box sandbox.Sandbox, at place) (Workspace, error) {
	w, err := openFar(ctx, box, at)
	if err != nil {
		return nil, errors.Join(err, box.Close())
	}
	w.ownsBox = true
	return w, nil
}

// openFar opens the workspace of a sandbox that has tools next to it.
func openFar(ctx context.Context, box sandbox.Sandbox, at place) (*farWorkspace, error) {
	with, ok := sandbox.As[remote.WithTools](box)
	if !ok {
		return nil, errNoTree
	}
	w := &farWorkspace{at: at, box: box, tools: with.ToolCaller()}
	var err error
	if w.can, err = w.tools.Specs(ctx); errors.Is(err, remote.ErrNoTools) {
		return nil, fmt.Errorf("%w; its operator sets remote.Config.Tools to luthier.ServeTools", err)
	}
	if err == nil {
		err = json.Unmarshal(w.can.Tools, &w.specs)
	}
	if err != nil {
		return nil, err
	}
	if w.specs.Version != farVersion || w.specs.Box == "" || !w.can.Prepares {
		return nil, fmt.Errorf("its tools have version %d of the protocol and this program has version %d; install the same version on both sides", w.specs.Version, farVersion)
	}
	return w, nil
}

func (w *farWorkspace) Name() string             { return w.specs.Name }
func (w *farWorkspace) ID() string               { return w.specs.ID }
func (w *farWorkspace) Sandbox() sandbox.Sandbox { return w.box }
func (w *farWorkspace) place() *place            { return &w.at }
func (w *farWorkspace) ground() ground           { return ground{far: w, workspace: w} }

// where says in words where the workspace is.
func (w *farWorkspace) where() string {
	if w.at.Server == "" {
		return "another machine"
	}
	return w.at.Server
}

// Fork implements Workspace.
func (w *farWorkspace) Fork(ctx context.Context) (Workspace, error) {
	box, err := forkBox(ctx, w)
	if err != nil {
		return nil, err
	}
	at := w.at
	at.Fork = true
	f, err := ownedFar(ctx, box, at)
	if err != nil {
		return nil, fmt.Errorf("luthier: fork %s: %w", w.Name(), err)
	}
	return f, nil
}

// Adopt implements Workspace.
func (w *farWorkspace) Adopt(ctx context.Context, fork Workspace) error { return adopt(ctx, w, fork) }

// Export implements Workspace.
func (w *farWorkspace) Export(ctx context.Context, o sandbox.ExportOptions) (*sandbox.Review, error) {
	return export(ctx, w, o)
}

// Close implements Workspace.
func (w *farWorkspace) Close() error {
	if w.ownsBox {
		return w.box.Close()
	}
	return nil
}

// instructions returns the instructions that apply to a folder.
func (w *farWorkspace) instructions(ctx context.Context, dir string) ([]agent.Instruction, error) {
	if !w.can.Instructs {
		return nil, nil
	}
	raw, err := w.tools.Instructions(ctx, dir)
	var found []farInstruction
	if err == nil {
		err = json.Unmarshal(raw, &found)
	}
	var out []agent.Instruction
	for _, i := range found {
		out = append(out, agent.Instruction(i))
	}
	return out, err
}

// Snapshot implements agent.Checkpointer.
func (w *farWorkspace) Snapshot(ctx context.Context, label string) (string, error) {
	return w.tools.Snapshot(ctx, label)
}

// Restore implements agent.Checkpointer.
func (w *farWorkspace) Restore(ctx context.Context, id string) (string, error) {
	return w.tools.Restore(ctx, id)
}
