package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// failures collects the reasons why the members that were tried, or passed over, did not answer.
type failures struct {
	router string
	list   []failure
}

type failure struct {
	member string
	err    *agent.ModelError
}

func (f *failures) add(m *member, err *agent.ModelError) {
	f.list = append(f.list, failure{m.Name, err})
}

// err returns one error for all failures, whose kind best indicates what to do next. A temporary
// failure takes precedence, with the shortest wait; then a context that is too long, which
// compaction fixes. All other failures need a person.
func (f *failures) err() *agent.ModelError {
	if len(f.list) == 1 {
		return f.list[0].err
	}
	best := f.list[0].err
	var wait time.Duration
	retryable := false
	errs := make([]error, len(f.list))
	for i, x := range f.list {
		errs[i] = fmt.Errorf("%s: %w", x.member, x.err)
		if rank(x.err.Kind) < rank(best.Kind) {
			best = x.err
		}
		if x.err.Kind.Retryable() && (!retryable || x.err.RetryAfter < wait) {
			retryable, wait = true, x.err.RetryAfter
		}
	}
	out := *best
	out.RetryAfter = wait
	out.Err = fmt.Errorf("%s: no member answered: %w", f.router, errors.Join(errs...))
	return &out
}

var ranks = [...]agent.ErrorKind{agent.ErrRateLimit, agent.ErrOverloaded, agent.ErrServer, agent.ErrNetwork, agent.ErrTimeout,
	agent.ErrIncomplete, agent.ErrContextLength, agent.ErrFilter, agent.ErrInvalid, agent.ErrUnsupported, agent.ErrAuth}

func rank(k agent.ErrorKind) int {
	for i, r := range ranks {
		if r == k {
			return i
		}
	}
	return len(ranks)
}

// blockedError is the error of a member that must not be asked yet.
func blockedError(d time.Duration) *agent.ModelError {
	e := modelErrorf(agent.ErrRateLimit, "it asked not to be called for another %s", d.Round(time.Millisecond))
	e.RetryAfter = d
	return e
}

// callerEnded is the error of a request whose caller's context ended, whatever error the member
// returned because of that.
func callerEnded(ctx context.Context, err *agent.ModelError) *agent.ModelError {
	if errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)) {
		return err
	}
	return &agent.ModelError{Kind: agent.ErrCanceled, Err: context.Cause(ctx)}
}

// goOn converts the error of an answer that broke off into one after which the loop retries at
// once, because the next request goes to another member.
func goOn(err *agent.ModelError) *agent.ModelError {
	out := *err
	out.RetryAfter = 0
	if !out.Kind.Retryable() {
		out.Kind = agent.ErrIncomplete
		out.Err = err
	}
	return &out
}
