package compaction

import (
	"context"

	"github.com/luthier-dev/luthier/agent"
)

// This file is the policy of a [Compactor]: it decides what recording, pruning and folding may do,
// and when. Their mechanics are in record.go, prune.go and fold.go; the price of a broken prompt
// cache, which pruning weighs, is in payback.go.
//
// The numbers that a host may choose are in [Config]. Another policy is another [agent.Compactor]:
// a type with a method Compact that returns a shorter history, within the budget and accepted by
// [agent.CheckPairing]. It may also have
//
//   - a method Due(msgs []agent.Message) bool, which the agent calls before every model call: if it
//     returns true, Compact is called even within the budget;
//   - middleware that shortens results as they are recorded, as [Compactor.Record] returns it.
//
// It can be built from the parts here: [Digest] for outputs, [NewLedger] for facts, or a Compactor
// to delegate to. The neighbouring package compaction/replay measures any policy on recorded runs.

// # Recording

// records reports whether recording may shorten the results of an action of kind k. Text that was
// read back on purpose and the todo list stay. Lines of files stay as well, except those that are
// already in the context.
func records(k kind) bool { return k != kindRecall && k != kindPlan }

// resultLimit returns the approximate number of tokens to keep of a result of an action of kind k.
func (c *Compactor) resultLimit(k kind) int {
	if k == kindSearch { // a search explicitly requested each of its lines
		return 2 * c.cfg.ResultTokens
	}
	return c.cfg.ResultTokens
}

// wordy reports whether tokens is too much for the text that a model writes next to its calls.
func (c *Compactor) wordy(tokens int) bool {
	return c.cfg.WordsTokens > 0 && tokens > c.cfg.WordsTokens*5/4
}

// # Pruning

// When to prune a history that is within its budget: rarely and deeply.
const (
	leastCut = 3000 // the minimum number of tokens to remove
	patience = 2.5  // prune once not doing so has cost this multiple of the price of the change
)

// plan decides whether to prune a history that is within its budget, and from which cell on.
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
// calls it before every model call.
func (c *Compactor) Due(msgs []agent.Message) bool {
	if c.cfg.OnlyWhenFull {
		return false
	}
	_, ok := c.plan(c.survey(msgs))
	return ok
}

// spare is the rule for pruning while there is a choice: it keeps the latest turns, except for what
// is out of date, and the lines that the current work needs.
func (c *Compactor) spare(h *history) func(*cell) int {
	return func(cl *cell) int {
		if cl.msg >= h.sent || cl.exact || cl.what == cellArgs || h.age(cl) < c.keep(cl) {
			return 0
		}
		return c.saving(cl)
	}
}

// spareLess is the rule if the history is over its budget and spare was not enough: it keeps only
// the last two turns and the lines that the current work needs.
func (c *Compactor) spareLess(h *history) func(*cell) int {
	return func(cl *cell) int {
		if cl.msg >= h.sent || cl.exact && h.age(cl) < c.cfg.KeepTurns || h.age(cl) < 2 {
			return 0
		}
		return c.saving(cl)
	}
}

// keep returns the number of calls for which a cell is spared.
func (c *Compactor) keep(cl *cell) int {
	if cl.stale {
		return min(2, c.cfg.KeepTurns)
	}
	return c.cfg.KeepTurns
}

// leastGain is the number of tokens that a cell must lose to be worth changing.
const leastGain = 40

// stubSize returns the approximate size of a cell's stub in tokens: a large result leaves a larger
// stub.
func (c *Compactor) stubSize(cl *cell) int {
	if cl.what == cellReasoning {
		return 0
	}
	return min(c.cfg.StubTokens+cl.tokens/25, 4*c.cfg.StubTokens)
}

func (c *Compactor) saving(cl *cell) int {
	if cl.stub && (cl.what != cellNarration || cl.tokens < 5*c.cfg.StubTokens) {
		return 0 // do not shorten it; but text that kept drafts of code when it was recorded goes once it is old
	}
	if n := cl.tokens - c.stubSize(cl); n >= leastGain {
		return n
	}
	return 0
}

// # Making room

// Depths and thresholds, in shares of the budget.
const (
	deep   = 0.45 // target share for pruning, low enough that the history need not be rewritten again soon
	enough = 0.70 // pruning alone is enough if the history is below this share
)

// makeRoom shortens a history that is over its room until it fits: it prunes, then folds the middle
// into summary and ledger, then drops whatever else is left.
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

// foldIsEnough reports whether the i-th attempt at folding, which left total tokens, is good
// enough. The deeper attempts need only fit.
func foldIsEnough(i, total, room int) bool {
	return total <= int(enough*float64(room)) || total <= room && foldShares[i] < deep/3
}
