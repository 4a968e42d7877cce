package luthier_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/checkpoint"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/internal/workspacetest"
	"github.com/luthier-dev/luthier/retrieval"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/tools/coding"
)

// TestWorkspaceConformance: a session of an agent leads to the same results, files, modes, links
// and commit wherever its workspace is, and the host's directory stays as it was.
//
// Evidence: luthier · An agent's session is the same in place, on copies and on another machine
func TestWorkspaceConformance(t *testing.T) {
	tier.Normal(t)
	suite := workspacetest.New(openInPlace)
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
	{name: "snapshot", open: openSnapshot},
	{name: "commit", caps: workspacetest.Caps{Commit: true}, open: openCommit},
	{name: "fork", open: openFork(1)},
	{name: "fork of a fork", open: openFork(2)},
	{name: "fork, adopted", open: openAdopted},
	{name: "copy", open: openCopy, long: true},
	{name: "remote", open: openRemote(0)},
	{name: "remote fork", open: openRemote(1)},
	{name: "remote, asked", open: openAsked, long: true},
	{name: "command over a pipe", caps: workspacetest.Caps{InPlace: true}, open: openPipe},
}

// openInPlace makes the agent that luthier.New makes over a directory.
func openInPlace(t *testing.T, dir string) workspacetest.Workspace {
	box := localBox(t, sandbox.Config{Dir: dir, Unprotect: []string{".git"}})
	w := &wired{name: dir, box: box, model: &turns{}, session: agent.NewSession()}
	c, err := luthier.New(t.Context(), dir, luthier.Options{Model: w.model, Sandbox: box, StateDir: t.TempDir(), Customize: func(_ *coding.Config, cfg *agent.Config) {
		cfg.Policy = nil // allows all
	}})
	must(t, err)
	w.agent, w.index, w.closing = c.Agent, c.Index, []func() error{c.Close}
	return w
}

func openSnapshot(t *testing.T, dir string) workspacetest.Workspace {
	return wireBox(t, localBox(t, sandbox.Config{Snapshot: sandbox.SnapshotDir(dir)}), dir)
}

func openCopy(t *testing.T, dir string) workspacetest.Workspace {
	return wireBox(t, localBox(t, sandbox.Config{Snapshot: sandbox.SnapshotDir(dir), Floor: sandbox.TierLandlock, Ceiling: sandbox.TierLandlock}), dir)
}

// openCommit opens a snapshot of the commit with a repository.
func openCommit(t *testing.T, dir string) workspacetest.Workspace {
	return wireBox(t, localBox(t, sandbox.Config{Snapshot: sandbox.SnapshotCommit(dir, "HEAD").WithGit()}), dir)
}

// openFork opens a fork of a fork, and so on, of a snapshot.
func openFork(generations int) workspacetest.Open {
	return func(t *testing.T, dir string) workspacetest.Workspace {
		box := localBox(t, sandbox.Config{Snapshot: sandbox.SnapshotDir(dir)})
		for range generations {
			box = forkBox(t, box)
		}
		return wireBox(t, box, dir)
	}
}

// adopted is a session on a fork that its parent adopts at the end.
type adopted struct {
	*wired
	parent sandbox.Sandbox
}

func openAdopted(t *testing.T, dir string) workspacetest.Workspace {
	parent := localBox(t, sandbox.Config{Snapshot: sandbox.SnapshotDir(dir)})
	return &adopted{wireBox(t, forkBox(t, parent), dir), parent}
}

func (a *adopted) Finish(ctx context.Context) error {
	fork := a.box
	if err := a.wired.Close(); err != nil {
		return err
	}
	a.closing = nil
	adopter, ok := sandbox.As[sandbox.Adopter](a.parent)
	if !ok {
		return errors.New("the parent cannot adopt")
	}
	if err := adopter.Adopt(ctx, fork); err != nil {
		return err
	}
	a.box = a.parent
	tree, err := adopter.(sandbox.Treer).Tree(ctx)
	a.tree = tree
	a.closing = append(a.closing, tree.Close)
	return err
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
		left, err := os.ReadDir(cfg.ScratchDir)
		if err != nil || len(left) > 0 {
			t.Errorf("the sandbox left %v in its scratch directory, %v", left, err)
		}
	})
	return box
}

func forkBox(t *testing.T, box sandbox.Sandbox) sandbox.Sandbox {
	t.Helper()
	forker, ok := sandbox.As[sandbox.Forker](box)
	if !ok {
		t.Fatal("the sandbox cannot be forked")
	}
	fork, err := forker.Fork(t.Context())
	must(t, err)
	t.Cleanup(func() { must(t, fork.Close()) })
	return fork
}

func wireBox(t *testing.T, box sandbox.Sandbox, origin string) *wired {
	t.Helper()
	treer, ok := sandbox.As[sandbox.Treer](box)
	if !ok {
		t.Fatal("the sandbox has no tree")
	}
	tree, err := treer.Tree(t.Context())
	must(t, err)
	return wireAgent(t, box, tree, origin)
}

// wired is an agent over a tree, with a scripted model.
type wired struct {
	name    string
	box     sandbox.Sandbox
	tree    *sandbox.Tree // nil in place
	index   *retrieval.Index
	agent   *agent.Agent
	session *agent.Session
	model   *turns
	closing []func() error
}

// wireAgent makes an agent of the parts as luthier.New does, over a tree.
func wireAgent(t *testing.T, box sandbox.Sandbox, tree *sandbox.Tree, origin string) *wired {
	t.Helper()
	w := &wired{name: tree.Name(), box: box, tree: tree, model: &turns{}, session: agent.NewSession()}
	var err error
	w.index, err = retrieval.OpenTree(t.Context(), tree, retrieval.Config{CacheDir: t.TempDir(), GitDir: filepath.Join(origin, ".git")})
	must(t, err)
	work, err := coding.OpenTree(tree, coding.Config{Index: luthier.CodingIndex(w.index), Reviewed: true, Proc: coding.ProcConfig{Sandbox: box}})
	must(t, err)
	store, err := checkpoint.OpenTree(tree, t.TempDir(), checkpoint.Options{})
	must(t, err)
	list, err := work.Tools()
	must(t, err)
	files := agent.Instructions{Workspace: tree.Name(), Tree: tree, Decode: coding.DecodeText}
	w.agent, err = agent.New(agent.Config{Model: w.model, Tools: list, Checkpointer: store, Middleware: []agent.Middleware{files.Nested()}})
	must(t, err)
	w.closing = []func() error{work.Close, w.index.Close, store.Close, tree.Close}
	return w
}
