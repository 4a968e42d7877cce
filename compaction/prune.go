package compaction

import (
	"context"
	"slices"

	"github.com/luthier-dev/luthier/agent"
)

// leastArgs is how long arguments must be to be shortened.
const leastArgs = 150

// A cell must lose this many tokens to be worth the touch.
const leastGain = 40

// stubSize is about what a stub of a cell will weigh: a large result leaves somewhat more behind.
func (c *Compactor) stubSize(cl *cell) int {
	if cl.what == cellReasoning {
		return 0
	}
	return min(c.cfg.StubTokens+cl.tokens/25, 4*c.cfg.StubTokens)
}

func (c *Compactor) saving(cl *cell) int {
	if cl.stub && (cl.what != cellNarration || cl.tokens < 5*c.cfg.StubTokens) {
		return 0 // but for words that kept drafts of code as they were recorded: those go when they are old
	}
	if n := cl.tokens - c.stubSize(cl); n >= leastGain {
		return n
	}
	return 0
}

// spare is the rule for pruning as long as there is a choice: nothing of the latest turns unless it is out of date, and
// no line that the work under way stands on.
func (c *Compactor) spare(h *history) func(*cell) int {
	return func(cl *cell) int {
		if cl.msg >= h.sent || cl.exact || cl.what == cellArgs || h.age(cl) < c.keep(cl) {
			return 0
		}
		return c.saving(cl)
	}
}

// spareLess is the rule when the history is over its budget and spare was not enough: only the turn before the last
// and the lines under way are left out.
func (c *Compactor) spareLess(h *history) func(*cell) int {
	return func(cl *cell) int {
		if cl.msg >= h.sent || cl.exact && h.age(cl) < c.cfg.KeepTurns || h.age(cl) < 2 {
			return 0
		}
		return c.saving(cl)
	}
}

// When a history within its budget is pruned: rarely and deeply.
const (
	leastCut = 3000 // tokens that must go at least
	patience = 2.5  // times the price of the change that not making it must have cost
)

// plan decides whether to prune a history that is within its budget, and from where on.
func (c *Compactor) plan(h *history) (cut, bool) {
	if c.cfg.OnlyWhenFull {
		return cut{}, false
	}
	spare := c.spare(h)
	return h.best(c.rates, c.cfg.Calls, patience, leastCut, func(cl *cell) (tokens, since int) {
		return spare(cl), h.age(cl) - c.keep(cl)
	})
}

// keep is how many calls long a cell is spared.
func (c *Compactor) keep(cl *cell) int {
	if cl.stale {
		return min(2, c.cfg.KeepTurns)
	}
	return c.cfg.KeepTurns
}

// apply writes the stubs of a plan and returns how many.
func (c *Compactor) apply(ctx context.Context, h *history, plan cut, rule func(*cell) int, tokens int) int {
	n := 0
	for i := plan.from; i < len(h.cells); i++ {
		if cl := &h.cells[i]; rule(cl) > 0 && c.shorten(ctx, h, cl, c.stubSize(cl)) {
			n++
		}
	}
	h.sweep(c)
	return n
}

// shorten puts a stub of about so many tokens in a cell's place, if that is shorter.
func (c *Compactor) shorten(ctx context.Context, h *history, cl *cell, tokens int) bool {
	var p agent.Part
	switch old := h.msgs[cl.msg].Parts[cl.part].(type) {
	case agent.ToolResult:
		p = c.stubResult(ctx, &cl.act, old, tokens)
	case agent.Text:
		p = agent.Text{Text: c.stubWords(ctx, old.Text, tokens, nil)}
	case agent.Thinking:
		p = agent.Thinking{} // swept away
	case agent.ToolCall:
		old.Args = c.stubArgs(ctx, old, tokens)
		p = old
	default:
		return false
	}
	if c.meter.parts([]agent.Part{p}) >= cl.tokens {
		return false
	}
	h.replace(c, cl, p)
	cl.stub = true
	return true
}

// sweep takes out reasoning that was emptied, and moves the cells behind it up.
func (h *history) sweep(c *Compactor) {
	for i := range h.cells {
		cl := &h.cells[i]
		if cl.what != cellReasoning || !cl.stub || cl.part < 0 {
			continue
		}
		m := h.msgs[cl.msg]
		m.Parts = slices.Delete(m.Parts, cl.part, cl.part+1) // a copy since the part was emptied
		h.msgs[cl.msg] = m
		before := h.tokens[cl.msg]
		h.tokens[cl.msg] = c.meter.message(m)
		h.total += h.tokens[cl.msg] - before
		for k := i + 1; k < len(h.cells) && h.cells[k].msg == cl.msg; k++ {
			h.cells[k].part--
		}
		cl.part, cl.tokens = -1, 0
	}
}
