package coding

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/sandbox"
)

// program is a program that a tool runs to its end, reading its standard output as it arrives.
type program struct {
	Args    []string
	Dir     string // relative to the workspace
	Env     []string
	Timeout time.Duration
	// Read receives the standard output. Whatever it does not read is discarded.
	Read func(stdout io.Reader) error
	// Merge redirects the standard error to the standard output.
	Merge bool
	// LogStdout copies the standard output to the log unchanged.
	LogStdout bool
}

// errAbsent means that a program is not installed where programs run.
var errAbsent = errors.New("it is not installed, or not on PATH, where programs run")

// exec runs a program. It writes the standard error and, if requested, the standard output to the
// log.
func (w *Workspace) exec(ctx context.Context, pr program, log *procLog) (*sandbox.Exit, error) {
	box, done, err := w.execIn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	outR, outW := io.Pipe()
	cmd := sandbox.Cmd{
		Args: pr.Args, Dir: pr.Dir, Env: w.env(pr.Env...), Limit: -1, MergeStderr: pr.Merge, Timeout: pr.Timeout, Grace: w.cfg.Proc.Grace,
		OnOutput: func(s sandbox.Stream, b []byte) {
			if s == sandbox.Stderr || pr.LogStdout {
				log.Write(b)
			}
			if s == sandbox.Stdout {
				_, _ = outW.Write(b) // keep draining the reader, even if it fails
			}
		},
	}
	read := make(chan error, 1)
	go func() {
		err := pr.Read(outR)
		_, _ = io.Copy(io.Discard, outR)
		read <- err
	}()
	p, err := w.start(box, cmd)
	if err != nil {
		outW.Close()
		<-read
		if errors.Is(err, exec.ErrNotFound) || strings.Contains(pr.Args[0], "/") && errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w", pr.Args[0], errAbsent)
		}
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = p.Kill() })
	defer stop()
	showProgress(ctx, p, log)
	exit, err := p.Wait()
	outW.Close()
	if readErr := <-read; err == nil && readErr != nil {
		err = fmt.Errorf("read the output of %s: %w", pr.Args[0], readErr)
	}
	if exit != nil && ctx.Err() != nil {
		exit.Canceled = true
	}
	if exit != nil && (exit.Canceled || exit.TimedOut) {
		err = nil // the exit status says how it ended
	}
	return exit, err
}

// showProgress shows a program's log to the host until it ends.
func showProgress(ctx context.Context, p *sandbox.Process, log *procLog) {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.Done():
			return
		case <-tick.C:
			if s := log.progress(); s != "" {
				agent.Progress(ctx, s)
			}
		}
	}
}
