package luthier_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/workspacetest"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/tools/coding"
)

// far is a session over a workspace on another machine, whose files this process cannot open.
type far struct{ on *wired }

func (f far) Name() string { return f.on.name }
func (f far) Play(ctx context.Context, calls []workspacetest.Call) ([]workspacetest.Result, error) {
	return f.on.Play(ctx, calls)
}
func (f far) Undo(ctx context.Context) error                          { return f.on.Undo(ctx) }
func (f far) Exec(ctx context.Context, script string) (string, error) { return f.on.Exec(ctx, script) }
func (f far) Close() error                                            { return f.on.Close() }

// wireFar makes the agent that luthier.New makes over a workspace on another machine.
func wireFar(t *testing.T, w luthier.Workspace, opts luthier.Options) *wired {
	t.Helper()
	out := &wired{name: w.Name(), box: w.Sandbox(), model: &turns{}, session: agent.NewSession()}
	opts.Model, opts.Workspace, opts.StateDir = out.model, w, t.TempDir()
	c, err := luthier.New(t.Context(), "", opts)
	must(t, err)
	out.agent, out.closing = c.Agent, []func() error{c.Close}
	return out
}

// unasked makes an agent allow every call.
func unasked(_ *coding.Config, cfg *agent.Config) { cfg.Policy = nil }

// conformingTools makes searches answer as in place.
func conformingTools(dir string) luthier.ToolboxOptions {
	return luthier.ToolboxOptions{Customize: waitForIndex, GitDir: func(sandbox.Sandbox) string { return filepath.Join(dir, ".git") }}
}

// openRemote opens a copy on an environment server, and forks it several times.
func openRemote(forks int) workspacetest.Open {
	return func(t *testing.T, dir string) workspacetest.Workspace {
		w := openWorkspace(t, farServer(t, conformingTools(dir))(dir))
		for range forks {
			f, err := w.Fork(t.Context())
			must(t, err)
			t.Cleanup(func() { must(t, f.Close()) })
			w = f
		}
		return far{wireFar(t, w, luthier.Options{Customize: unasked})}
	}
}

// openAsked opens a copy on a server, and asks about every call that changes something.
func openAsked(t *testing.T, dir string) workspacetest.Workspace {
	w := openWorkspace(t, farServer(t, conformingTools(dir))(dir))
	return far{wireFar(t, w, luthier.Options{Ask: func(context.Context, *agent.PermissionRequest, agent.Verdict) agent.Answer {
		return agent.Answer{Allow: true}
	}})}
}

// openPipe works on the directory itself, through a command.
func openPipe(t *testing.T, dir string) workspacetest.Workspace {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip(err)
	}
	w := openWorkspace(t, toolhost(dir))
	return far{wireFar(t, w, luthier.Options{Customize: unasked})}
}
