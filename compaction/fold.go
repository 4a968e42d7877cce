package compaction

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/artifact"
)

// foldMark begins the message that replaces a folded middle.
const foldMark = stubMark + "earlier work"

// isFold reports whether m was written by a compaction.
func isFold(m agent.Message) bool {
	return m.Role == agent.RoleUser && strings.HasPrefix(firstText(m.Parts), foldMark)
}

// isReminder reports whether m is a temporary message written by the agent's loop.
func isReminder(m agent.Message) bool {
	t := firstText(m.Parts)
	return m.Role == agent.RoleUser && len(m.Parts) == 1 && strings.HasPrefix(t, "<reminder>\n") && strings.HasSuffix(t, "\n</reminder>")
}

// fold replaces the middle of a history with one message: a summary if there is a model to write
// one, the ledger, and the exact lines that the current work needs. The user's messages stay word
// for word before it, the latest turns after it.
func (c *Compactor) fold(ctx context.Context, h *history, sent []agent.Message, live *agent.Request, room int, rep *Report) error {
	summary := c.summarise(ctx, h, sent, live, rep)
	base := h
	for i, share := range foldShares {
		try := c.foldTo(ctx, base, summary, int(share*float64(room)))
		if foldIsEnough(i, try.total, room) {
			*h = *try
			return nil
		}
	}
	return c.floor(ctx, h, base, summary, room)
}

// foldTo folds a history to about target tokens.
func (c *Compactor) foldTo(ctx context.Context, h *history, summary string, target int) *history {
	users := 0
	for i, m := range h.msgs {
		if kept(m) {
			users += h.tokens[i]
		}
	}
	words := min(max(target/8, 100), 1500) // tokens of the ledger
	exact := min(max(target/4, 100), 6000) // and of the lines that the current work needs
	if summary != "" {
		summary = c.fit(max(target/4, 100), func(room int) string { return cutLines(summary, room) })
	}
	tail := c.tailOf(h, target-users-words-exact-c.meter.text(summary))
	if tail == 0 {
		return h
	}
	var out []agent.Message
	for _, m := range h.msgs[:tail] {
		if kept(m) {
			out = append(out, m)
		}
	}
	if len(out) == tail { // nothing except the user's words before the tail
		return h
	}
	out = append(out, agent.UserText(c.foldText(ctx, h, tail, summary, words, exact)))
	return c.survey(append(out, h.msgs[tail:]...))
}

// kept reports whether a message of the folded part stays word for word.
func kept(m agent.Message) bool {
	return m.Role == agent.RoleUser && !isFold(m) && !isReminder(m)
}

// tailOf returns the index at which the tail begins: the latest turns that together fit into room
// tokens. A turn is a model's message with its results and the user messages after it; the tokens
// of the user's words are not counted here.
func (c *Compactor) tailOf(h *history, room int) int {
	tail, used := len(h.msgs), 0
	for i := len(h.msgs) - 1; i >= 0; i-- {
		if !kept(h.msgs[i]) {
			used += h.tokens[i]
		}
		if used > room {
			break
		}
		if h.msgs[i].Role == agent.RoleAssistant || kept(h.msgs[i]) && tail == i+1 {
			tail = i
		}
	}
	return tail
}

// foldText writes the message that replaces the messages before tail.
func (c *Compactor) foldText(ctx context.Context, h *history, tail int, summary string, words, exact int) string {
	var b strings.Builder
	gone, steps := 0, 0
	for i, m := range h.msgs[:tail] {
		if !kept(m) {
			gone += h.tokens[i]
		}
		if m.Role == agent.RoleAssistant {
			steps++
		}
	}
	l := c.ledger(h, tail)
	fmt.Fprintf(&b, "%s, %d model calls, %d tokens", foldMark, steps, gone)
	if handle := c.storeTranscript(ctx, h.msgs[:tail]); handle != "" {
		b.WriteString("; whole: " + artifact.ReadTool + " " + handle)
		l.Earlier = append(slices.DeleteFunc(l.Earlier, func(s string) bool { return s == handle }), handle)
		l.bound()
	}
	b.WriteString("]\n")
	if words == 0 {
		return strings.TrimSpace(b.String())
	}
	b.WriteString(strings.TrimSpace(foldPrompt) + "\n")
	if summary == "" {
		summary = c.earlierSummary(h.msgs[:tail], words)
	}
	if summary != "" {
		b.WriteString("\n" + summaryBegin + "\n" + strings.TrimSpace(summary) + "\n" + summaryEnd + "\n")
	}
	if s := c.fit(words, l.within); s != "" {
		b.WriteString("\n" + s + "\n")
	}
	if s := c.exactLines(h, tail, exact); s != "" {
		b.WriteString("\n" + s)
	}
	return strings.TrimSpace(b.String())
}

// earlierSummary returns the summary of an earlier fold, for use if no new one is written.
func (c *Compactor) earlierSummary(ms []agent.Message, words int) string {
	for _, m := range slices.Backward(ms) {
		if !isFold(m) {
			continue
		}
		_, rest, ok := strings.Cut(m.Text(), summaryBegin+"\n")
		if s, _, end := strings.Cut(rest, "\n"+summaryEnd); ok && end {
			return c.fit(words, func(room int) string { return cutLines(s, room) })
		}
	}
	return ""
}

// exactLines repeats, word for word, the lines that the current work needs and that are not in the
// tail.
func (c *Compactor) exactLines(h *history, tail, tokens int) string {
	var out []string
	for i := len(h.cells) - 1; i >= 0; i-- {
		cl := &h.cells[i]
		if cl.msg >= tail || !cl.exact || cl.stub {
			continue
		}
		r, ok := h.msgs[cl.msg].Parts[cl.part].(agent.ToolResult)
		if !ok {
			continue
		}
		text := cl.act.title() + ":\n" + strings.TrimSpace(r.Text())
		if cl.act.kind == kindEdit {
			text = cl.act.title() + " " + string(h.msgs[cl.msg-1].Calls()[cl.part].Args)
		}
		n := c.meter.text(text)
		if n > tokens {
			continue
		}
		tokens -= n
		out = append(out, text)
	}
	if len(out) == 0 {
		return ""
	}
	slices.Reverse(out)
	return "<exact>\n" + strings.Join(out, "\n\n") + "\n</exact>"
}

// storeTranscript stores the text of messages and returns its handle.
func (c *Compactor) storeTranscript(ctx context.Context, ms []agent.Message) string {
	if c.cfg.Store == nil {
		return ""
	}
	h, err := c.cfg.Store.Put(context.WithoutCancel(ctx), "earlier work", []byte(transcript(ms)))
	if err != nil {
		return ""
	}
	return h
}

// transcript writes messages as text that a model can read back.
func transcript(ms []agent.Message) string {
	var b strings.Builder
	for _, m := range ms {
		fmt.Fprintf(&b, "== %s\n", m.Role)
		for _, p := range m.Parts {
			switch p := p.(type) {
			case agent.Text:
				b.WriteString(p.Text + "\n")
			case agent.Thinking:
				b.WriteString(p.Text + "\n")
			case agent.ToolCall:
				fmt.Fprintf(&b, "-- call %s: %s %s\n", p.ID, p.Name, p.Args)
			case agent.ToolResult:
				fmt.Fprintf(&b, "-- result of %s\n%s\n", p.CallID, p.Text())
			}
		}
	}
	return b.String()
}

// floor makes the smallest possible history: the user's words, a short ledger, and as little of the
// last turn as necessary.
func (c *Compactor) floor(ctx context.Context, h, base *history, summary string, room int) error {
	// First try: keep the last turn, with its results and arguments cut as short as necessary.
	try := c.survey(base.msgs)
	for _, tokens := range []int{c.cfg.StubTokens, 60, 30} {
		for i := range try.cells {
			if cl := &try.cells[i]; cl.what == cellResult && cl.tokens > tokens {
				c.squeeze(ctx, try, cl, tokens)
			}
		}
		small := c.foldTo(ctx, try, summary, room/3)
		if small.total <= room {
			*h = *small
			return nil
		}
	}
	// Second: no turn at all, and the user's older words as extracts. Third: only the newest
	// message and a note that says where the rest is.
	for _, words := range []int{200, 60, 0} {
		small := c.onlyUsers(ctx, try, summary, words, room)
		if small.total <= room {
			*h = *small
			return nil
		}
	}
	for _, small := range c.onlyNewest(ctx, try) {
		if small.total <= room {
			*h = *small
			return nil
		}
	}
	return errTooLong
}

// squeeze shortens any result, even a stub.
func (c *Compactor) squeeze(ctx context.Context, h *history, cl *cell, tokens int) {
	r, ok := h.msgs[cl.msg].Parts[cl.part].(agent.ToolResult)
	if !ok {
		return
	}
	text := r.Text()
	if isStub(text) { // its first line says what matters most
		line, _, _ := strings.Cut(text, "\n")
		r.Parts = []agent.Part{agent.Text{Text: cutMark(line, 6*tokens)}}
	} else {
		r = c.stubResult(ctx, &cl.act, r, tokens)
	}
	if c.meter.parts(r.Parts) < cl.tokens {
		h.replace(c, cl, r)
	}
}

// onlyUsers drops every turn. The user's words before the newest message are cut to the remaining
// room.
func (c *Compactor) onlyUsers(ctx context.Context, h *history, summary string, words, room int) *history {
	newest, count, total := -1, 0, 0
	for i, m := range h.msgs {
		if kept(m) {
			newest, count, total = i, count+1, total+h.tokens[i]
		}
	}
	note := agent.UserText(c.foldText(ctx, h, len(h.msgs), cutLines(summary, 4*words), words, words))
	weight := c.meter.message(note)
	each := 0
	if count > 1 {
		each = max((room-weight-h.tokens[newest])/(count-1), 0)
	}
	var out []agent.Message
	for i, m := range h.msgs {
		if i == newest { // the messages that led to the newest one come before it
			out = append(out, note)
		}
		switch {
		case !kept(m):
		case i == newest || total+weight <= room || h.tokens[i] <= each:
			out = append(out, m)
		default:
			out = append(out, c.shortUser(ctx, m, each))
		}
	}
	if newest < 0 {
		out = append(out, note)
	}
	return c.survey(out)
}

// onlyNewest returns two histories with only the user's newest message: with and without a line
// that says where the rest is.
func (c *Compactor) onlyNewest(ctx context.Context, h *history) []*history {
	for _, m := range slices.Backward(h.msgs) {
		if kept(m) {
			note := agent.UserText(c.foldText(ctx, h, len(h.msgs), "", 0, 0))
			return []*history{c.survey([]agent.Message{note, m}), c.survey([]agent.Message{m})}
		}
	}
	return []*history{c.survey(nil)}
}

// shortMark begins a user message that had to be shortened.
const shortMark = "[shortened: "

// shortUser replaces an enormous user message with an extract.
func (c *Compactor) shortUser(ctx context.Context, m agent.Message, tokens int) agent.Message {
	text := m.Text()
	head := fmt.Sprintf("%s%d tokens of the user's", shortMark, c.meter.message(m))
	if h := c.store(ctx, "user message", text); h != "" {
		head += "; whole: " + artifact.ReadTool + " " + h
	}
	head += "]\n"
	return agent.UserText(head + c.fit(max(tokens-c.meter.text(head), 8), func(room int) string { return cutLines(text, room) }))
}
