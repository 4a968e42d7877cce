package compaction

import (
	"context"
	"errors"
	"fmt"

	"github.com/luthier-dev/luthier/agent"
)

// Config configures a [Compactor]. The zero value prunes and keeps a ledger, without a model and
// without a store.
type Config struct {
	// Model writes a summary if pruning alone does not make enough room. Nil uses only the ledger.
	Model agent.Model
	// Store keeps the full text of what is shortened and returns the handles with which a model
	// reads it back (tools.NewDirStore, together with tools.NewReadArtifact). With nil, only the
	// session's log has the full text.
	Store agent.ArtifactStore
	// Prices decide when a change is worth the cache that it breaks; only their ratios count. Zero
	// means the usual prices: a tenth of the input price for reading from the cache, a quarter more
	// than the input price for writing to it.
	Prices agent.Price

	// Calls is the number of model calls still to come, if the host knows it. If it is 0, the
	// compactor prunes once keeping the prunable tokens has cost as much as the cache that pruning
	// breaks.
	Calls int
	// KeepTurns is the number of latest model calls that stay unchanged while anything else can go;
	// 0 means 6.
	KeepTurns int
	// WholeTokens is the number of tokens up to which an output is recorded as it is, without
	// terminal control; 0 means 4000, negative means that every output may be shortened. A longer
	// log becomes a digest of about ResultTokens. Of other output, such as a table or a file's
	// lines, the beginning and the end are kept, about WholeTokens together. A note says what was
	// left out and how to read it.
	WholeTokens int
	// ResultTokens is the approximate length to which a log is shortened as it is recorded, if it
	// is longer than WholeTokens; 0 means 400, negative leaves all results unchanged.
	ResultTokens int
	// WordsTokens is the approximate length to which the text that a model writes next to its calls
	// is shortened as it is recorded; 0 means 120, negative leaves it unchanged. Drafts of code in
	// it are kept, up to twice as many tokens. Answers and signed reasoning are left alone.
	WordsTokens int
	// StubTokens is the approximate length of a stub, the text that replaces something pruned; 0
	// means 60. The stubs of long results are longer.
	StubTokens int
	// OnlyWhenFull leaves a history within its budget unchanged, even if pruning it would pay.
	OnlyWhenFull bool
}

// Report describes the effects of a compaction.
type Report = agent.CompactionReport

// Compactor shortens histories. It is an [agent.Compactor], and safe for concurrent use.
type Compactor struct {
	cfg   Config
	rates rates
	memo  *memo
	meter *meter
}

var _ agent.Compactor = (*Compactor)(nil)

// New returns a compactor with the given configuration.
func New(cfg Config) *Compactor {
	for _, d := range []struct {
		p   *int
		def int
	}{{&cfg.KeepTurns, 6}, {&cfg.WholeTokens, 4000}, {&cfg.ResultTokens, 400}, {&cfg.WordsTokens, 120}, {&cfg.StubTokens, 60}} {
		if *d.p == 0 {
			*d.p = d.def
		}
	}
	m := newMemo()
	return &Compactor{cfg: cfg, rates: ratesOf(cfg.Prices), memo: m, meter: newMeter(m)}
}

// Compact returns a history of at most budget tokens that replaces msgs; msgs itself is not
// changed. The package comment says what goes first. If msgs is within the budget, Compact changes
// only the parts that no request has sent yet, and otherwise only prunes if the saved tokens pay
// for the broken cache.
//
// Compact returns an error, and msgs itself, if msgs breaks the rule of [agent.CheckPairing] or if
// the newest user message alone is over the budget.
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
		h = c.survey(h.msgs) // results that the new results point at are needed again
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

// room returns the part of a budget that is left for messages, in tokens as the meter weighs them.
// If the provider, or a model that counts tokens itself, has reported the size of the live prompt,
// that number is used instead of the meter's.
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
	if room < budget/4 { // instructions and tools leave no room: use a quarter of the budget
		room = budget / 4
	}
	return room
}

// errTooLong is returned if the newest user message alone is over the budget.
var errTooLong = errors.New("the newest user message alone is longer than the budget; raise the budget (agent.Config.ContextBudget), use a model with a larger context, or give the text as a file")
