package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/moe"
)

// list returns the list of the model's edits of function number at. What the model reads before an edit of a function is the
// same whenever it edits it, since edits that did not help leave no trace: one list serves all of them, and its tenth edit that
// compiles is reached also where a hundred before it do not.
func (d *decoder) list(ctx context.Context, req *agent.Request, at int) (*moe.Search, error) {
	m, ok := d.model.(Searcher)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	if s := d.edits[at]; s != nil {
		return s, nil
	}
	r := *req
	r.Extra = map[string]json.RawMessage{"parallel_tool_calls": json.RawMessage("false")}
	s, err := m.Search(ctx, &r)
	if err != nil {
		return nil, err
	}
	if d.edits == nil {
		d.edits = map[int]*moe.Search{}
	}
	d.edits[at] = s
	return s, nil
}

// next streams the next edit of a list.
func (d *decoder) next(ctx context.Context, req *agent.Request, at int, s *moe.Search, err error) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		if err != nil {
			yield(nil, err)
			return
		}
		a, err := s.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			yield(nil, &agent.ModelError{Kind: agent.ErrInvalid, Err: fmt.Errorf("list edits: %w", moe.ErrAvoided)})
		case err != nil:
			yield(nil, err)
		default:
			d.tell(ctx, req, at, a, yield)
		}
	}
}

// tell streams an answer of a list, whose calls get ids of this conversation.
func (d *decoder) tell(ctx context.Context, req *agent.Request, at int, a *moe.Answer, yield func(agent.Chunk, error) bool) {
	if outer := agent.ContextTokenTrace(ctx); outer != nil && outer.Token != nil {
		for _, t := range a.Tokens {
			outer.Token(t)
		}
	}
	d.tells = true
	d.edited(at, math.Exp(a.LogProb))
	calls := 0
	for _, m := range req.Messages {
		calls += len(m.Calls())
	}
	for _, c := range a.Chunks {
		if start, ok := c.(agent.ToolCallStart); ok {
			start.ID = fmt.Sprintf("call%05d", calls)
			c, calls = start, calls+1
		}
		if !yield(c, nil) {
			return
		}
	}
}
