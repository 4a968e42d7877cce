package luthier_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"testing"
	"time"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/workspacetest"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/tools/coding"
)

// turns is a model whose script is set before each turn.
type turns struct{ script *agenttest.Scripted }

func (m *turns) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return m.script.Stream(ctx, req)
}

// wired is an agent with a scripted model over a workspace.
type wired struct {
	name    string
	box     sandbox.Sandbox
	tree    *sandbox.Tree // nil in place and on another machine
	far     bool          // on another machine
	coder   *luthier.Coder
	session *agent.Session
	model   *turns
	closing []func() error
}

// over makes an agent over a workspace.
func over(t *testing.T, w luthier.Workspace) *wired {
	t.Helper()
	return overWith(t, w, luthier.Options{})
}

func overWith(t *testing.T, w luthier.Workspace, opts luthier.Options) *wired {
	t.Helper()
	opts.Workspace = w
	a := newWired(t, w.Sandbox(), "", opts)
	a.name = w.Name()
	if _, ok := sandbox.As[sandbox.Treer](a.box); !ok {
		a.far = true
		return a
	}
	var err error
	a.tree, err = treeOf(t.Context(), a.box)
	must(t, err)
	a.closing = append(a.closing, a.tree.Close)
	return a
}

// newWired makes an agent that may do everything, or whose host allows everything if opts name an
// autonomy.
func newWired(t *testing.T, box sandbox.Sandbox, dir string, opts luthier.Options) *wired {
	t.Helper()
	w := &wired{name: box.Dir(), box: box, model: &turns{}, session: agent.NewSession()}
	opts.Model, opts.StateDir, opts.Ask = w.model, t.TempDir(), allowAll
	if opts.Autonomy == agent.AutonomyAsk {
		opts.Customize = func(_ *coding.Config, cfg *agent.Config) { cfg.Policy = nil }
	}
	var err error
	w.coder, err = luthier.New(t.Context(), dir, opts)
	must(t, err)
	w.closing = []func() error{w.coder.Close}
	return w
}

func treeOf(ctx context.Context, box sandbox.Sandbox) (*sandbox.Tree, error) {
	treer, ok := sandbox.As[sandbox.Treer](box)
	if !ok {
		return nil, errors.New("the sandbox has no tree")
	}
	return treer.Tree(ctx)
}

func (w *wired) Name() string { return w.name }

func (w *wired) View(ctx context.Context, f func(*os.Root) error) error {
	switch {
	case w.far:
		return errors.ErrUnsupported
	case w.tree != nil:
		return w.tree.View(ctx, f)
	}
	root, err := os.OpenRoot(w.name)
	if err != nil {
		return err
	}
	return errors.Join(f(root), root.Close())
}

// Play implements [workspacetest.Workspace]: the model makes one call a step.
func (w *wired) Play(ctx context.Context, calls []workspacetest.Call) ([]workspacetest.Result, error) {
	var script []agenttest.Turn
	for i, c := range calls {
		script = append(script, agenttest.Call(fmt.Sprint("c", i), c.Tool, string(c.Args)))
	}
	w.model.script = agenttest.Script(append(script, agenttest.Text("done"))...)
	// In place the index watches the directory: what search answers must not depend on when.
	if x := w.coder.Index; x != nil {
		if err := errors.Join(x.Wait(ctx), x.Update(ctx)); err != nil {
			return nil, err
		}
	}
	var got []workspacetest.Result
	for ev, err := range w.coder.Run(ctx, w.session, agent.Text{Text: "go on"}) {
		if err != nil {
			return got, err
		}
		switch ev := ev.(type) {
		case agent.CallDone:
			got = append(got, workspacetest.Result{Text: ev.Result.Text(), IsError: ev.Result.IsError})
		case agent.Done:
			if ev.Result.Stop != agent.StopDone {
				return got, fmt.Errorf("the turn stopped with %s: %s %w", ev.Result.Stop, ev.Result.Detail, ev.Result.Err)
			}
		}
	}
	return got, nil
}

func (w *wired) Undo(ctx context.Context) error {
	_, err := w.coder.Undo(ctx, w.session)
	return err
}

func (w *wired) Exec(ctx context.Context, script string) (string, error) {
	exit, err := w.box.Exec(ctx, sandbox.Cmd{Args: []string{"sh", "-c", script}, Limit: 1 << 20, Timeout: time.Minute})
	if err != nil {
		return "", err
	}
	if !exit.Success() {
		return "", fmt.Errorf("%v: %s%s", exit, exit.Stdout, exit.Stderr)
	}
	return exit.Stdout.String(), nil
}

// Close closes the agent. The test closes the workspace.
func (w *wired) Close() error {
	for _, f := range w.closing {
		if err := f(); err != nil {
			return err
		}
	}
	w.closing = nil
	return nil
}

func toolNamed(t *testing.T, w *coding.Workspace, name string) agent.Tool {
	t.Helper()
	list, err := w.Tools()
	must(t, err)
	for _, tool := range list {
		if tool.Spec().Name == name {
			return tool
		}
	}
	t.Fatalf("there is no tool %s", name)
	return nil
}
