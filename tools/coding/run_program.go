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

// program is a program that a tool runs to its end and whose standard output it reads as it comes.
type program struct {
	Args    []string
	Dir     string // relative to the workspace
	Env     []string
	Timeout time.Duration
	// Read is given the standard output. What it leaves is discarded.
	Read func(stdout io.Reader) error
	// Merge sends the standard error into the standard output.
	Merge bool
	// LogStdout says that the standard output belongs in the log as it is.
	LogStdout bool
}

// errAbsent means that a program is not installed where programs run.
var errAbsent = errors.New("it is not installed, or not on PATH, where programs run")

// exec runs a program. The log is filled with its standard error and, if asked, its standard
// output.
func (w *Workspace) exec(ctx context.Context, pr program, log *procLog) (*sandbox.Exit, error) {
	outR, outW := io.Pipe()
	cmd := sandbox.Cmd{
		Args: pr.Args, Dir: pr.Dir, Env: w.env(pr.Env...), Limit: -1, MergeStderr: pr.Merge, Timeout: pr.Timeout, Grace: w.cfg.Proc.Grace,
		OnOutput: func(s sandbox.Stream, b []byte) {
			if s == sandbox.Stderr || pr.LogStdout {
				log.Write(b)
			}
			if s == sandbox.Stdout {
				_, _ = outW.Write(b) // the reader drains, whatever it made of it
			}
		},
	}
	read := make(chan error, 1)
	go func() {
		err := pr.Read(outR)
		_, _ = io.Copy(io.Discard, outR)
		read <- err
	}()
	p, err := w.start(cmd)
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
		err = nil // how it ended says it
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
