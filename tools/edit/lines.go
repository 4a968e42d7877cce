package edit

import "strings"

const (
	lf   = "\n"
	crlf = "\r\n"
	bom  = "\ufeff"
)

// line is one line of a file: its text and the line ending that follows it, which is empty only at
// the end of the file.
type line struct{ text, eol string }

// splitLines cuts s into lines. A file that ends with a newline has no empty last line.
func splitLines(s string) []line {
	out := make([]line, 0, strings.Count(s, lf)+1)
	for s != "" {
		i := strings.IndexByte(s, '\n')
		switch {
		case i < 0:
			return append(out, line{text: s})
		case i > 0 && s[i-1] == '\r':
			out = append(out, line{s[:i-1], crlf})
		default:
			out = append(out, line{s[:i], lf})
		}
		s = s[i+1:]
	}
	return out
}

// joinLines is the inverse of splitLines.
func joinLines(b *strings.Builder, ls []line) {
	for _, l := range ls {
		b.WriteString(l.text)
		b.WriteString(l.eol)
	}
}

// join joins lines into a string.
func join(ls []line) string {
	var b strings.Builder
	joinLines(&b, ls)
	return b.String()
}

// sizeOf returns the length of lines in bytes.
func sizeOf(ls []line) int {
	n := 0
	for _, l := range ls {
		n += len(l.text) + len(l.eol)
	}
	return n
}

// toLF turns CRLF line endings into LF.
func toLF(s string) string {
	if strings.IndexByte(s, '\r') < 0 {
		return s
	}
	return strings.ReplaceAll(s, crlf, lf)
}

// withEOL changes every line ending of the LF text s to eol.
func withEOL(s, eol string) string {
	if eol != crlf {
		return s
	}
	return strings.ReplaceAll(s, lf, crlf)
}

// mainEOL returns the line ending of most lines, or LF if there is none or a tie.
func mainEOL(ls []line) string {
	n := 0
	for _, l := range ls {
		switch l.eol {
		case crlf:
			n++
		case lf:
			n--
		}
	}
	if n > 0 {
		return crlf
	}
	return lf
}

// lineAt returns the number (from 1) of the line of s that contains byte offset off.
func lineAt(s string, off int) int { return 1 + strings.Count(s[:off], lf) }

// indentOf returns the leading white space of a line.
func indentOf(s string) string {
	i := 0
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return s[:i]
}

// isSpace reports whether c is white space that may occur at the ends of a line.
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' }

// blank reports whether a line contains only white space.
func blank(s string) bool { return trimLeft(s) == "" }

func trimLeft(s string) string {
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	return s
}

func trimRight(s string) string {
	for s != "" && isSpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

// block is the old or the new side of a replacement as lines. closed reports whether the last line
// ended with a newline.
type block struct {
	lines  []string
	closed bool
}

// splitBlock splits LF text into a block. The empty text is a closed block without lines.
func splitBlock(s string) block {
	if s == "" {
		return block{closed: true}
	}
	ls := strings.Split(s, lf)
	if n := len(ls) - 1; ls[n] == "" {
		return block{lines: ls[:n], closed: true}
	}
	return block{lines: ls}
}
