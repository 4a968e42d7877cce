package compaction

import (
	"context"
	"slices"

	"github.com/luthier-dev/luthier/agent"
)

// leastArgs is the minimum length of arguments that are shortened.
const leastArgs = 150

// apply writes the stubs of a plan, each of about the given number of tokens, and returns their
// number.
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

// shorten replaces a cell with a stub of about the given number of tokens, if the stub is shorter.
func (c *Compactor) shorten(ctx context.Context, h *history, cl *cell, tokens int) bool {
	var p agent.Part
	switch old := h.msgs[cl.msg].Parts[cl.part].(type) {
	case agent.ToolResult:
		p = c.stubResult(ctx, &cl.act, old, tokens)
	case agent.Text:
		p = agent.Text{Text: c.stubWords(ctx, old.Text, tokens, nil)}
	case agent.Thinking:
		p = agent.Thinking{} // method sweep removes it later
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

// sweep removes reasoning that was emptied, and adjusts the indices of the cells behind it.
func (h *history) sweep(c *Compactor) {
	for i := range h.cells {
		cl := &h.cells[i]
		if cl.what != cellReasoning || !cl.stub || cl.part < 0 {
			continue
		}
		m := h.msgs[cl.msg]
		m.Parts = slices.Delete(m.Parts, cl.part, cl.part+1) // m.Parts was copied when the part was emptied
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
