package agent

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"
)

// fitResult makes a tool's result suitable for the history: not empty, in valid UTF-8, with only
// the parts that a result may hold, and no longer than Config.ResultBytes.
func (a *Agent) fitResult(ctx context.Context, tool string, res *ToolResult) *ToolResult {
	if res == nil {
		return TextResult("(no output)")
	}
	ok := len(res.Parts) > 0
	size := 0
	for _, p := range res.Parts {
		switch p := p.(type) {
		case Text:
			size += len(p.Text)
			ok = ok && utf8.ValidString(p.Text)
		case Image, Opaque:
		default:
			ok = false
		}
	}
	if ok && size <= a.cfg.ResultBytes {
		return res
	}
	return a.rebuildResult(ctx, tool, res)
}

// rebuildResult is the slow path of fitResult.
func (a *Agent) rebuildResult(ctx context.Context, tool string, res *ToolResult) *ToolResult {
	out := &ToolResult{IsError: res.IsError}
	left, dropped := a.cfg.ResultBytes, 0
	for _, p := range res.Parts {
		switch p := p.(type) {
		case Text:
			if left == 0 {
				dropped += len(p.Text)
				continue
			}
			text := strings.ToValidUTF8(p.Text, "\uFFFD")
			if len(text) > left {
				text = a.cutText(ctx, tool, text, left)
			}
			left = max(left-len(text), 0)
			out.Parts = append(out.Parts, Text{Text: text})
		case Image, Opaque:
			out.Parts = append(out.Parts, p)
		default:
			out.Parts = append(out.Parts, Text{Text: fmt.Sprintf("(the tool returned a %T, which a result cannot hold)", p)})
		}
	}
	if dropped > 0 {
		out.Parts = append(out.Parts, Text{Text: fmt.Sprintf("[… %d more bytes of text dropped; ask for less at a time …]", dropped)})
	}
	if len(out.Parts) == 0 {
		out.Parts = []Part{Text{Text: "(no output)"}}
	}
	return out
}

// cutText keeps the beginning and the end of a text that is too long, and stores the full text so
// that it can be read back.
func (a *Agent) cutText(ctx context.Context, tool, text string, limit int) string {
	where := "the rest was dropped; ask for less at a time"
	if store := a.cfg.Artifacts; store != nil {
		if handle, err := store.Put(context.WithoutCancel(ctx), tool, []byte(text)); err == nil {
			where = "the full text is stored as " + handle
		}
	}
	head := strings.ToValidUTF8(text[:limit*2/3], "")
	tail := strings.ToValidUTF8(text[len(text)-limit/3:], "")
	return fmt.Sprintf("%s\n\n[… %d of %d bytes left out; %s …]\n\n%s", head, len(text)-len(head)-len(tail), len(text), where, tail)
}
