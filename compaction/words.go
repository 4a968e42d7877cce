package compaction

import (
	"context"
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/artifact"
)

// stubWords shortens what the model wrote next to its calls. It keeps the beginning and a longer
// part of the end, which announces the next step. In between, a note has the size of the omitted
// text, its handle and the names in it. Code in the text is dropped except for drafts, which the
// next calls may be about to write; drafts are kept if they fit into 2*tokens.
func (c *Compactor) stubWords(ctx context.Context, text string, tokens int, drafts []string) string {
	size, handle := c.meter.text(text), ""
	bare := text
	if before, note, after := cutNote(text); note != "" { // shortened once before: the full text is stored already
		bare, handle = before+after, artifact.Find(note)
		_, _ = fmt.Sscanf(note, leftOut+"of %d", &size)
	}
	if handle == "" {
		handle = c.store(ctx, "reasoning", text)
	}
	prose, _ := splitFences(bare)
	note := " " + leftOut + fmt.Sprintf("of %d tokens", size)
	if handle != "" {
		note += "; whole: " + artifact.ReadTool + " " + handle
	}
	room := max(tokens-c.meter.text(note), 16)
	body := ""
	for share := room * 4; share > room; share -= room / 4 {
		if body = cutWords(prose, share, "\x00"); c.meter.text(body) <= room*3/4 {
			break
		}
	}
	if left := room - c.meter.text(body); left > 10 {
		if ns := names(text, body, left*3); ns != "" {
			note += "; names: " + ns
		}
	}
	note += " …] "
	left := 2 * tokens
	for _, d := range drafts {
		if n := c.meter.text(d); n <= left {
			left -= n
			note += "\n" + d + "\n"
		}
	}
	return strings.Replace(body, "\x00", note, 1)
}

// cutNote splits a shortened text around the note that says so.
func cutNote(text string) (before, note, after string) {
	i := strings.Index(text, leftOut)
	if i < 0 {
		return text, "", ""
	}
	n := strings.Index(text[i:], "…]")
	if n < 0 {
		return text, "", ""
	}
	n += len("…]")
	return text[:i], text[i : i+n], text[i+n:]
}

// cutWords keeps the beginning of a prose text and a longer part of its end, with mark at the cut.
func cutWords(s string, room int, mark string) string {
	s = strings.ReplaceAll(strings.TrimSpace(s), "\x00", "")
	if len(s) <= room {
		return s + mark
	}
	head := cutAt(s, room*2/5)
	if i := strings.LastIndexAny(head, " \n"); i > len(head)/2 {
		head = head[:i]
	}
	tail := s[len(s)-room*3/5:]
	for len(tail) > 0 && tail[0]&0xc0 == 0x80 {
		tail = tail[1:]
	}
	if i := strings.IndexAny(tail, " \n"); i >= 0 && i < len(tail)/2 {
		tail = tail[i+1:]
	}
	return head + mark + tail
}

// splitFences separates the fenced code blocks of a text from its prose.
func splitFences(text string) (prose string, blocks []string) {
	var out, block strings.Builder
	open := false
	for line := range strings.Lines(text) {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && open:
			block.WriteString(line)
			blocks = append(blocks, strings.TrimRight(block.String(), "\n"))
			block.Reset()
			open = false
		case fence:
			open = true
			block.WriteString(line)
		case open:
			block.WriteString(line)
		default:
			out.WriteString(line)
		}
	}
	if open { // it was cut off before the fence closed
		blocks = append(blocks, strings.TrimRight(block.String(), "\n")+"\n```")
	}
	return out.String(), blocks
}

// drafts returns the code blocks in a text that the context does not have yet, the latest first. A
// quote from a file that the model has seen can go; code that it is about to write cannot.
func drafts(text string, live []agent.Message) []string {
	_, blocks := splitFences(text)
	if len(blocks) == 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, m := range live {
		for _, p := range m.Parts {
			if r, ok := p.(agent.ToolResult); ok {
				for line := range strings.SplitSeq(r.Text(), "\n") {
					if _, rest, ok := lineNumber(line); ok {
						line = rest
					}
					seen[strings.TrimSpace(line)] = true
				}
			}
		}
	}
	var out []string
	for i := len(blocks) - 1; i >= 0; i-- {
		fresh, all := 0, 0
		for line := range strings.SplitSeq(blocks[i], "\n") {
			if line = strings.TrimSpace(line); len(line) > 3 && !strings.HasPrefix(line, "```") {
				all++
				if !seen[line] {
					fresh++
					seen[line] = true // if several drafts have the same lines, the latest is kept
				}
			}
		}
		if fresh > 0 && fresh*10 >= all*3 {
			out = append(out, blocks[i])
		}
	}
	return out
}
