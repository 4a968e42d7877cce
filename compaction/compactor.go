package compaction

import (
	"context"
	"errors"
	"fmt"

	"github.com/luthier-dev/luthier/agent"
)

// Config says how a [Compactor] works. The zero value prunes and keeps a ledger, without a model
// and without a store.
type Config struct {
	// Model writes a summary when pruning alone does not make room. Nil leaves it to the ledger.
	Model agent.Model
	// Store keeps the whole of what is shortened and gives the handles by which a model reads it
	// back (tools.NewDirStore, with tools.NewReadArtifact beside it). Nil leaves the session's log
	// as the only place that has it.
	Store agent.ArtifactStore
	// Prices decide when a change pays for the cache it breaks; only their ratios count. Zero is
	// the usual: a tenth of the input price for what the cache holds, a quarter more for what it
	// has to learn.
	Prices agent.Price

	// Calls is how many more model calls will come, for a host that knows. 0 prunes as soon as what
	// could have been pruned has cost as much as the cache that goes with it.
	Calls int
	// KeepTurns is how many of the latest model calls stay as they are while anything else can go;
	// 0 means 6.
	KeepTurns int
	// ResultTokens is about the length to which the output of a command is shortened as it is
	// recorded, when it is longer; 0 means 400, negative leaves results as they are. Lines of files
	// are never shortened then.
	ResultTokens int
	// WordsTokens is about the length to which what the model thinks aloud beside its calls is
	// shortened as it is recorded, when it is longer; 0 means 120, negative leaves it as it is.
	// Drafts of code in it stay, up to twice as much. Answers and signed reasoning are left alone.
	WordsTokens int
	// StubTokens is about the length of what stands for something that was pruned; 0 means 60, long
	// results leave more.
	StubTokens int
	// OnlyWhenFull leaves a history that is within its budget as it is, also where pruning it would
	// pay.
	OnlyWhenFull bool
}

// Report says what a compaction did.
type Report = agent.CompactionReport

// Compactor shortens histories. It is an [agent.Compactor], and safe for concurrent use.
type Compactor struct {
	cfg   Config
	rates rates
	memo  *memo
	meter *meter
}

var _ agent.Compactor = (*Compactor)(nil)

// New returns a compactor.
func New(cfg Config) *Compactor {
	for _, d := range []struct {
		p   *int
		def int
	}{{&cfg.KeepTurns, 6}, {&cfg.ResultTokens, 400}, {&cfg.WordsTokens, 120}, {&cfg.StubTokens, 60}} {
		if *d.p == 0 {
			*d.p = d.def
		}
	}
	m := newMemo()
	return &Compactor{cfg: cfg, rates: ratesOf(cfg.Prices), memo: m, meter: newMeter(m)}
}

// Compact returns a history of at most budget tokens that stands for msgs; msgs itself is not
// changed. The package comment tells what goes first. Within the budget it changes only what no
// request has sent yet, and what pays for the cache that it breaks.
//
// The error says that msgs breaks the rule of [agent.CheckPairing], or that the newest user message
// alone is over the budget; msgs comes back as it is then.
func (c *Compactor) Compact(ctx context.Context, msgs []agent.Message, budget int) ([]agent.Message, Report, error) {
	if err := agent.CheckPairing(msgs); err != nil {
		return msgs, Report{}, fmt.Errorf("compaction: compact: %w", err)
	}
	live, tokens := agent.LiveRequest(ctx)
	c.meter.refresh()
	h := c.survey(msgs)
	room := c.room(h, live, tokens, budget)
	rep := Report{Before: h.total}
	full := h.total > room
	if rep.Pruned = c.takeIn(ctx, h); rep.Pruned > 0 {
		h = c.survey(h.msgs) // what the new results point at is needed again
	}
	switch {
	case !full:
		if plan, ok := c.plan(h); ok {
			rep.Pruned += c.apply(ctx, h, plan, c.spare(h), c.cfg.StubTokens)
		}
	default:
		if err := c.makeRoom(ctx, h, msgs, live, room, &rep); err != nil {
			rep.After = rep.Before
			return msgs, rep, fmt.Errorf("compaction: compact: %w", err)
		}
	}
	if h.total >= rep.Before {
		rep.After, rep.Pruned = rep.Before, 0
		return msgs, rep, nil
	}
	rep.After = h.total
	return h.msgs, rep, nil
}

// room is what of a budget is left for messages, in tokens as the meter weighs them. What the
// provider, or a model that counts itself, says of the live prompt overrules the meter.
func (c *Compactor) room(h *history, live *agent.Request, tokens int64, budget int) int {
	room := budget
	if live != nil {
		if tokens <= 0 {
			if m, ok := c.cfg.Model.(agent.TokenCounter); ok {
				n, _ := m.CountTokens(live)
				tokens = int64(n)
			}
		}
		over := c.meter.overhead(live)
		if tokens > 0 {
			room = int(float64(budget) * float64(h.total+over) / float64(tokens))
		}
		room -= over
	}
	if room < budget/4 { // instructions and tools leave no room: make what there is
		room = budget / 4
	}
	return room
}

// errTooLong is the newest user message alone over the budget.
var errTooLong = errors.New("the newest user message alone is longer than the budget; raise the budget (agent.Config.ContextBudget), use a model with a larger context, or give the text as a file")
