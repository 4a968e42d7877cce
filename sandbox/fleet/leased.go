package fleet

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/remote"
)

// Leased is a session as a sandbox.Sandbox with its tools, so that an agent can work in it:
//
//	w, err := luthier.Open(ctx, luthier.Box(session.Sandbox()))
//
// The output of a command of Start arrives when the command has ended, at most 1 MiB of each
// stream, and only Kill ends it early: a signal cannot be sent. Closing the box closes the session.
type Leased struct {
	sandbox.Sandbox
	s *Session
}

// Sandbox returns the session as a sandbox.
func (s *Session) Sandbox() *Leased {
	return &Leased{sandbox.FromBackend(s.Dir(), s.Isolation(), boxBackend{s}), s}
}

// ToolCaller implements remote.WithTools.
func (b *Leased) ToolCaller() remote.ToolCaller { return b.s.Tools() }

// Exec runs a command as [Session.Exec] does. One whose input or output is wanted while it runs
// goes the way of Start.
func (b *Leased) Exec(ctx context.Context, cmd sandbox.Cmd) (*sandbox.Exit, error) {
	if cmd.OnOutput != nil || cmd.Spill != nil || cmd.SpillStderr != nil || cmd.OpenStdin {
		return b.Sandbox.Exec(ctx, cmd)
	}
	return b.s.Exec(ctx, cmd)
}

// boxOutput is the most of a stream that a command of Start can have.
const boxOutput = 1 << 20

// boxBackend starts commands in the session.
type boxBackend struct{ s *Session }

func (b boxBackend) Close() error { return b.s.Close() }

// Spawn implements sandbox.Backend.
func (b boxBackend) Spawn(ctx context.Context, sp sandbox.Spawn) (sandbox.Child, error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := sandbox.Cmd{Args: sp.Args, Dir: sp.Dir, Env: sp.Env, Timeout: sp.Timeout, Limit: boxOutput, MergeStderr: sp.Stdout == sp.Stderr}
	if sp.Stdin != nil {
		cmd.Stdin = sp.Stdin
	}
	c := &boxChild{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		defer cancel()
		exit, err := b.s.Exec(ctx, cmd)
		c.killed.Lock()
		defer c.killed.Unlock()
		if exit != nil {
			err = errors.Join(ignoreKilled(err, c.dead), write(sp.Stdout, exit.Stdout.String()))
			if !cmd.MergeStderr {
				err = errors.Join(err, write(sp.Stderr, exit.Stderr.String()))
			}
			c.ended = sandbox.Ended{Code: exit.Code, Signal: exit.Signal, User: exit.User, System: exit.System, MaxRSS: exit.MaxRSS, Exceeded: exit.Exceeded, Denials: exit.Denials}
		} else if c.dead {
			c.ended, err = sandbox.Ended{Code: 128 + int(syscall.SIGKILL), Signal: syscall.SIGKILL}, nil
		}
		c.err = err
		sp.Release()
	}()
	return c, nil
}

func write(f *os.File, text string) error {
	if f == nil {
		return nil
	}
	_, err := io.WriteString(f, text)
	if errors.Is(err, syscall.EPIPE) {
		err = nil // nobody reads it any more
	}
	return err
}

// ignoreKilled returns no error for a command that was killed on purpose.
func ignoreKilled(err error, killed bool) error {
	if killed && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// boxChild is a command that runs in the session.
type boxChild struct {
	cancel context.CancelFunc
	done   chan struct{}

	killed sync.Mutex // guards the fields below
	dead   bool       // Kill was called
	ended  sandbox.Ended
	err    error
}

// PID returns 0: the process has no number here.
func (c *boxChild) PID() int { return 0 }

// Wait implements sandbox.Child.
func (c *boxChild) Wait() (sandbox.Ended, error) {
	<-c.done
	c.killed.Lock()
	defer c.killed.Unlock()
	return c.ended, c.err
}

// Signal ends the command for the signals that end one, and fails for others.
func (c *boxChild) Signal(sig syscall.Signal) error {
	switch sig {
	case syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP:
		return c.Kill()
	}
	return errors.ErrUnsupported
}

// Kill implements sandbox.Child.
func (c *boxChild) Kill() error {
	c.killed.Lock()
	c.dead = true
	c.killed.Unlock()
	c.cancel()
	<-c.done
	return nil
}
