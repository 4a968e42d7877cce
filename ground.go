package luthier

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/checkpoint"
	"github.com/luthier-dev/luthier/retrieval"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/tools/coding"
)

// ground holds what an agent stands on: a directory in place, or the tree of a sandbox.
type ground struct {
	dir       string        // the directory in place, without symbolic links
	tree      *sandbox.Tree // the tree, if it is not a directory in place
	far       *farWorkspace // the workspace, if it is on another machine
	workspace Workspace     // what Options.Workspace says; nil if that is nothing
}

// groundOf returns the ground that New's arguments name.
func groundOf(dir string, opts *Options) (ground, error) {
	if opts.Workspace == nil {
		real, err := realDir(dir)
		return ground{dir: real}, err
	}
	switch {
	case dir != "":
		return ground{}, fmt.Errorf("the directory is %q, but Options.Workspace says where to work; pass an empty directory", dir)
	case opts.Sandbox != nil:
		return ground{}, errors.New("both Options.Sandbox and Options.Workspace are set; set the first to work in place, the second to work elsewhere")
	case opts.NoSandbox:
		return ground{}, errors.New("Options.NoSandbox runs programs in a directory in place, but Options.Workspace is another place; leave one out")
	}
	g := opts.Workspace.ground()
	if g.far != nil && opts.Index != nil {
		return ground{}, errors.New("Options.Index is set, but Options.Workspace is on another machine, where its index is; leave Index out")
	}
	return g, nil
}

// inPlace reports whether the ground is a directory of this machine in place.
func (g *ground) inPlace() bool { return g.tree == nil && g.far == nil }

// forks reports whether the ground is one that can be forked.
func (g *ground) forks() bool {
	return !g.inPlace() && g.workspace.place().kind != ofCommand
}

// name returns the workspace's path as commands and the model see it.
func (g *ground) name() string {
	switch {
	case g.tree != nil:
		return g.tree.Name()
	case g.far != nil:
		return g.far.Name()
	}
	return g.dir
}

// origin returns what keys the state that outlives the workspace, such as sessions: the directory
// that it is, or is a copy of.
func (g *ground) origin() string {
	if g.inPlace() {
		return g.dir
	}
	at := g.workspace.place()
	switch {
	case at.Server != "" && at.Dir != "":
		return at.Server + " " + at.Dir
	case at.Server != "":
		return at.Server
	case at.Dir != "":
		return at.Dir
	}
	return filepath.Join(g.name(), firstPart(g.workspace.ID()))
}

// label returns a path with the name of what origin returns.
func (g *ground) label() string {
	if g.workspace != nil && g.workspace.place().Dir != "" {
		return g.workspace.place().Dir
	}
	return g.name()
}

func (g *ground) tools(cfg coding.Config) (*coding.Workspace, error) {
	if g.tree != nil {
		return coding.OpenTree(g.tree, cfg)
	}
	return coding.Open(g.dir, cfg)
}

func (g *ground) index(ctx context.Context, cfg retrieval.Config) (*retrieval.Index, error) {
	if g.tree == nil {
		return retrieval.Open(ctx, g.dir, cfg)
	}
	at := g.workspace.place()
	cfg.Temporary = at.Fork
	if _, err := os.Lstat(filepath.Join(at.Dir, ".git")); at.Dir != "" && err == nil {
		cfg.GitDir, cfg.Head = at.Dir, at.Commit // never the one inside, which commands can write
	}
	return retrieval.OpenTree(ctx, g.tree, cfg)
}

func (g *ground) instructions() agent.Instructions {
	out := agent.Instructions{Workspace: g.name(), Decode: coding.DecodeText}
	if g.tree != nil {
		out.Tree = g.tree
	}
	return out
}

func (g *ground) checkpoints(state string) (*checkpoint.Store, error) {
	if g.tree != nil {
		return checkpoint.OpenTree(g.tree, filepath.Join(state, "checkpoints"), checkpoint.Options{})
	}
	return checkpoint.Open(g.dir, filepath.Join(state, "checkpoints"), checkpoint.Options{})
}
