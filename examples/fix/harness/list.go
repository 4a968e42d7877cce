package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/moe"
)

// edits is the edits of a function as one model lists them or, merged, as two do: the likeliest of either comes next.
type edits struct {
	lists []list
	told  map[string]bool // arguments of calls
}

type list struct {
	search *moe.Search
	head   *moe.Answer // that comes next, nil before it is asked for
	ended  bool
}

// next returns the next edit, io.EOF behind the last.
func (e *edits) next(ctx context.Context) (*moe.Answer, error) {
	for {
		var best *list
		for i := range e.lists {
			l := &e.lists[i]
			if err := l.fill(ctx); err != nil {
				return nil, err
			}
			if !l.ended && (best == nil || l.head.LogProb > best.head.LogProb) {
				best = l
			}
		}
		if best == nil {
			return nil, io.EOF
		}
		a := best.head
		best.head = nil
		if args := arguments(a); !e.told[args] {
			e.told[args] = true
			return a, nil
		}
	}
}

func (l *list) fill(ctx context.Context) (err error) {
	if l.head != nil || l.ended {
		return nil
	}
	if l.head, err = l.search.Next(ctx); errors.Is(err, io.EOF) {
		l.ended, err = true, nil
	}
	return err
}

// arguments are those of the answer's calls, which tell it from others.
func arguments(a *moe.Answer) string {
	var b strings.Builder
	for _, c := range a.Chunks {
		if delta, ok := c.(agent.ToolCallDelta); ok {
			b.WriteString(delta.Args)
		}
	}
	return b.String()
}

// list returns the list of edits of function number at. What a model reads before an edit of a function is the same whenever
// it edits it, since edits that did not help leave no trace: one list serves all of them, and its tenth edit that
// compiles is reached also where a hundred before it do not.
func (d *decoder) list(ctx context.Context, req *agent.Request, at int) (*edits, error) {
	e := d.edits[at]
	if e == nil {
		e = &edits{told: map[string]bool{}}
	}
	models := []agent.Model{d.model}
	if d.former != nil {
		models = []agent.Model{d.former, d.model}
	}
	for _, m := range models[len(e.lists):] {
		searcher, ok := m.(Searcher)
		if !ok {
			return nil, errors.ErrUnsupported
		}
		r := *req
		r.Extra = map[string]json.RawMessage{"parallel_tool_calls": json.RawMessage("false")}
		s, err := searcher.Search(ctx, &r)
		if err != nil {
			return nil, err
		}
		e.lists = append(e.lists, list{search: s})
	}
	if d.edits == nil {
		d.edits = map[int]*edits{}
	}
	d.edits[at] = e
	return e, nil
}

// next streams the next edit of a list.
func (d *decoder) next(ctx context.Context, req *agent.Request, at int, e *edits, err error) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		if err != nil {
			yield(nil, err)
			return
		}
		a, err := e.next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			yield(nil, &agent.ModelError{Kind: agent.ErrInvalid, Err: fmt.Errorf("list edits: %w", moe.ErrAvoided)})
		case err != nil:
			yield(nil, err)
		default:
			d.tell(ctx, req, at, a, len(e.lists), yield)
		}
	}
}

// tell streams an answer of one of some lists, whose calls get ids of this conversation.
func (d *decoder) tell(ctx context.Context, req *agent.Request, at int, a *moe.Answer, lists int, yield func(agent.Chunk, error) bool) {
	if outer := agent.ContextTokenTrace(ctx); outer != nil && outer.Token != nil {
		for _, t := range a.Tokens {
			outer.Token(t)
		}
	}
	d.tells = true
	d.edited(at, math.Exp(a.LogProb)/float64(lists))
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
