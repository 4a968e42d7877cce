package digest

import (
	"strings"

	"github.com/luthier-dev/luthier/internal/ansi"
)

// numbered finds the lines of an output by their numbers. Indentation has a meaning in most of what
// programs print, so a line is written with the white space that was before it.
type numbered struct {
	text   string
	starts []int // of the lines found so far
}

// line returns line n, from 1, without its end; n may be out of range.
func (t *numbered) line(n int) string {
	if n < 1 {
		return ""
	}
	if len(t.starts) == 0 {
		t.starts = append(t.starts, 0)
	}
	for len(t.starts) <= n {
		at := t.starts[len(t.starts)-1]
		if at > len(t.text) {
			return ""
		}
		i := strings.IndexByte(t.text[at:], '\n')
		if i < 0 {
			i = len(t.text) - at
		}
		t.starts = append(t.starts, at+i+1)
	}
	return t.text[t.starts[n-1] : t.starts[n]-1]
}

// longestLead limits the white space that is kept before a line.
const longestLead = 120

// lead returns the white space before text in line n. It reports false if text is not what the line
// says.
func (t *numbered) lead(n int, text string) (string, bool) {
	raw := t.line(n)
	if len(raw) > longestLine {
		return "", false
	}
	raw = strings.TrimRight(raw, "\r")
	body, _ := untag(ansi.Line(raw[strings.LastIndexByte(raw, '\r')+1:]))
	said := strings.TrimLeft(body, " \t")
	if !strings.HasPrefix(said, strings.TrimSuffix(text, "…")) {
		return "", false
	}
	return body[:min(len(body)-len(said), longestLead)], true
}
