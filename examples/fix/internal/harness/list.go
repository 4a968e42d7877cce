package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/router/moe"
)

// listing lists the edits of a function from one model, the likeliest first. If the function is
// shown in parts, the lists for the parts are merged.
type listing struct {
	lists  []list
	weight float64 // total weight of all lists
}

type list struct {
	search *moe.Search
	weight float64     // weight of the list's probabilities relative to other lists
	most   float64     // upper bound on the score of the next edit, before it is drawn
	head   *moe.Answer // the next edit; nil before it is drawn
	ended  bool
}

// partWeight is the weight of the probabilities for a part of a function, relative to the function
// as first shown. Most parts do not contain the fault, but a model that sees only one part cannot
// know that. Of the values from 1 to 1/8, this one repaired the most of 96 verified faults in
// held-out modules, in functions that are too long to be shown completely: 46 within ten edits,
// compared with 39 without parts.
const partWeight = 0.22

func (l *list) chance() float64 { return math.Exp(l.head.LogProb) * l.weight }

// next returns the next edit and its probability, or io.EOF after the last. An edit that is
// suggested for several parts is returned once for each part.
func (l *listing) next(ctx context.Context) (*moe.Answer, float64, error) {
	best, err := l.best(ctx)
	if best == nil {
		return nil, 0, cmp.Or(err, io.EOF)
	}
	a, chance := best.head, best.chance()
	best.head, best.most = nil, chance
	return a, chance / l.weight, nil
}

// best returns the list with the likeliest next edit, or nil if all have ended. No edits are drawn
// from lists that cannot contain the likeliest edit, which applies to most parts of a long
// function.
func (l *listing) best(ctx context.Context) (*list, error) {
	for {
		var best, ask *list
		for i := range l.lists {
			switch at := &l.lists[i]; {
			case at.head != nil:
				if best == nil || at.chance() > best.chance() {
					best = at
				}
			case !at.ended && (ask == nil || at.most > ask.most):
				ask = at
			}
		}
		if ask == nil || best != nil && best.chance() >= ask.most {
			return best, nil
		}
		if err := ask.fill(ctx); err != nil {
			return nil, err
		}
	}
}

// fill draws the next edit of a list.
func (l *list) fill(ctx context.Context) (err error) {
	if l.head, err = l.search.Next(ctx); errors.Is(err, io.EOF) {
		l.ended, err = true, nil
	}
	return err
}

// newListing begins to list a model's edits of a function with these parts, in a package that may
// contain these words.
func newListing(ctx context.Context, m agent.Model, req *agent.Request, parts []string, words *repair.Words) (*listing, error) {
	searcher, ok := m.(Searcher)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	r, l := *req, &listing{}
	r.Extra = map[string]json.RawMessage{"parallel_tool_calls": json.RawMessage("false")}
	for i := range len(parts) + 1 {
		weight := 1.0
		if i > 0 {
			weight, r.Messages = partWeight, showing(req.Messages, parts[i-1])
		}
		s, err := searcher.Search(ctx, &r)
		if err != nil {
			return nil, err
		}
		if words != nil {
			s.Only(func(answer string) bool {
				text, whole, ok := repair.EditedText(answer)
				return !ok || words.May(text, whole)
			})
		}
		l.lists, l.weight = append(l.lists, list{search: s, weight: weight, most: weight}), l.weight+weight
	}
	return l, nil
}

// showing returns the conversation in which text replaces the function that was read last.
func showing(messages []agent.Message, text string) []agent.Message {
	out := slices.Clone(messages)
	for i := len(out) - 1; i >= 0; i-- {
		for j, p := range out[i].Parts {
			if res, ok := p.(agent.ToolResult); ok && strings.HasPrefix(res.Text(), repair.FunctionStart) {
				res.Parts = []agent.Part{agent.Text{Text: text}}
				out[i].Parts = slices.Clone(out[i].Parts)
				out[i].Parts[j] = res
				return out
			}
		}
	}
	return out
}
