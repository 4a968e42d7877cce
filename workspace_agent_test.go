package luthier_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/workspacetest"
	"github.com/luthier-dev/luthier/sandbox"
)

// turns is a model whose script is set before each turn.
type turns struct{ script *agenttest.Scripted }

func (m *turns) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return m.script.Stream(ctx, req)
}

func (w *wired) Name() string { return w.name }

func (w *wired) View(ctx context.Context, f func(*os.Root) error) error {
	if w.tree != nil {
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
	if w.index != nil {
		// What search answers must not depend on time.
		if err := errors.Join(w.index.Wait(ctx), w.index.Update(ctx)); err != nil {
			return nil, err
		}
	}
	var got []workspacetest.Result
	for ev, err := range w.agent.Run(ctx, w.session, agent.Text{Text: "go on"}) {
		if err != nil {
			return got, err
		}
		switch ev := ev.(type) {
		case agent.CallDone:
			got = append(got, workspacetest.Result{Text: ev.Result.Text(), IsError: ev.Result.IsError})
		case agent.Done:
			if ev.Result.Stop != agent.StopDone {
				return got, fmt.Errorf("the turn stopped with %s", ev.Result.Stop)
			}
		}
	}
	return got, nil
}

func (w *wired) Undo(ctx context.Context) error {
	_, err := w.agent.Undo(ctx, w.session)
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

// Close closes the parts, the last one first. The test closes the sandbox.
func (w *wired) Close() error {
	for _, f := range w.closing {
		if err := f(); err != nil {
			return err
		}
	}
	w.closing = nil
	return nil
}
