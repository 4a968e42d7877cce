package compaction

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/ansi"
	"github.com/luthier-dev/luthier/internal/artifact"
	"github.com/luthier-dev/luthier/internal/digest"
)

// Record returns middleware that shortens results as they are recorded. This breaks no prompt
// cache, since no request has sent them yet. Terminal control is removed. Logs that are longer than
// Config.WholeTokens are reduced to their important lines, and other outputs as long to their
// beginning and end, with the full text kept in the store. Lines that are already in the context
// are not repeated. The lines of files stay unchanged. Without a store, Record removes only text
// without information. The middleware also learns from each answer how the model counts tokens.
func (c *Compactor) Record() agent.Middleware {
	return func(next agent.Handler) agent.Handler {
		return func(ctx context.Context, op *agent.Op) error {
			if err := next(ctx, op); err != nil || op.Partial {
				return err
			}
			switch {
			case op.IsModel():
				if op.Response != nil {
					c.meter.learn(op.Request, op.Response.Usage)
					op.Response = c.recordWords(ctx, op.Response, op.Request.Messages)
				}
			case op.Result != nil && op.Call != nil && c.cfg.ResultTokens > 0:
				var live []agent.Message
				if op.Session != nil {
					live = op.Session.Messages()
				}
				if r, ok := c.record(ctx, *op.Call, *op.Result, live, c.cfg.Store != nil); ok {
					op.Result = &r
				}
			}
			return nil
		}
	}
}

// takeIn shortens the results that no request has sent yet, as Record does, and returns how many
// became shorter. It needs no store for text that the session's log already has.
func (c *Compactor) takeIn(ctx context.Context, h *history) int {
	n := 0
	for i := range h.cells {
		cl := &h.cells[i]
		if cl.msg == h.sent && cl.what == cellNarration && c.wordy(cl.tokens) && !cl.stub {
			text, _ := h.msgs[cl.msg].Parts[cl.part].(agent.Text)
			short := agent.Text{Text: c.stubWords(ctx, text.Text, c.cfg.WordsTokens, drafts(text.Text, h.msgs[:cl.msg]))}
			if c.meter.text(short.Text) < cl.tokens {
				h.replace(c, cl, short)
				n++
			}
		}
		if cl.msg < h.sent || cl.what != cellResult || cl.stub || c.cfg.ResultTokens < 0 {
			continue
		}
		r, ok := h.msgs[cl.msg].Parts[cl.part].(agent.ToolResult)
		if !ok {
			continue
		}
		call := h.msgs[cl.msg-1].Calls()[cl.part]
		if short, ok := c.record(ctx, call, r, h.msgs[:cl.msg], true); ok && c.meter.parts(short.Parts) < cl.tokens {
			h.replace(c, cl, short)
			n++
		}
	}
	return n
}

// recordWords shortens long text that a model wrote next to its calls. The final answer is left
// unchanged.
func (c *Compactor) recordWords(ctx context.Context, resp *agent.Response, live []agent.Message) *agent.Response {
	if c.cfg.Store == nil || len(resp.Message.Calls()) == 0 {
		return resp
	}
	out := resp
	for i, p := range resp.Message.Parts {
		t, ok := p.(agent.Text)
		if !ok || strings.Contains(t.Text, leftOut) || !c.wordy(c.meter.text(t.Text)) {
			continue
		}
		if out == resp {
			out = &agent.Response{Message: resp.Message, Usage: resp.Usage, Finish: resp.Finish}
			out.Message.Parts = slices.Clone(resp.Message.Parts)
		}
		out.Message.Parts[i] = agent.Text{Text: c.stubWords(ctx, t.Text, c.cfg.WordsTokens, drafts(t.Text, live))}
	}
	return out
}

// record shortens one result. If lossy is true, record may remove text that afterwards exists only
// in the store or in the log.
func (c *Compactor) record(ctx context.Context, call agent.ToolCall, r agent.ToolResult, live []agent.Message, lossy bool) (agent.ToolResult, bool) {
	if len(r.Parts) == 0 || countTexts(r.Parts) != len(r.Parts) {
		return r, false
	}
	text := r.Text()
	a := c.memo.action(call)
	if isStub(text) || isExtract(text) || !records(a.kind) {
		return r, false
	}
	if s, ok := c.unchanged(call, text, live); ok {
		r.Parts = []agent.Part{agent.Text{Text: s}}
		return r, true
	}
	if a.kind.exact() {
		return r, false
	}
	if s, ok := c.condensed(ctx, &a, text, lossy); ok {
		r.Parts = []agent.Part{agent.Text{Text: s}}
		return r, true
	}
	return r, false
}

// condensed shortens the output of a command, a search or a listing that is too long to be kept as
// it is: a log becomes a digest, and of anything else the beginning and the end stay.
func (c *Compactor) condensed(ctx context.Context, a *action, text string, lossy bool) (string, bool) {
	plain := ansi.Strip(text)
	if !lossy || isReport(text) {
		return plain, len(plain) < len(text)
	}
	all := c.original(ctx, text) // the original text, not the part that the tool left of it: the middle may hold the error
	size := c.meter.text(all)
	if size <= c.cfg.WholeTokens && (len(all) == len(text) || c.meter.text(text) <= c.cfg.WholeTokens) {
		return plain, len(plain) < len(text)
	}
	var body, mark string
	if code, _ := exitCode(text); a.kind == kindSearch || a.kind == kindList || c.cfg.WholeTokens < 0 || digest.IsLog(all, code) {
		body, mark = c.shorterLog(a, all, size)
	} else {
		body, mark = c.ends(ansi.Strip(all), c.cfg.WholeTokens-60), endsMark
	}
	if body == "" {
		return plain, len(plain) < len(text)
	}
	if code, ok := exitCode(text); ok {
		if got, ok := exitCode(body); !ok || got != code {
			body += fmt.Sprintf("\n[exit code %d]", code)
		}
	}
	note := fmt.Sprintf("%s%d tokens, %d lines", mark, size, strings.Count(all, "\n")+1)
	if h := c.store(ctx, a.title(), text); h != "" {
		note += "; whole: " + artifact.ReadTool + " " + h + ", by lines or pattern"
	}
	return body + note + "]", true
}

// shorterLog returns a log of the given number of tokens without what repeats in it, or its digest
// if that is still too long, and the mark that says which. The body is empty if neither would save
// enough to be worth the note.
func (c *Compactor) shorterLog(a *action, all string, size int) (body, mark string) {
	limit := c.resultLimit(a.kind)
	folded := digest.Fold(digest.Clean(all))
	switch now := c.meter.text(folded); {
	case now > limit+limit/4:
		return c.extract(a, folded, limit-40), extractMark
	case now >= size*9/10:
		return "", ""
	}
	return folded, foldedMark
}

// Notes appended to results that were shortened as they were recorded.
const (
	extractMark = "\n[extract of "
	foldedMark  = "\n[lines that repeat are folded: "
	endsMark    = "\n[beginning and end of "
)

// isExtract reports whether a result was shortened as it was recorded.
func isExtract(text string) bool {
	i := strings.LastIndexByte(text, '\n')
	return i >= 0 && (strings.HasPrefix(text[i:], extractMark) || strings.HasPrefix(text[i:], endsMark))
}
