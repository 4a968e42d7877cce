package harness

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"math"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/router/moe"
)

// decoder asks a model for its next decision, excluding the calls that were made before. While the
// tests fail, the answer must be a call.
//
// If the model may either edit or read another function, the tool is decided first, and then the
// call, by a beam search over whole answers. A joint search would favour reading: the probability
// of the edit tool is divided among many edits, and that of the reading tool among only a few
// function numbers. The probability of edits that were already tried is subtracted from that of the
// edit tool. So the model reads another function once the remaining edits of the current one are
// less likely than the other functions.
type decoder struct {
	model   agent.Model
	former  agent.Model // the model that the current one replaced; nil if none. Its list of edits is used together with the new one's
	beam    int
	made    func() []call
	done    func() bool
	reading func() int                            // number of the function read last; 0 if none
	unread  func() bool                           // reports whether there are functions left to read
	parts   func() []string                       // parts of the function read last, if it is too long to be read at once
	words   func(context.Context) *repair.Words   // words of the package of that function; nil if they are not known
	adapt   func(ctx context.Context) agent.Model // returns a model to continue with, or nil for the same one; the field is nil after the call
	due     func() bool                           // reports whether it is time for adapt

	tells bool            // the model reported the probability of a token
	spent map[int]float64 // by function, the total probability of the edits that were made
	edits map[int]*edits  // by function
}

// Searcher is a model that can list its answers, the likeliest first, as *moe.Model does. A wrapper
// around a model without such a list returns [errors.ErrUnsupported].
type Searcher interface {
	Search(ctx context.Context, req *agent.Request) (*moe.Search, error)
}

func newDecoder(cfg Config, r *repairer) *decoder {
	d := &decoder{model: cfg.Model, beam: cfg.Beam, made: r.made, done: r.done, reading: r.number, unread: r.unread, parts: r.parts, words: r.words}
	if cfg.Adapt != nil {
		after := min(adaptAfter, (cfg.Edits+1)/2)
		d.adapt = func(ctx context.Context) agent.Model { return cfg.Adapt(ctx, r.found()) }
		d.due = func() bool { return r.tested() >= after }
	}
	return d
}

// adaptAfter is the number of edits that are tested before another model is requested. Three
// quarters of all repairs need no more edits.
const adaptAfter = 3

// change switches to another model, if there is one. The previous model's probabilities of the
// edits that were tried are discarded.
func (d *decoder) change(ctx context.Context) bool {
	adapt := d.adapt
	if d.adapt = nil; adapt == nil {
		return false
	}
	m := adapt(ctx)
	if m == nil {
		return false
	}
	d.former, d.model, d.spent = d.model, m, nil
	return true
}

// Stream implements [agent.Model].
func (d *decoder) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	r := *req
	r.Extra = maps.Clone(req.Extra)
	if r.Extra == nil {
		r.Extra = map[string]json.RawMessage{}
	}
	r.Extra["parallel_tool_calls"] = json.RawMessage("false")
	if d.done() {
		return d.search(ctx, &r)
	}
	if d.adapt != nil && d.due() {
		d.change(ctx)
	}
	r.ToolChoice = agent.ToolChoice{Mode: agent.ToolModeRequired}
	at := d.reading()
	first, other := d.tool(ctx, &r, at), repair.ToolEdit
	switch first {
	case "":
		return d.traced(ctx, &r, func(float64) {})
	case repair.ToolEdit:
		other = repair.ToolRead
	}
	return orElse(orElse(d.named(ctx, &r, first, at), d.named(ctx, &r, other, at)), d.another(ctx, req))
}

// another switches to another model if this one has no further idea.
func (d *decoder) another(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		if !d.change(ctx) {
			yield(nil, &agent.ModelError{Kind: agent.ErrInvalid, Err: moe.ErrAvoided})
			return
		}
		d.Stream(ctx, req)(yield)
	}
}

// named streams the likeliest call of one tool.
func (d *decoder) named(ctx context.Context, req *agent.Request, tool string, at int) iter.Seq2[agent.Chunk, error] {
	r := *req
	r.ToolChoice = agent.ToolChoice{Mode: agent.ToolModeNamed, Name: tool}
	if tool == repair.ToolEdit {
		if s, err := d.list(ctx, &r, at); !errors.Is(err, errors.ErrUnsupported) {
			return d.next(ctx, &r, at, s, err)
		}
	}
	return d.traced(ctx, &r, func(p float64) {
		if tool == repair.ToolEdit {
			d.edited(at, p)
		}
	})
}

// orElse streams the first answer. If that has no call left to make, since every function was read
// or every suggested edit was tried, it streams the other answer.
func orElse(first, other iter.Seq2[agent.Chunk, error]) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		begun := false
		for c, err := range first {
			if !begun && errors.Is(err, moe.ErrAvoided) {
				other(yield)
				return
			}
			if begun = true; !yield(c, err) {
				return
			}
		}
	}
}

// search streams the likeliest call that was not made yet.
func (d *decoder) search(ctx context.Context, r *agent.Request) iter.Seq2[agent.Chunk, error] {
	r.Extra["beam"], _ = json.Marshal(d.beam)
	if calls := d.made(); len(calls) > 0 {
		r.Extra["avoid_calls"], _ = json.Marshal(calls)
	}
	return d.model.Stream(ctx, r)
}

// traced streams a search and passes the probability of its answer to keep, if the model reports
// it.
func (d *decoder) traced(ctx context.Context, r *agent.Request, keep func(p float64)) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		sum, outer := 0.0, agent.ContextTokenTrace(ctx)
		ctx := agent.WithTokenTrace(ctx, &agent.TokenTrace{Token: func(t agent.Token) {
			d.tells = true
			sum += t.LogProb
			if outer != nil {
				outer.Token(t)
			}
		}})
		for c, err := range d.search(ctx, r) {
			if !yield(c, err) || err != nil {
				return
			}
		}
		if d.tells {
			keep(math.Exp(sum))
		}
	}
}

// edited records the probability p of an edit of the function with number at.
func (d *decoder) edited(at int, p float64) {
	if d.spent == nil {
		d.spent = map[int]float64{}
	}
	d.spent[at] += p
}

// tool decides between editing the function with number at and reading another one. It returns ""
// if there is no such choice or the model does not report its probabilities.
func (d *decoder) tool(ctx context.Context, req *agent.Request, at int) string {
	var edit, read bool
	for _, t := range req.Tools {
		edit = edit || t.Name == repair.ToolEdit
		read = read || t.Name == repair.ToolRead
	}
	if at == 0 || !edit || !read {
		return ""
	}
	if !d.unread() {
		return repair.ToolEdit
	}
	if !d.tells {
		return ""
	}
	weight := map[string]float64{}
	const enough = 8 // number of tokens, enough to include the tool's name
	r := *req
	r.MaxOutput = enough
	trace := &agent.TokenTrace{Top: 4, Token: func(t agent.Token) {
		if len(weight) == 0 && (t.Text == repair.ToolEdit || t.Text == repair.ToolRead) {
			for _, a := range t.Top {
				weight[a.Text] = math.Exp(a.LogProb)
			}
			weight[t.Text] = math.Exp(t.LogProb)
		}
	}}
	for _, err := range d.model.Stream(agent.WithTokenTrace(ctx, trace), &r) {
		if err != nil || len(weight) > 0 {
			break // the error will occur again in the search
		}
	}
	switch {
	case len(weight) == 0:
		return ""
	case weight[repair.ToolEdit]*(1-d.spent[at]) >= weight[repair.ToolRead]:
		return repair.ToolEdit
	}
	return repair.ToolRead
}
