package compaction

import (
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// unchangedMark begins the line that replaces lines which are already in the context.
const unchangedMark = "[unchanged: "

// The minimum for a pointer to be worthwhile.
const (
	leastRepeat   = 100  // tokens that must be saved in all
	leastShare    = 0.25 // share of the result that must be saved
	leastRunLines = 5
	leastRunBytes = 240
	mostPointers  = 4
)

// unchanged shortens a result by removing lines that the result of an earlier call in the live
// context already has, word for word: of a file that is read again, or shown again around an edit.
// A pointer line replaces them. Lines are compared, not files or times, so the pointer is correct
// whatever happened in between. If a model asks to read the same a second time, it gets the lines.
func (c *Compactor) unchanged(call agent.ToolCall, text string, live []agent.Message) (string, bool) {
	size := c.meter.text(text)
	if size < leastRepeat {
		return "", false
	}
	insist := c.memo.action(call).kind == kindRead
	ix := lineIndex{at: map[string][]linePlace{}}
	for i := len(live) - 1; i > 0; i-- {
		if live[i].Role != agent.RoleTool {
			continue
		}
		calls := live[i-1].Calls()
		for j := len(live[i].Parts) - 1; j >= 0; j-- {
			r, ok := live[i].Parts[j].(agent.ToolResult)
			if !ok || j >= len(calls) {
				continue
			}
			old := r.Text()
			if insist && calls[j].Name == call.Name && strings.Contains(old, unchangedMark) && jsontree.Same(calls[j].Args, call.Args) {
				return "", false
			}
			if !isStub(old) {
				ix.add(calls[j], old)
			}
		}
	}
	short, pointers := ix.point(c, text)
	if pointers == 0 || pointers > mostPointers {
		return "", false
	}
	saved := size - c.meter.text(short)
	return short, saved >= leastRepeat && float64(saved) >= leastShare*float64(size)
}

// lineIndex finds lines in earlier results, searching the latest results first.
type lineIndex struct {
	results []indexed
	at      map[string][]linePlace // by content
}

type indexed struct {
	call  agent.ToolCall
	lines []numberedLine
}

type linePlace struct{ result, line int }

// numberedLine is a line with the number that a tool put before it, or 0.
type numberedLine struct {
	text   string
	number int
}

// maxPlaces limits the places remembered for one line. A line that is in more places does not
// identify where a text came from.
const maxPlaces = 8

func (ix *lineIndex) add(call agent.ToolCall, text string) {
	lines := splitNumbered(text)
	if len(lines) < leastRunLines {
		return
	}
	for i, l := range lines {
		if places := ix.at[l.text]; len(l.text) > 3 && len(places) < maxPlaces {
			ix.at[l.text] = append(places, linePlace{len(ix.results), i})
		}
	}
	ix.results = append(ix.results, indexed{call, lines})
}

func splitNumbered(text string) []numberedLine {
	raw := strings.Split(text, "\n")
	lines := make([]numberedLine, len(raw))
	for i, l := range raw {
		l = strings.TrimSuffix(l, "\r")
		lines[i].text = l
		if n, rest, ok := lineNumber(l); ok {
			lines[i] = numberedLine{rest, n}
		}
	}
	return lines
}

// point returns text with pointers in place of the runs of lines that are elsewhere in the context,
// and the number of pointers.
func (ix *lineIndex) point(c *Compactor, text string) (string, int) {
	lines, raw := splitNumbered(text), strings.Split(text, "\n")
	var out []string
	pointers := 0
	for i := 0; i < len(lines); {
		place, n := ix.longest(lines[i:])
		if n < leastRunLines || size(lines[i:i+n]) < leastRunBytes {
			out = append(out, raw[i])
			i++
			continue
		}
		out = append(out, ix.pointer(c, lines[i:i+n], place))
		pointers++
		i += n
	}
	return strings.Join(out, "\n"), pointers
}

func size(lines []numberedLine) int {
	n := 0
	for _, l := range lines {
		n += len(l.text)
	}
	return n
}

// longest finds the longest run of lines in earlier results that matches the beginning of the
// parameter lines.
func (ix *lineIndex) longest(lines []numberedLine) (best linePlace, n int) {
	for _, p := range ix.at[lines[0].text] {
		old := ix.results[p.result].lines[p.line:]
		k := 0
		for k < len(lines) && k < len(old) && lines[k].text == old[k].text && inStep(lines, k) && inStep(old, k) {
			k++
		}
		if k > n {
			best, n = p, k
		}
	}
	return best, n
}

// inStep reports whether line k has the number that follows from the number of the first line, or
// whether both have no number.
func inStep(lines []numberedLine, k int) bool {
	if lines[0].number == 0 {
		return lines[k].number == 0
	}
	return lines[k].number == lines[0].number+k
}

// pointer returns the line that replaces the parameter lines.
func (ix *lineIndex) pointer(c *Compactor, lines []numberedLine, p linePlace) string {
	from := &ix.results[p.result]
	a := c.memo.action(from.call)
	first, last, was := lines[0], lines[len(lines)-1], from.lines[p.line]
	what := fmt.Sprintf("%d lines, %q to %q,", len(lines), cutMark(strings.TrimSpace(first.text), 40), cutMark(strings.TrimSpace(last.text), 40))
	if first.number > 0 {
		what = fmt.Sprintf("lines %d-%d", first.number, last.number)
		if was.number != first.number && was.number > 0 {
			what += fmt.Sprintf(" (then %d-%d)", was.number, was.number+len(lines)-1)
		}
	}
	return fmt.Sprintf("%s%s stand above in the result of %s (call %s)]", unchangedMark, what, a.title(), from.call.ID)
}

// pointedAt yields the ids of the calls whose results a text points at.
func pointedAt(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for {
			_, rest, ok := strings.Cut(text, unchangedMark)
			if !ok {
				return
			}
			line, _, _ := strings.Cut(rest, "\n")
			if i := strings.LastIndex(line, " (call "); i >= 0 && strings.HasSuffix(line, ")]") {
				if !yield(line[i+len(" (call ") : len(line)-2]) {
					return
				}
			}
			text = rest
		}
	}
}
