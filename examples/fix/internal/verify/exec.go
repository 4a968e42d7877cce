package verify

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"syscall"
	"time"

	"github.com/luthier-dev/luthier/internal/proctree"
)

// An Executor runs commands.
type Executor interface {
	// Exec runs args in dir with env (KEY=value) added to the environment and returns standard
	// output and standard error together and the exit status. A command that runs longer than
	// timeout is killed with everything it started; its status is then not zero. Exec returns an
	// error if the command could not be run at all.
	Exec(ctx context.Context, dir string, args, env []string, timeout time.Duration) (output []byte, exit int, err error)
}

// Plain runs commands as ordinary processes with a fixed environment. It is only for trusted code.
type Plain struct {
	Env []string // the whole environment; nil means an empty one
}

// maxOutput limits the part of a command's output that is kept. A variant may print without end.
const maxOutput = 256 << 10

// Exec implements Executor.
func (p Plain) Exec(ctx context.Context, dir string, args, env []string, timeout time.Duration) ([]byte, int, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(append([]string{}, p.Env...), env...)
	cmd.SysProcAttr = proctree.NewGroup()
	cmd.Cancel = func() error { return killGroup(cmd.Process.Pid) }
	cmd.WaitDelay = time.Second
	var out head
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if cmd.Process != nil {
		_ = killGroup(cmd.Process.Pid) // processes that the command left running
	}
	var status *exec.ExitError
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return out.Bytes(), cmd.ProcessState.ExitCode(), nil
	case errors.As(err, &status):
		code, _ := proctree.Status(status.ProcessState)
		return out.Bytes(), code, nil
	case ctx.Err() != nil && cmd.ProcessState != nil:
		return out.Bytes(), 128 + int(syscall.SIGKILL), nil
	}
	return nil, 0, err
}

// head keeps the first maxOutput bytes written to it.
type head struct{ bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	if room := maxOutput - h.Len(); room > 0 {
		h.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
