package luthier

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/tools/coding"
)

// Attempt is one of several tries at a task.
type Attempt struct {
	Result    *agent.Result // how the run ended
	SessionID string        // of its session, which Coder.Sessions lists
	Score     float64       // what grade returned; NaN if the attempt was not graded
	Err       error         // why it could not be run or graded
}

// Best is the outcome of [BestOf].
type Best struct {
	Winner   int // the index of the attempt whose changes the workspace has now
	Attempts []Attempt
}

// ErrNoneBest means that no attempt got a score, so that none was taken over.
var ErrNoneBest = errors.New("luthier: best of several: no attempt got a score")

// BestOf runs a task n times at the same time, each on a fork of c's workspace, and grades what
// each left there. The workspace takes over the changes of the attempt with the highest score, the
// first of equals; the others are dropped. The result lists all attempts. If grade returns NaN, the
// attempt is out of the question; if all are, the error is [ErrNoneBest], and the workspace is as
// it was.
//
// An attempt is an agent with c's Options and a session of its own, which keeps what it did. It is
// graded however its run ended, unless by an error. grade is called in several goroutines; it may
// run commands in the workspace's sandbox, for instance tests. Options.Ask and Options.Question are
// called by one attempt at a time.
func BestOf(ctx context.Context, c *Coder, n int, task string, grade func(ctx context.Context, w Workspace) float64) (*Best, error) {
	if n < 1 || grade == nil {
		return nil, fmt.Errorf("luthier: best of several: %d attempts, grade %t; there must be at least one attempt, and a function that grades", n, grade != nil)
	}
	if !c.on.forks() {
		return nil, fmt.Errorf("luthier: best of several: %s is a directory in place, which cannot be forked; %s", c.on.name(), toFork)
	}
	forks := make([]Workspace, 0, n)
	defer func() {
		for _, f := range forks {
			_ = f.Close() // the winner is closed already, which is harmless
		}
	}()
	for range n {
		f, err := forkWhenQuiet(ctx, c.on.workspace)
		if err != nil {
			return nil, err
		}
		forks = append(forks, f)
	}
	out := &Best{Winner: -1, Attempts: make([]Attempt, n)}
	opts := c.optionsOnFork()
	var all sync.WaitGroup
	for i, f := range forks {
		all.Go(func() { out.Attempts[i] = attempt(ctx, i, f, opts, task, grade) })
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return out, err
	}
	var failed []error
	for i, a := range out.Attempts {
		if a.Err != nil {
			failed = append(failed, fmt.Errorf("attempt %d: %w", i, a.Err))
		}
		if !math.IsNaN(a.Score) && (out.Winner < 0 || a.Score > out.Attempts[out.Winner].Score) {
			out.Winner = i
		}
	}
	if out.Winner < 0 {
		return out, errors.Join(append([]error{ErrNoneBest}, failed...)...)
	}
	return out, c.adopt(ctx, forks[out.Winner])
}

// attempt runs one attempt and grades it.
func attempt(ctx context.Context, i int, w Workspace, opts Options, task string, grade func(context.Context, Workspace) float64) (a Attempt) {
	a.Score = math.NaN()
	opts.Workspace = w
	c, err := New(ctx, "", opts)
	if err != nil {
		a.Err = err
		return a
	}
	defer func() { a.Err = errors.Join(a.Err, c.Close()) }()
	s, err := c.NewSessionWith(agent.SessionOptions{Labels: map[string]string{"attempt": strconv.Itoa(i)}})
	if err != nil {
		a.Err = err
		return a
	}
	defer s.Close()
	a.SessionID = s.ID()
	if a.Result, a.Err = c.Run(ctx, s, agent.Text{Text: task}).Collect(); a.Err == nil {
		a.Score = grade(ctx, w)
	}
	return a
}

// optionsOnFork returns the options for agents that work at the same time on forks.
func (c *Coder) optionsOnFork() Options {
	opts := *c.opts
	opts.NoCheckpoints, opts.Index, opts.Sandbox = true, nil, nil
	opts.NoIndex = opts.NoIndex || c.opts.Index != nil
	var asking sync.Mutex // for questions of the model
	opts.Ask = oneAtATime(opts.Ask)
	if question := opts.Question; question != nil {
		opts.Question = func(ctx context.Context, q coding.Question) (string, error) {
			asking.Lock()
			defer asking.Unlock()
			return question(ctx, q)
		}
	}
	return opts
}

// adopt takes over a fork in a way that can be undone, and tells the index.
func (c *Coder) adopt(ctx context.Context, fork Workspace) error {
	var paths []string
	if a, ok := sandbox.As[sandbox.Adopter](fork.Sandbox()); ok {
		changes, err := a.ChangesSince(ctx, sandbox.AtFork)
		if err != nil {
			return fmt.Errorf("luthier: adopt a fork of %s: %w", c.on.name(), err)
		}
		paths = effectsOf(changes).Writes
	}
	if c.undo != nil {
		if _, err := c.undo.Snapshot(ctx, "before the changes of a fork"); err != nil {
			return err
		}
	}
	if err := c.on.workspace.Adopt(ctx, fork); err != nil {
		return err
	}
	c.tell(paths)
	return nil
}
