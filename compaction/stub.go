package compaction

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/artifact"
	"github.com/luthier-dev/luthier/internal/symbols"
)

// stubMark begins every text with which a compaction replaces another.
const stubMark = "[compacted: "

// store keeps a text and returns the handle with which a model reads it back, or "". If the text
// itself names the handle of its full version, store returns that handle and stores nothing.
func (c *Compactor) store(ctx context.Context, name, text string) (handle string) {
	h := wholeOf(text)
	if c.cfg.Store == nil {
		return h
	}
	if h != "" {
		if _, err := c.cfg.Store.Get(ctx, h); err == nil {
			return h
		}
	}
	h, err := c.cfg.Store.Put(context.WithoutCancel(ctx), name, []byte(text))
	if err != nil {
		return ""
	}
	return h
}

// original returns the full text of an output that a tool had to cut. If the full text is not
// available, it returns the text itself.
func (c *Compactor) original(ctx context.Context, text string) string {
	if h := wholeOf(text); h != "" && c.cfg.Store != nil {
		if data, err := c.cfg.Store.Get(ctx, h); err == nil && len(data) > len(text) && utf8.Valid(data) {
			return string(data)
		}
	}
	return text
}

// wholeOf returns the handle of the full text of an output that was cut before it got here.
func wholeOf(text string) string {
	for {
		n := strings.Index(text, "artifact-")
		if n < 0 {
			return ""
		}
		line := text[strings.LastIndexByte(text[:n], '\n')+1:]
		end := strings.IndexByte(line, '\n')
		if end >= 0 {
			line = line[:end]
		}
		if strings.HasPrefix(line, "[") && (strings.Contains(line, artifact.ReadTool) || strings.Contains(line, " stored as ")) || isLogLine(line) {
			if h := artifact.Find(line); h != "" {
				return h
			}
		}
		if end < 0 {
			return ""
		}
		text = text[n+strings.IndexByte(text[n:], '\n')+1:] // consider each line once
	}
}

// isLogLine reports whether a line is a test tool's note of where it kept the log that its report
// was made from.
func isLogLine(line string) bool {
	return strings.HasPrefix(line, "Full log: artifact ") || strings.HasPrefix(line, "Log: artifact ")
}

// isReport reports whether a text is a tool's own digest of a log that it kept.
func isReport(text string) bool {
	i := strings.LastIndex(strings.TrimRight(text, "\n"), "\n")
	return isLogLine(text[i+1:])
}

// stubResult returns the stub of a call's result, of about the given number of tokens: what was
// run, how it ended, its errors and failing tests, the places and names in it, and the handle of
// the full text.
func (c *Compactor) stubResult(ctx context.Context, a *action, r agent.ToolResult, tokens int) agent.ToolResult {
	text := r.Text()
	size := c.meter.parts(r.Parts)
	var head strings.Builder
	head.WriteString(stubMark + a.short(48)) // the call itself comes right before it
	if code, ok := exitCode(text); ok {
		fmt.Fprintf(&head, ", exit code %d", code)
	} else if r.IsError {
		head.WriteString(", failed")
	}
	fmt.Fprintf(&head, ", %d tokens", size)
	if n := len(r.Parts) - countTexts(r.Parts); n > 0 {
		fmt.Fprintf(&head, ", %d pictures", n)
	}
	if h := c.store(ctx, a.title(), text); h != "" {
		head.WriteString("; whole: " + artifact.ReadTool + " " + h)
	}
	head.WriteString("]")
	out := head.String()
	room := max(tokens-c.meter.text(out), 0)
	if a.kind == kindRead { // for a file, the names in it are as informative as its outline
		room = room * 2 / 3
	}
	if body := strings.TrimPrefix(c.extract(a, text, room), exitLine(text)); body != "" {
		out += "\n" + body
	}
	if left := tokens - c.meter.text(out); left > 10 {
		if ns := names(text, out, left*3); ns != "" {
			out += "\nnames: " + ns
		}
	}
	r.Parts = []agent.Part{agent.Text{Text: out}}
	return r
}

func countTexts(ps []agent.Part) int {
	n := 0
	for _, p := range ps {
		if _, ok := p.(agent.Text); ok {
			n++
		}
	}
	return n
}

// extract returns the important lines of a result's text, limited to the given number of tokens.
func (c *Compactor) extract(a *action, text string, tokens int) string {
	if tokens < 8 {
		return ""
	}
	switch a.kind {
	case kindRead:
		if s := outline(a, text, tokens*3); s != "" {
			return s
		}
		return cutLines(text, tokens*3)
	case kindList, kindSearch:
		return c.fit(tokens, func(room int) string { return condense(text, room) })
	case kindDiff, kindEdit, kindPlan, kindRecall:
		return c.fit(tokens, func(room int) string { return cutLines(text, room) })
	}
	code, _ := exitCode(text)
	d := Digest(ToolOutput{Tool: a.tool, Command: a.command, Text: withoutStatus(text), ExitCode: code}, tokens)
	return strings.Trim(d.Text, "\n")
}

// withoutStatus drops the line at the end of an output in which the tool itself says how the
// command ended.
func withoutStatus(text string) string {
	text = strings.TrimRight(text, "\n")
	i := strings.LastIndexByte(text, '\n')
	if strings.HasPrefix(text[i+1:], "[exit code ") {
		return text[:max(i, 0)]
	}
	return text
}

// exitLine returns the line of a digest that states the exit code of a failed command.
func exitLine(text string) string {
	code, _ := exitCode(text)
	return fmt.Sprintf("exit code %d\n", code)
}

// fit calls the function make with smaller and smaller sizes in bytes until the text that it
// returns has at most the given number of tokens.
func (c *Compactor) fit(tokens int, make func(room int) string) string {
	s := ""
	for room := tokens * 4; room > tokens; room -= tokens / 2 {
		if s = make(room); c.meter.text(s) <= tokens {
			return s
		}
	}
	return cutAt(s, tokens)
}

// outline lists the definitions in the lines of a file that were read, with their line numbers.
func outline(a *action, text string, room int) string {
	if a.path == "" || !symbols.Known(a.path) || len(text) > 256<<10 {
		return ""
	}
	body, first := numbered(text, max(a.first, 1))
	res, err := symbols.Plain{}.Of(a.path, []byte(body))
	if err != nil || len(res.Defs) == 0 {
		return ""
	}
	defs := slices.DeleteFunc(slices.Clone(res.Defs), func(d symbols.Def) bool { return d.Depth > 1 && len(res.Defs) > 12 })
	slices.SortStableFunc(defs, func(x, y symbols.Def) int { return x.Line - y.Line })
	var b strings.Builder
	for i, d := range defs {
		line := fmt.Sprintf("%d: %s", d.Line+first-1, cutMark(d.Signature, 90))
		if b.Len()+len(line)+1 > room {
			fmt.Fprintf(&b, "… %d more", len(defs)-i)
			break
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimSpace(b.String())
}

// numbered removes the line numbers from a text whose lines have them ("12<tab>text", "12:text")
// and returns the first number.
func numbered(text string, first int) (string, int) {
	lines := strings.Split(text, "\n")
	with, start := 0, 0
	for i, l := range lines {
		n, rest, ok := lineNumber(l)
		if !ok {
			continue
		}
		if with == 0 {
			start = n - i
		}
		with++
		lines[i] = rest
	}
	if with*2 < len(lines) {
		if i := strings.Index(text, "<output>\n"); i >= 0 && i < 200 {
			first -= strings.Count(text[:i+9], "\n")
		}
		return text, first
	}
	return strings.Join(lines, "\n"), start
}

func lineNumber(l string) (n int, rest string, ok bool) {
	l = strings.TrimLeft(l, " ")
	i := 0
	for i < len(l) && i < 8 && l[i] >= '0' && l[i] <= '9' {
		i++
	}
	if i == 0 || i >= len(l) || l[i] != '\t' && l[i] != ':' {
		return 0, "", false
	}
	n, _ = strconv.Atoi(l[:i])
	return n, l[i+1:], true
}

var exitShapes = regexp.MustCompile(`(?i)(?:\bexit(?:ed)?(?: with)?(?: code| status)[ :=]+|<returncode>)(-?\d{1,3})\b`)

// exitCode finds how a command ended, from the first or last lines of a tool's result.
func exitCode(text string) (int, bool) {
	const near = 400
	tail := text[max(0, len(text)-near):]
	all := exitShapes.FindAllStringSubmatch(tail, -1)
	m := exitShapes.FindStringSubmatch(text[:min(len(text), 120)])
	if len(all) > 0 {
		m = all[len(all)-1]
	}
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil
}

// leftOut occurs in every shortened text that the model itself wrote, whether words or arguments.
const leftOut = "[… left out "

// stubArgs shortens the long texts in a call's arguments. The result is JSON of the same shape.
func (c *Compactor) stubArgs(ctx context.Context, call agent.ToolCall, tokens int) json.RawMessage {
	note := leftOut + fmt.Sprintf("of %d tokens", c.meter.text(string(call.Args)))
	if h := c.store(ctx, "arguments of "+call.Name, string(call.Args)); h != "" {
		note += "; whole: " + artifact.ReadTool + " " + h
	}
	note += " …]"
	return shortArgs(call.Args, max(tokens*3-len(note), 48), note)
}

// shortArgs shortens the strings of arguments to about room bytes in total, and puts note wherever
// it cut.
func shortArgs(raw json.RawMessage, room int, note string) json.RawMessage {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		v = map[string]any{"malformed": strings.ToValidUTF8(string(raw), "\uFFFD")}
	}
	for per := room; per >= 16; per /= 2 {
		b, err := json.Marshal(shortValue(v, per, note))
		if err == nil && len(b) <= 2*(room+len(note)) {
			return b
		}
	}
	b, err := json.Marshal(map[string]string{"shortened": note})
	if err != nil {
		return json.RawMessage("{}")
	}
	return b
}

func shortValue(v any, per int, note string) any {
	switch v := v.(type) {
	case string:
		if len(v) > per+len(note) {
			return cutMiddle(v, per, note)
		}
	case []any:
		out := make([]any, 0, min(len(v), 17))
		for i, e := range v {
			if i == 16 {
				return append(out, note)
			}
			out = append(out, shortValue(e, per, note))
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = shortValue(e, per, note)
		}
		return out
	}
	return v
}

// cutMiddle keeps the beginning and the end of s, in whole lines if possible.
func cutMiddle(s string, room int, note string) string {
	head := cutAt(s, room*2/3)
	if i := strings.LastIndexByte(head, '\n'); i > len(head)/2 {
		head = head[:i+1]
	}
	tail := s[len(s)-room/3:]
	for len(tail) > 0 && tail[0]&0xc0 == 0x80 {
		tail = tail[1:]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/2 {
		tail = tail[i:]
	}
	return head + note + tail
}
