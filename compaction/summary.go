package compaction

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/agent"
)

const (
	summaryBegin = "<summary>"
	summaryEnd   = "</summary>"
	// summaryTokens is the greatest length of a summary that the model is asked for.
	summaryTokens = 1500
)

var (
	//go:embed prompts/summary.md
	summaryPrompt string // asks for the summary
	//go:embed prompts/fold.md
	foldPrompt string // precedes summary and ledger in a fold
)

// summarise asks the model for a summary. It returns "" if there is none. The question is the live
// request plus one user message, so that a cache holds all but that message. If the live history
// does not fit, the pruned history is used.
func (c *Compactor) summarise(ctx context.Context, h *history, sent []agent.Message, live *agent.Request, rep *Report) string {
	if c.cfg.Model == nil || ctx.Err() != nil {
		return ""
	}
	req := agent.Request{}
	if live != nil {
		req = *live
	}
	req.Purpose, req.ToolChoice, req.Output, req.MaxOutput = agent.PurposeSummarise, agent.ToolChoice{Mode: agent.ToolModeNone}, nil, 2*summaryTokens
	ask := strings.TrimSpace(summaryPrompt)
	histories := [][]agent.Message{sent, h.msgs}
	if caps, ok := agent.CapabilitiesOf(c.cfg.Model); ok && caps.MaxContext > 0 &&
		rep.Before+c.meter.overhead(live)+3*summaryTokens > caps.MaxContext {
		histories = histories[1:]
	}
	for _, ms := range histories {
		req.Messages = withQuestion(ms, ask)
		resp, err := agent.Generate(ctx, c.cfg.Model, &req)
		used, estimated := agent.CallUsage(&req, resp, err)
		rep.Usage = rep.Usage.Add(used)
		if estimated {
			rep.Estimated = rep.Estimated.Add(used)
		}
		if err != nil {
			rep.Notes = append(rep.Notes, fmt.Sprintf("the summary failed: %v", err))
			if agent.AsModelError(err).Kind == agent.ErrContextLength {
				continue
			}
			return ""
		}
		text := strings.TrimSpace(resp.Message.Text())
		if text == "" {
			rep.Notes = append(rep.Notes, "the summary was empty")
			return ""
		}
		rep.Summary = true
		if missing := c.ledger(h, len(h.msgs)).Missing(text); len(missing) > 0 {
			rep.Notes = append(rep.Notes, fmt.Sprintf("the summary left out %d facts, which the ledger adds", len(missing)))
		}
		return strings.NewReplacer(summaryBegin, "", summaryEnd, "", ledgerBegin, "", ledgerEnd, "").Replace(text)
	}
	return ""
}

// withQuestion adds a user message to a history. Calls that are still open are left out, since a
// provider requires their results first.
func withQuestion(ms []agent.Message, ask string) []agent.Message {
	if n := len(ms); n > 0 && len(ms[n-1].Calls()) > 0 {
		ms = ms[:n-1]
	}
	return append(ms[:len(ms):len(ms)], agent.UserText(ask))
}
