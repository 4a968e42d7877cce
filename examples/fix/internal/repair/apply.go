package repair

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// ErrIdentity is the error of an edit that changes nothing, or only white space and comments.
var ErrIdentity = errors.New("the line is so already")

// Apply returns a source in which a line of a function, counted from 1 at the func line, is
// replaced by a new text. The line keeps its indentation, trailing space and line ending; a blank
// line takes the indentation of the line before. Apply returns an error if the text leaves the
// function's [Tokens] unchanged or has line breaks, if the line is outside the function, or if src
// does not have the function at the position given in f.
func Apply(src []byte, f Function, line int, text string) ([]byte, error) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, errors.New("repair: edit line: the new text has a line break; an edit replaces one line by one line")
	}
	lines := strings.Split(f.Text, "\n")
	if line < 1 || line > len(lines) {
		return nil, fmt.Errorf("repair: edit line: there is no line %d in %s; it has lines 1 to %d", line, f.Name, len(lines))
	}
	from, to, ok := lineAt(src, f.Start+line-1)
	if !ok || string(src[from:to]) != lines[line-1] {
		return nil, fmt.Errorf("repair: edit line: %s is not in %s as it was read; read it again", f.Name, f.File)
	}
	text = strings.TrimSpace(text)
	if text == strings.TrimSpace(lines[line-1]) || Tokens(f.Edited(line, text)) == Tokens(f.Text) {
		return nil, fmt.Errorf("repair: edit line: line %d: %w", line, ErrIdentity)
	}
	if text != "" {
		old := lines[line-1]
		behind := old[len(strings.TrimRight(old, " \t")):] // trailing space matters in a string that spans several lines
		if strings.TrimSpace(old) == "" {
			behind = ""
		}
		text = indentation(lines, line-1) + text + behind
	}
	out := make([]byte, 0, len(src)+len(text))
	out = append(append(out, src[:from]...), text...)
	return append(out, src[to:]...), nil
}

// lineAt returns the start and end of line n of a source, from 1, without the line ending.
func lineAt(src []byte, n int) (from, to int, ok bool) {
	for ; n > 1; n-- {
		i := bytes.IndexByte(src[from:], '\n')
		if i < 0 {
			return 0, 0, false
		}
		from += i + 1
	}
	to = len(src)
	if i := bytes.IndexByte(src[from:], '\n'); i >= 0 {
		to = from + i
	}
	if to > from && src[to-1] == '\r' {
		to--
	}
	return from, to, n == 1
}

// indentation returns the space before the text of a line, or the indentation that a blank line
// should have.
func indentation(lines []string, i int) string {
	for k := i; k >= 0; k-- {
		if l := lines[k]; strings.TrimSpace(l) != "" {
			in := l[:len(l)-len(strings.TrimLeft(l, " \t"))]
			if k < i && strings.HasSuffix(strings.TrimSpace(l), "{") {
				in += "\t"
			}
			return in
		}
	}
	return ""
}
