package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"syscall"

	"github.com/luthier-dev/luthier/internal/proctree"
)

// markerEnv marks a command's processes, so that those that left its process group and lost their
// parents can still be distinguished from the user's.
const markerEnv = "LUTHIER_SANDBOX"

// hostSpawner starts plain processes, for TierNone.
type hostSpawner struct {
	id string
	n  atomic.Int64
}

func newHostSpawner() *hostSpawner { return &hostSpawner{id: rand.Text()} }

// startHost opens the workspace with no isolation.
func startHost(_ context.Context, cfg *Config, ws *workspace) (*local, error) {
	if err := ws.materialize(cfg); err != nil {
		return nil, err
	}
	iso := newIsolation(TierNone, Wall{Name: WallEnvironment, Enforced: true, Detail: "allow-list of variables"})
	iso.Missing = []string{
		"commands run as the host's own user, with its files, processes and network",
		"a process that drops its environment, its session and its parent outlives a kill",
	}
	return newLocal(ws, hostEnv(cfg), iso, newHostSpawner()), nil
}

func (h *hostSpawner) spawn(_ context.Context, req spawnRequest) (child, error) {
	marker := h.id + "." + strconv.FormatInt(h.n.Add(1), 10) + ";" // markers are compared as prefixes
	env := mergeEnv(req.env, []string{markerEnv + "=" + marker})
	path, err := findProgram(req.args[0], req.dir, env)
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{
		Path: path, Args: req.args, Dir: req.dir, Env: env,
		Stdin: req.files[0], Stdout: req.files[1], Stderr: req.files[2],
		SysProcAttr: proctree.NewGroup(),
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	tree, err := proctree.Track(cmd.Process, markerEnv+"="+marker)
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, err
	}
	return &hostChild{cmd: cmd, tree: tree}, nil
}

func (h *hostSpawner) alive() bool { return true }

// Close ends what earlier commands left running.
func (h *hostSpawner) Close() error {
	if h.n.Load() == 0 {
		return nil
	}
	return proctree.KillMarked(markerEnv + "=" + h.id + ".")
}

// hostChild is a plain process.
type hostChild struct {
	cmd  *exec.Cmd
	tree *proctree.Tree
}

func (c *hostChild) pid() int { return c.cmd.Process.Pid }

func (c *hostChild) wait() (status, error) {
	err := c.cmd.Wait()
	c.tree.Ended()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return status{Code: -1}, err
	}
	return statusOf(c.cmd.ProcessState), nil
}

func (c *hostChild) signal(sig syscall.Signal) error { return c.tree.Signal(sig) }
func (c *hostChild) kill() error                     { return c.tree.Kill() }
func (c *hostChild) adopt(f *os.File)                { f.Close() }

func statusOf(ps *os.ProcessState) status {
	code, sig := proctree.Status(ps)
	return status{Code: code, Signal: sig, User: ps.UserTime(), System: ps.SystemTime(), MaxRSS: proctree.MaxRSS(ps)}
}
