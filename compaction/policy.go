package compaction

import (
	"context"

	"github.com/luthier-dev/luthier/agent"
)

// This file is the policy of a [Compactor]: what recording, pruning and folding may do, and when.
// How each does it is in record.go, prune.go and fold.go; the price of a broken prompt cache, which
// pruning weighs, is in payback.go.
//
// Numbers that a host may choose are in [Config]. Another policy is another [agent.Compactor]: a
// type with a method Compact, which returns a shorter history within the budget that
// [agent.CheckPairing] accepts. It may also have
//
//   - Due(msgs []agent.Message) bool, which the agent asks before every model call, to be called
//     within the budget as well;
//   - middleware that shortens results as they are recorded, as [Compactor.Record] returns it.
//
// It can be made of the parts here: [Digest] for outputs, [NewLedger] for facts, or a Compactor to
// hand on to. Package compaction/replay measures any policy on recorded runs, next to this one.

// # Recording

// records reports whether recording may shorten the results of such an action: what was read back
// on purpose and the todo list stay. Lines of files stay as well, except for those that still stand
// in the context.
func records(k kind) bool { return k != kindRecall && k != kindPlan }

// resultLimit returns about how many tokens a result of such an action keeps.
func (c *Compactor) resultLimit(k kind) int {
	if k == kindSearch { // each line was asked for
		return 2 * c.cfg.ResultTokens
	}
	return c.cfg.ResultTokens
}

// wordy reports whether so many tokens are too much for what a model writes beside its calls.
func (c *Compactor) wordy(tokens int) bool {
	return c.cfg.WordsTokens > 0 && tokens > c.cfg.WordsTokens*5/4
}

// # Pruning

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

// Due reports whether a history that is within its budget would be worth compacting now. The agent
// asks it before every model call.
func (c *Compactor) Due(msgs []agent.Message) bool {
	if c.cfg.OnlyWhenFull {
		return false
	}
	_, ok := c.plan(c.survey(msgs))
	return ok
}

// spare is the rule for pruning as long as there is a choice: nothing of the latest turns unless it
// is out of date, and no line that the work under way stands on.
func (c *Compactor) spare(h *history) func(*cell) int {
	return func(cl *cell) int {
		if cl.msg >= h.sent || cl.exact || cl.what == cellArgs || h.age(cl) < c.keep(cl) {
			return 0
		}
		return c.saving(cl)
	}
}

// spareLess is the rule when the history is over its budget and spare was not enough: only the turn
// before the last and the lines under way are left out.
func (c *Compactor) spareLess(h *history) func(*cell) int {
	return func(cl *cell) int {
		if cl.msg >= h.sent || cl.exact && h.age(cl) < c.cfg.KeepTurns || h.age(cl) < 2 {
			return 0
		}
		return c.saving(cl)
	}
}

// keep is the number of calls for which a cell is spared.
func (c *Compactor) keep(cl *cell) int {
	if cl.stale {
		return min(2, c.cfg.KeepTurns)
	}
	return c.cfg.KeepTurns
}

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

// # Making room

// Depths and thresholds, in shares of the budget.
const (
	deep   = 0.45 // where pruning aims at: a rewritten history shall last
	enough = 0.70 // what pruning must reach to be left at that
)

// makeRoom brings a history that is over its room below it: prune, then fold the middle into
// summary and ledger, then whatever else is left, until it fits.
func (c *Compactor) makeRoom(ctx context.Context, h *history, sent []agent.Message, live *agent.Request, room int, rep *Report) error {
	target := int(deep * float64(room))
	for _, rule := range []func(*cell) int{c.spare(h), c.spareLess(h)} {
		if cut, ok := h.reach(target, rule); ok {
			rep.Pruned += c.apply(ctx, h, cut, rule, c.cfg.StubTokens)
		}
		if h.total <= int(enough*float64(room)) {
			return nil
		}
	}
	if err := c.fold(ctx, h, sent, live, room, rep); err != nil {
		return err
	}
	if h.total > room {
		return errTooLong
	}
	return nil
}

// foldShares are the depths that folding tries in turn.
var foldShares = [...]float64{deep, deep / 2, deep / 4, deep / 8}

// foldIsEnough reports whether the i-th try of folding, with so many tokens, is left at. The deeper
// ones need only fit.
func foldIsEnough(i, total, room int) bool {
	return total <= int(enough*float64(room)) || total <= room && foldShares[i] < deep/3
}
