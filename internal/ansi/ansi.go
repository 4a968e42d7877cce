// Package ansi removes terminal control from a program's output: the escape sequences of ECMA-48,
// bells, and text that was overwritten or deleted with a backspace.
package ansi

import (
	"strings"
	"unicode/utf8"
)

// Strip returns a text without terminal control. Of a line that carriage returns restarted, as
// progress bars do, it keeps what was written last. The result holds no control characters except
// tabs and line feeds.
func Strip(text string) string {
	i := 0
	for i < len(text) && (text[i] == '\n' || !Control(text[i])) {
		i++
	}
	if i == len(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for rest := text; rest != ""; {
		line, after, ended := strings.Cut(rest, "\n")
		rest = after
		line = strings.TrimRight(line, "\r")
		b.WriteString(Line(line[strings.LastIndexByte(line, '\r')+1:]))
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Line returns a line without terminal control: escape sequences (colours, titles, links), bells,
// and the characters that a backspace deleted. A line without such bytes is returned unchanged.
func Line(line string) string {
	i := 0
	for i < len(line) && !Control(line[i]) {
		i++
	}
	if i == len(line) {
		return line
	}
	out := make([]byte, 0, len(line))
	out = append(out, line[:i]...)
	for i < len(line) {
		c := line[i]
		switch {
		case c == 0x1b:
			i = escape(line, i)
		case c == 0xc2 && i+1 < len(line) && line[i+1] == 0x9b: // CSI as one rune
			i = csi(line, i+2)
		case c == '\b':
			if n := len(out); n > 0 {
				_, size := utf8.DecodeLastRune(out)
				out = out[:n-size]
			}
			i++
		case c == 0xc2 && i+1 < len(line) && line[i+1] >= 0x80 && line[i+1] < 0xa0: // other controls as one rune
			i += 2
		case c >= 0x80 && c < 0xa0 && len(out) > 0 && out[len(out)-1] == 0xc2: // the other half was cut off by an escape sequence
			out = out[:len(out)-1]
			i++
		case Control(c) && c != 0xc2:
			i++
		default:
			out = append(out, c)
			i++
		}
	}
	return string(out)
}

// Control reports whether a byte does not print. A tab prints; 0xc2 counts as control because it
// may begin a control sequence.
func Control(c byte) bool { return c < ' ' && c != '\t' || c == 0x7f || c == 0xc2 }

// longestEscape limits the length of a sequence that has no end, such as a title whose terminator
// was cut off.
const longestEscape = 4096

// escape returns where the sequence that begins at line[i] ends.
func escape(line string, i int) int {
	i++
	if i == len(line) {
		return i
	}
	switch c := line[i]; {
	case c == '[':
		return csi(line, i+1)
	case strings.IndexByte("]P_^X", c) >= 0: // a string, which ends at a bell or ESC \
		return stringEnd(line, i+1)
	case c >= ' ' && c <= '/': // such as ESC ( B
		for i < len(line) && line[i] >= ' ' && line[i] <= '/' {
			i++
		}
		if i < len(line) && line[i] >= 0x30 && line[i] <= 0x7e {
			i++
		}
		return i
	case c >= 0x30 && c <= 0x7e:
		return i + 1
	}
	return i
}

// csi skips parameters and the final byte of a control sequence.
func csi(line string, i int) int {
	for end := min(len(line), i+longestEscape); i < end; i++ {
		if c := line[i]; c >= 0x40 && c <= 0x7e {
			return i + 1
		} else if c < ' ' || c > 0x7e {
			return i
		}
	}
	return i
}

func stringEnd(line string, i int) int {
	for j, end := i, min(len(line), i+longestEscape); j < end; j++ {
		switch {
		case line[j] == 7:
			return j + 1
		case line[j] == 0x1b:
			if j+1 < len(line) && line[j+1] == '\\' {
				return j + 2
			}
			return j
		}
	}
	return i // no final byte: treat it as text
}
