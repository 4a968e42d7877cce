package fleet

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/remote"
)

// hostSession is a leased box and the commands in it.
type hostSession struct {
	key   string
	epoch uint64
	ttl   time.Duration
	ctx   context.Context // ends with the session
	end   context.CancelFunc

	ready chan struct{} // closed once box or err is set
	box   Box
	err   error

	mu       sync.Mutex
	verified time.Time // when the lease was last known to be valid
	had      uint64    // commands with lower numbers have ended and their outcomes were dropped
	commands map[uint64]*hostCommand
	running  sync.WaitGroup
	over     bool

	opener  func(context.Context, Box) (remote.Toolbox, error) // HostConfig.Tools
	log     *slog.Logger
	tools   *remote.ToolServer // nil until it is used
	toolDir string
}

// hostCommand is a command, or a request about tools, and, later, its outcome.
type hostCommand struct {
	cancel context.CancelFunc
	done   chan struct{}
	exit   *sandbox.Exit
	tool   *toolAnswer // of a request about tools
	err    error
}

// maxCommands limits the outcomes that a session keeps for a client that does not fetch them.
const maxCommands = 256

var (
	errForgotten = errors.New("the outcome of this command was fetched already")
	errTooMany   = errors.New("too many commands whose outcome was not fetched; wait for some")
)

// command begins a command, or finds it if it has already begun.
func (s *hostSession) command(r *hostRequest) (*hostCommand, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range s.commands {
		if n < r.Had {
			delete(s.commands, n)
		}
	}
	s.had = max(s.had, r.Had)
	if c := s.commands[r.Number]; c != nil {
		return c, nil
	}
	switch {
	case s.over:
		return nil, ErrLost
	case r.Number < s.had:
		return nil, errForgotten
	case len(s.commands) >= maxCommands:
		return nil, errTooMany
	}
	ctx, cancel := context.WithCancel(s.ctx)
	c := &hostCommand{cancel: cancel, done: make(chan struct{})}
	s.commands[r.Number] = c
	s.running.Go(func() {
		defer close(c.done)
		defer cancel()
		if r.Op == opTool {
			c.tool, c.err = s.tool(ctx, r.Tool)
			return
		}
		c.exit, c.err = s.box.Exec(ctx, r.Command.Cmd())
		c.exit = clip(c.exit)
	})
	return c, nil
}

// cancelCommand ends a command, or prevents it from beginning.
func (s *hostSession) cancelCommand(number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.commands[number]; c != nil {
		c.cancel()
		return
	}
	if number >= s.had && !s.over && number != 0 {
		c := &hostCommand{cancel: func() {}, done: make(chan struct{}), err: context.Canceled}
		close(c.done)
		s.commands[number] = c
	}
}

// age returns the time since the lease was last known to be valid.
func (s *hostSession) age() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.verified)
}

// close kills running commands, ends the box and returns when both are gone.
func (s *hostSession) close() error {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.end()
	<-s.ready
	err := s.closeTools()
	s.running.Wait()
	if s.box == nil {
		return err
	}
	return errors.Join(err, s.box.Close())
}
