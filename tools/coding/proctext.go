package coding

import (
	"strings"
	"unicode/utf8"
)

// stripANSI removes terminal escape sequences (ECMA-48: CSI, OSC and the other string sequences, two-byte escapes) and
// every control character but tab and line feed. A carriage return that overwrites a line, as progress bars do, leaves
// what was written last.
func stripANSI(s string) string {
	if !hasControl(s) {
		return s
	}
	out := make([]byte, 0, len(s))
	line := 0 // where the current line begins in out
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == 0x1b:
			i += escapeLen(s[i:])
		case c == '\r':
			i++
			if i < len(s) && s[i] != '\n' && s[i] != '\r' {
				out = out[:line]
			}
		case c == '\b':
			i++
			if len(out) > line {
				_, n := utf8.DecodeLastRune(out[line:])
				out = out[:len(out)-n]
			}
		case c == '\n':
			i++
			out = append(out, c)
			line = len(out)
		case c < 0x20 && c != '\t' || c == 0x7f:
			i++
		case c == 0xc2 && i+1 < len(s) && s[i+1] >= 0x80 && s[i+1] < 0xa0: // C1 controls in UTF-8
			i += 2
		case c >= 0x80 && c < 0xa0 && len(out) > line && out[len(out)-1] == 0xc2: // one that an escape had torn apart
			out = out[:len(out)-1]
			i++
		default:
			out = append(out, c)
			i++
		}
	}
	return string(out)
}

func hasControl(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 && c != '\n' && c != '\t' || c == 0x7f || c == 0xc2 {
			return true
		}
	}
	return false
}

// maxEscape bounds an escape sequence, so that an unfinished one does not swallow the output after it.
const maxEscape = 4096

// escapeLen returns the length of the escape sequence that s starts with.
func escapeLen(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[': // CSI: parameters, intermediates, one final byte
		for i := 2; i < len(s) && i < maxEscape; i++ {
			if c := s[i]; c >= 0x40 && c <= 0x7e {
				return i + 1
			} else if c < 0x20 || c > 0x3f {
				return i
			}
		}
		return min(len(s), maxEscape)
	case ']', 'P', '_', '^', 'X': // strings, ended by BEL or ESC \
		for i := 2; i < len(s) && i < maxEscape; i++ {
			switch {
			case s[i] == 0x07:
				return i + 1
			case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
				return i + 2
			case s[i] == '\n':
				return i
			}
		}
		return min(len(s), 2)
	case '(', ')', '*', '+', '#', '%', ' ':
		return min(len(s), 3)
	case '\n', '\r', 0x1b:
		return 1
	}
	return 2
}

// cleanText makes what a program printed fit to be shown: no terminal sequences, valid UTF-8.
func cleanText(b []byte) string {
	return strings.ToValidUTF8(stripANSI(string(b)), "\uFFFD")
}
