package luthier_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/internal/workspacetest"
	"github.com/luthier-dev/luthier/retrieval"
	"github.com/luthier-dev/luthier/sandbox"
)

// TestWorkspaceConformance: a session of an agent leads to the same results, files, modes, links
// and commit wherever its workspace is, and the host's directory stays as it was. Outside the long
// tier a part of the arrangements runs.
//
// Evidence: luthier · A session is the same in place, on copies, forks and other machines
func TestWorkspaceConformance(t *testing.T) {
	tier.Normal(t)
	suite := workspacetest.New(openInPlace, openWithoutLog)
	for _, a := range arrangements {
		t.Run(a.name, func(t *testing.T) {
			if a.long && !tier.Long() {
				t.Skip("in the long tier")
			}
			suite.Run(t, a.caps, a.open)
		})
	}
}

// An arrangement is a way to give an agent a workspace.
type arrangement struct {
	name string
	caps workspacetest.Caps
	open workspacetest.Open
	long bool // only in the long tier
}

var arrangements = []arrangement{
	{name: "in place again", caps: workspacetest.Caps{InPlace: true}, open: openInPlace, long: true},
	{name: "snapshot", open: openSnapshot, long: true},
	{name: "commit", caps: workspacetest.Caps{Commit: true}, open: openCommit},
	{name: "fork", open: openFork(1), long: true},
	{name: "fork of a fork", open: openFork(2)},
	{name: "fork, adopted", open: openAdopted, long: true},
	{name: "dry run", open: openDry, long: true},
	{name: "dry run in place", caps: workspacetest.Caps{InPlace: true}, open: openDryInPlace, long: true},
	{name: "remote", open: openRemote(0)},
	{name: "remote fork", open: openRemote(1), long: true},
	{name: "remote, asked", open: openAsked, long: true},
	{name: "command over a pipe", caps: workspacetest.Caps{InPlace: true}, open: openCommand, long: true},
	{name: "copy", caps: workspacetest.Caps{NoLog: true}, open: openCopy, long: true},
}

// openInPlace makes an agent over a directory, whose repository it may write.
func openInPlace(t *testing.T, dir string) workspacetest.Workspace {
	box := localBox(t, sandbox.Config{Dir: dir, Unprotect: []string{".git"}})
	return newWired(t, box, dir, luthier.Options{Sandbox: box})
}

// openWithoutLog is openInPlace with an index that reads no git log.
func openWithoutLog(t *testing.T, dir string) workspacetest.Workspace {
	index, err := retrieval.Open(t.Context(), dir, retrieval.Config{CacheDir: t.TempDir(), NoHistory: true})
	must(t, err)
	box := localBox(t, sandbox.Config{Dir: dir, Unprotect: []string{".git"}})
	w := newWired(t, box, dir, luthier.Options{Sandbox: box, Index: index})
	w.closing = append(w.closing, index.Close)
	return w
}

func openSnapshot(t *testing.T, dir string) workspacetest.Workspace {
	return over(t, opened(t, luthier.Snapshot(dir)))
}

func openCommit(t *testing.T, dir string) workspacetest.Workspace {
	return over(t, opened(t, luthier.Commit(dir, "HEAD")))
}

// openDry makes an agent whose commands run in trials, which the host then commits.
func openDry(t *testing.T, dir string) workspacetest.Workspace {
	return overWith(t, opened(t, luthier.Snapshot(dir)), luthier.Options{Autonomy: agent.AutonomyDry})
}

func openDryInPlace(t *testing.T, dir string) workspacetest.Workspace {
	box := localBox(t, sandbox.Config{Dir: dir, Unprotect: []string{".git"}})
	return newWired(t, box, dir, luthier.Options{Sandbox: box, Autonomy: agent.AutonomyDry})
}

// openCopy opens a sandbox of a tier that has no overlays. Only its host knows its origin.
func openCopy(t *testing.T, dir string) workspacetest.Workspace {
	box := localBox(t, sandbox.Config{Snapshot: sandbox.SnapshotDir(dir), Floor: sandbox.TierLandlock, Ceiling: sandbox.TierLandlock})
	return over(t, opened(t, luthier.Box(box)))
}

// openRemote opens a copy of the directory on an environment server, or a fork of that and so on.
func openRemote(generations int) workspacetest.Open {
	return func(t *testing.T, dir string) workspacetest.Workspace {
		copyOf := farServer(t, conformingTools(dir))
		w := opened(t, copyOf(dir))
		for range generations {
			w = forked(t, w)
		}
		return over(t, w)
	}
}

// conformingTools makes searches answer as in place.
func conformingTools(dir string) luthier.ToolboxOptions {
	return luthier.ToolboxOptions{Customize: waitForIndex, GitDir: func(sandbox.Sandbox) string { return filepath.Join(dir, ".git") }}
}

// openAsked opens a copy on a server, and asks about every command that may change something.
func openAsked(t *testing.T, dir string) workspacetest.Workspace {
	w := opened(t, farServer(t, conformingTools(dir))(dir))
	return overWith(t, w, luthier.Options{Autonomy: agent.AutonomyEdit})
}

// openCommand opens the directory through another process, over its standard input and output.
func openCommand(t *testing.T, dir string) workspacetest.Workspace {
	return over(t, opened(t, toolhost(dir)))
}

// openFork opens a fork of a fork, and so on, of a snapshot.
func openFork(generations int) workspacetest.Open {
	return func(t *testing.T, dir string) workspacetest.Workspace {
		w := opened(t, luthier.Snapshot(dir))
		for range generations {
			w = forked(t, w)
		}
		return over(t, w)
	}
}

// adopted is a session on a fork that its parent adopts at the end.
type adopted struct {
	*wired
	parent, fork luthier.Workspace
}

func openAdopted(t *testing.T, dir string) workspacetest.Workspace {
	parent := opened(t, luthier.Snapshot(dir))
	fork := forked(t, parent)
	return &adopted{over(t, fork), parent, fork}
}

func (a *adopted) Finish(ctx context.Context) error {
	if err := a.wired.Close(); err != nil {
		return err
	}
	if err := a.parent.Adopt(ctx, a.fork); err != nil {
		return err
	}
	tree, err := treeOf(ctx, a.parent.Sandbox())
	if err != nil {
		return err
	}
	a.box, a.tree, a.closing = a.parent.Sandbox(), tree, []func() error{tree.Close}
	return nil
}

// opened opens a workspace and closes it when the test ends. The test is skipped if this host has
// no sandbox for it, and fails if it leaves anything in the directory for temporary files.
func opened(t *testing.T, from luthier.Source) luthier.Workspace {
	t.Helper()
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	w, err := luthier.Open(t.Context(), from)
	if errors.Is(err, sandbox.ErrFloor) {
		t.Skipf("no such sandbox on this host: %v", err)
	}
	must(t, err)
	t.Cleanup(func() {
		must(t, w.Close())
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("the workspace left %v, %v", left, err)
		}
	})
	return w
}

func forked(t *testing.T, w luthier.Workspace) luthier.Workspace {
	t.Helper()
	fork, err := w.Fork(t.Context())
	must(t, err)
	t.Cleanup(func() { must(t, fork.Close()) })
	return fork
}

// localBox opens a sandbox and closes it when the test ends. The test is skipped if this host does
// not support the tier.
func localBox(t *testing.T, cfg sandbox.Config) sandbox.Sandbox {
	t.Helper()
	cfg.ScratchDir = t.TempDir()
	box, err := sandbox.Local(t.Context(), cfg)
	if errors.Is(err, sandbox.ErrFloor) {
		t.Skipf("no such sandbox on this host: %v", err)
	}
	must(t, err)
	t.Cleanup(func() {
		must(t, box.Close())
		if left, err := os.ReadDir(cfg.ScratchDir); err != nil || len(left) > 0 {
			t.Errorf("the sandbox left %v in its scratch directory, %v", left, err)
		}
	})
	return box
}
