package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/luthier-dev/luthier/agent"
)

func sortBySince(calls []AbandonedCall) {
	slices.SortFunc(calls, func(a, b AbandonedCall) int { return a.Since.Compare(b.Since) })
}

// safeText replaces what cannot be sent to a model: bytes that are not UTF-8, and NUL.
func safeText(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\u2400")
	}
	return s
}

// safeParts returns parts with valid text and without nil parts. It copies them only if something
// has to change.
func safeParts(parts []agent.Part) []agent.Part {
	sound := !slices.ContainsFunc(parts, func(p agent.Part) bool {
		t, ok := p.(agent.Text)
		return p == nil || ok && safeText(t.Text) != t.Text
	})
	if sound {
		return parts
	}
	var out []agent.Part
	for _, p := range parts {
		switch p := p.(type) {
		case nil:
		case agent.Text:
			out = append(out, agent.Text{Text: safeText(p.Text)})
		default:
			out = append(out, p)
		}
	}
	return out
}

// capParts limits the text of parts to limit bytes: the beginning and the end of the whole text
// stay, the middle goes to the store. Parts that are not text stay where they are.
func (r *Registry) capParts(ctx context.Context, call agent.ToolCall, parts []agent.Part, limit int) []agent.Part {
	total := 0
	for _, p := range parts {
		if t, ok := p.(agent.Text); ok {
			total += len(t.Text)
		}
	}
	if total <= limit {
		return parts
	}
	full := agent.PartsText(parts)
	head, tail := headTail(full, limit)
	text := head + r.spill(ctx, call, full, len(full)-len(head)-len(tail)) + tail
	out := []agent.Part{agent.Text{Text: text}}
	for _, p := range parts {
		if _, ok := p.(agent.Text); !ok {
			out = append(out, p)
		}
	}
	return out
}

// spill puts the full text into the store and returns the line that replaces the omitted part.
func (r *Registry) spill(ctx context.Context, call agent.ToolCall, full string, omitted int) string {
	lines := strings.Count(full, "\n") + 1
	if r.cfg.Store == nil {
		return fmt.Sprintf("\n[… %d of %d bytes left out; ask for less at a time to see them …]\n", omitted, len(full))
	}
	handle, err := r.cfg.Store.Put(ctx, call.Name+".txt", []byte(full))
	if err != nil {
		return fmt.Sprintf("\n[… %d of %d bytes left out, and the full text could not be kept: %v …]\n", omitted, len(full), err)
	}
	return fmt.Sprintf("\n[… %d of %d bytes left out. The full text (%d lines) is kept as %s; read parts of it with %s …]\n",
		omitted, len(full), lines, handle, ReadArtifactName)
}

// headTail returns the beginning and the end of s, together at most limit bytes, cut at line ends
// if one is near, otherwise at character boundaries. The beginning gets 60 % of limit; the end gets
// the rest, since errors and summaries are found there.
func headTail(s string, limit int) (head, tail string) {
	headLen := limit * 6 / 10
	head = s[:boundary(s, headLen)]
	if i := strings.LastIndexByte(head, '\n'); i > headLen/2 {
		head = head[:i]
	}
	tailLen := limit - headLen
	tail = s[boundary(s, len(s)-tailLen):]
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < tailLen/2 {
		tail = tail[i+1:]
	}
	return head, tail
}

// boundary returns the first position from i on that does not split a character.
func boundary(s string, i int) int {
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return i
}
