package digest

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// longestLine is the maximum length of a line that is not read in pieces. Ordinary lines are
// shorter; a longer line is a whole log in one line, or data.
const longestLine = 8 << 10

// parse reads a whole output.
func parse(text string) *parser {
	p := newParser()
	n := 1
	for len(text) > 0 {
		c, size := cues.scan(text)
		raw := text[:size]
		end := byte(0)
		if size < len(text) {
			end = text[size]
			size += lineEnd(text[size:])
			if text[size-1] == '\n' {
				end = '\n'
			}
		}
		text = text[size:]
		switch {
		case len(raw) > longestLine:
			p.long(n, raw)
		case c&^cueControl != 0 && (c&^(cueControl|cueFrame) != 0 || !javaFrame(raw)) || p.attentive():
			p.line(n, raw, c)
		}
		p.before = raw
		if len(raw) > 0 && raw[0] > ' ' {
			p.file = raw
		}
		if end == '\n' {
			n++
		}
	}
	p.finishTitle()
	return p
}

// javaFrame reports whether a line looks like a Java stack frame. Such lines are skipped unless the
// parser expects them.
func javaFrame(raw string) bool {
	i := 0
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\t') {
		i++
	}
	return strings.HasPrefix(raw[i:], "at ")
}

// lineEnd returns the length of the line ending with which text begins. "\r\n" is one line ending,
// and so is the "\r\r\n" of nested terminals. A single "\r", from a progress bar or an old system,
// is also one.
func lineEnd(text string) int {
	if text[0] != '\r' {
		return 1
	}
	const most = 4
	k := 1
	for k < len(text) && k < most && text[k] == '\r' {
		k++
	}
	if k < len(text) && text[k] == '\n' {
		return k + 1
	}
	return 1
}

// long reads a very long line in pieces. It cuts the line at escaped line endings (a written-out
// \n), or else at spaces.
func (p *parser) long(n int, raw string) {
	for raw != "" {
		size, skip := piece(raw)
		part := raw[:size]
		raw = raw[size+skip:]
		if c, _ := cues.scan(part); c != 0 || p.attentive() {
			p.line(n, part, c)
		}
	}
}

// piece returns the length of the first piece of a long line, and the number of bytes to skip after
// it.
func piece(raw string) (size, skip int) {
	const most = 2 << 10
	window := raw[:min(len(raw), most)]
	if i := strings.Index(window, "\\n"); i >= 0 {
		if i > 0 && raw[i-1] == '\\' { // escaped twice
			return i - 1, 3
		}
		return i, 2
	}
	if len(window) == len(raw) {
		return len(raw), 0
	}
	if i := strings.LastIndexByte(window, ' '); i > 0 {
		return i, 1
	}
	for i := most; i > most-utf8.UTFMax; i-- {
		if utf8.RuneStart(raw[i]) {
			return i, 0
		}
	}
	return most, 0
}

// event is a line of go test -json.
type event struct{ Action, Test, Output string }

// goOutput reports whether a line of go test -json holds output of a test.
func goOutput(raw string) bool {
	return len(raw) > 0 && raw[0] == '{' && strings.Contains(raw, `"Action":"output"`)
}

// readEvent parses a line of go test -json. It returns the zero event if the line is not an event.
func readEvent(raw string) event {
	var e event
	if json.Unmarshal([]byte(raw), &e) != nil {
		return event{}
	}
	return e
}
