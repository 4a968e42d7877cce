package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/moe"
)

// edits lists the edits of a function, the likeliest first. With one model, the order is that of
// the model; with two models, it is that of their joint probability.
//
// Two opinions are combined by multiplying their probabilities (a logarithmic pool: Genest and
// Zidek, Combining Probability Distributions, Statistical Science 1 (1986)), so that an edit that
// one of them considers impossible comes after all edits that both consider possible.
type edits struct {
	opinions []*opinion
	answers  map[string]*moe.Answer // by the arguments of the call
	told     map[string]bool
}

// opinion holds the edits that were drawn from one model so far, with their probabilities.
type opinion struct {
	draw   func(ctx context.Context) (*moe.Answer, float64, error) // returns the next edit and its probability, or io.EOF after the last
	chance map[string]float64                                      // probabilities, by the arguments of the call
	least  float64                                                 // probability of the edit drawn last
	ended  bool
}

const (
	// ahead is the number of edits that are drawn from each of two opinions in addition to those
	// already returned.
	ahead = 20
	// unheard scales the least probability drawn so far. The product is the assumed probability of
	// an edit that was not drawn from an opinion yet.
	unheard = 0.5
)

// next returns the next edit and its probability, or io.EOF after the last.
func (e *edits) next(ctx context.Context) (*moe.Answer, float64, error) {
	want := len(e.told) + 1
	if len(e.opinions) > 1 {
		want += ahead
	}
	for _, o := range e.opinions {
		if err := e.hear(ctx, o, want); err != nil {
			return nil, 0, err
		}
	}
	best, most := "", math.Inf(-1)
	for args := range e.answers {
		if e.told[args] {
			continue
		}
		if joint := e.joint(args); joint > most || joint == most && args < best {
			best, most = args, joint
		}
	}
	if best == "" {
		return nil, 0, io.EOF
	}
	e.told[best] = true
	return e.answers[best], e.mean(best), nil
}

// hear draws from an opinion until it has the wanted number of edits.
func (e *edits) hear(ctx context.Context, o *opinion, want int) error {
	for !o.ended && len(o.chance) < want {
		a, chance, err := o.draw(ctx)
		if errors.Is(err, io.EOF) {
			o.ended = true
			return nil
		}
		if err != nil {
			return err
		}
		args := arguments(a)
		if o.least = chance; o.chance[args] == 0 {
			o.chance[args] = chance
		}
		if e.answers[args] == nil {
			e.answers[args] = a
		}
	}
	return nil
}

// joint returns the joint score of an edit under all opinions: the logarithm of the product, which
// is not normalised.
func (e *edits) joint(args string) float64 {
	sum := 0.0
	for _, o := range e.opinions {
		sum += math.Log(cmp.Or(o.chance[args], unheard*o.least))
	}
	return sum
}

// mean returns the mean probability of an edit.
func (e *edits) mean(args string) float64 {
	sum := 0.0
	for _, o := range e.opinions {
		sum += o.chance[args]
	}
	return sum / float64(len(e.opinions))
}

// arguments returns the arguments of the answer's calls, which distinguish it from other answers.
func arguments(a *moe.Answer) string {
	var b strings.Builder
	for _, c := range a.Chunks {
		if delta, ok := c.(agent.ToolCallDelta); ok {
			b.WriteString(delta.Args)
		}
	}
	return b.String()
}

// list returns the list of edits of the function with number at. Before each edit of a function,
// the model reads the same text, since edits that did not help leave no trace. So one list serves
// for all edits, and the tenth edit that compiles is reached even if a hundred edits before it do
// not compile.
func (d *decoder) list(ctx context.Context, req *agent.Request, at int) (*edits, error) {
	e := d.edits[at]
	if e == nil {
		e = &edits{answers: map[string]*moe.Answer{}, told: map[string]bool{}}
	}
	models := []agent.Model{d.model}
	if d.former != nil {
		models = []agent.Model{d.former, d.model}
	}
	for _, m := range models[len(e.opinions):] {
		l, err := newListing(ctx, m, req, d.parts(), d.words(ctx))
		if err != nil {
			return nil, err
		}
		e.opinions = append(e.opinions, &opinion{draw: l.next, chance: map[string]float64{}, least: 1})
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
		a, p, err := e.next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			yield(nil, &agent.ModelError{Kind: agent.ErrInvalid, Err: fmt.Errorf("list edits: %w", moe.ErrAvoided)})
		case err != nil:
			yield(nil, err)
		default:
			d.tell(ctx, req, at, a, p, yield)
		}
	}
}

// tell streams an answer with probability p. The ids of its calls are replaced with ids of this
// conversation.
func (d *decoder) tell(ctx context.Context, req *agent.Request, at int, a *moe.Answer, p float64, yield func(agent.Chunk, error) bool) {
	if outer := agent.ContextTokenTrace(ctx); outer != nil && outer.Token != nil {
		for _, t := range a.Tokens {
			outer.Token(t)
		}
	}
	d.tells = true
	d.edited(at, p)
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
