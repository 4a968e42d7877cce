package luthier

import (
	"context"
	"errors"
	"fmt"

	"github.com/luthier-dev/luthier/sandbox"
)

// Workspace is where an agent works: a directory in place, or a copy of one that only the sandbox
// around it can see, on this machine or on another. The tools, the checkpoints, the index and
// AGENTS.md of an agent over a workspace all work on the same tree. [Open] makes one, and
// Options.Workspace names it to [New].
//
// A workspace outlives the agents over it. Close it after them.
type Workspace interface {
	// Name is the workspace's path as commands and the model see it. It is text: on this machine it
	// may name another directory, or none.
	Name() string
	// ID identifies the workspace. A fork has the ID of its origin and a text of its own.
	ID() string
	// Sandbox runs commands in the workspace.
	Sandbox() sandbox.Sandbox
	// Fork returns a second workspace in the present state of this one. Nothing is copied if the
	// workspace is an overlay. It fails with sandbox.ErrInPlace for a directory in place, and with
	// sandbox.ErrBusy while a command runs. Both workspaces must be closed, in any order.
	Fork(ctx context.Context) (Workspace, error)
	// Adopt makes what changed in a fork of this workspace part of it, and closes the fork. If this
	// workspace has changed since the fork too, it takes over the changed paths, unless one of them
	// is different here: then nothing is changed, the fork stays open, and the error is
	// sandbox.ErrConflict, which names them.
	Adopt(ctx context.Context, fork Workspace) error
	// Export brings the changes out of the sandbox after a review: to the directory that the
	// workspace is a copy of, to another directory, or as a patch. See sandbox.Exporter. The .git
	// stays inside, with the commits that were made there, unless the workspace is that of a [Box].
	Export(ctx context.Context, o sandbox.ExportOptions) (*sandbox.Review, error)
	// Close ends what runs in the workspace and drops what was not exported.
	Close() error

	place() *place
	ground() ground
}

// A Source is where the content of a workspace comes from. It only says so; [Open] opens it.
type Source struct {
	name string
	open func(ctx context.Context) (Workspace, error)
}

// String returns the source's name for messages, such as "commit HEAD of /repo".
func (s Source) String() string { return s.name }

// Open opens a workspace. With a sandbox on this machine, which every source but [Remote] and
// [Command] uses, the program must call [sandbox.Init] first thing in main.
func Open(ctx context.Context, from Source) (Workspace, error) {
	if from.open == nil {
		return nil, errors.New("luthier: open workspace: the Source is empty; make one with InPlace, Snapshot, Commit, Box, Remote or Command")
	}
	w, err := from.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("luthier: open workspace: %s: %w", from.name, err)
	}
	return w, nil
}

// InPlace is a directory of this machine: what the agent changes is changed there.
func InPlace(dir string) Source {
	return Source{dir + " in place", func(ctx context.Context) (Workspace, error) {
		dir, err := realDir(dir)
		if err != nil {
			return nil, err
		}
		return openLocal(ctx, sandbox.Config{Dir: dir}, place{kind: inPlace, Dir: dir})
	}}
}

// Snapshot is a copy of a directory as it is when the workspace is opened. Where the host has
// overlays nothing is copied, and the directory should not be changed while the workspace is open.
// To keep working there, use [Commit].
func Snapshot(dir string) Source {
	return Source{"snapshot of " + dir, func(ctx context.Context) (Workspace, error) {
		dir, err := realDir(dir)
		if err != nil {
			return nil, err
		}
		return openLocal(ctx, sandbox.Config{Snapshot: sandbox.SnapshotDir(dir).WithGit()}, place{kind: ofDirectory, Dir: dir})
	}}
}

// Commit is the tree of a commit of the git repository that contains dir, with a .git that has the
// repository's history. ref names the commit as for git rev-parse. Changes of the work tree that
// are not committed are not in it, and nothing that happens in either is seen in the other.
func Commit(dir, ref string) Source {
	return Source{fmt.Sprintf("commit %s of %s", ref, dir), func(ctx context.Context) (Workspace, error) {
		dir, err := realDir(dir)
		if err != nil {
			return nil, err
		}
		snap, err := sandbox.SnapshotCommit(dir, ref).WithGit().Resolve()
		if err != nil {
			return nil, err
		}
		return openLocal(ctx, sandbox.Config{Snapshot: snap}, place{kind: ofCommit, Dir: dir, Commit: snap.Commit()})
	}}
}

// Box is the workspace of a sandbox that the host opened itself: with a network, with limits, from
// a pool, on another machine with tools next to it ([remote.WithTools]). The host closes it, after
// the workspace.
func Box(box sandbox.Sandbox) Source {
	return Source{"the sandbox", func(ctx context.Context) (Workspace, error) {
		if box == nil {
			return nil, errors.New("it is nil")
		}
		at := place{kind: ofBox}
		if _, ok := sandbox.As[sandbox.Treer](box); ok {
			w, err := openBox(ctx, box, at)
			if err != nil {
				return nil, err
			}
			return w, nil
		}
		w, err := openFar(ctx, box, at)
		if err != nil {
			return nil, err
		}
		return w, nil
	}}
}

func openLocal(ctx context.Context, cfg sandbox.Config, p place) (Workspace, error) {
	box, err := sandbox.Local(ctx, cfg)
	if err != nil {
		return nil, err
	}
	w, err := openBox(ctx, box, p)
	if err != nil {
		return nil, errors.Join(err, box.Close())
	}
	w.ownsBox = true
	return w, nil
}

// place says where a workspace is and what it was made of, as the log of a session records it.
type place struct {
	kind   string
	Dir    string // the directory on this machine that it is, or is a copy of; empty if unknown
	Commit string // the commit's hash, if it is a copy of one
	Fork   bool   // it is a fork
	Server string // how it is reached, if it is on another machine: an address or a command
}

// The kinds of places.
const (
	inPlace     = "in place"
	ofDirectory = "snapshot"
	ofCommit    = "commit"
	ofBox       = "sandbox"
	ofServer    = "server"
	ofCommand   = "command"
)
