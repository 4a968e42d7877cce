package coding

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

// grepLine is one line of a result.
type grepLine struct {
	num   int
	text  string
	match bool // else it is context
}

// fileMatches are the matches in one file. lines holds as many as may be shown; count is the number
// of matching lines.
type fileMatches struct {
	rel   string
	lines []grepLine
	count int
}

// grepScan searches one file that is fed to it in pieces of whole lines.
type grepScan struct {
	p             *grepPattern
	before, after int
	maxLines      int // matching lines to keep; more are counted
	lineBytes     int
	size          int // of a piece

	out     fileMatches
	num     int      // lines in the pieces before this one
	tail    []string // the last lines of them, as context
	pending int      // lines of context still due behind the last match
	shown   int      // number of the last line in out
}

// piece searches buf, which ends with a newline unless it is the last.
func (s *grepScan) piece(buf []byte) {
	pos, num := 0, s.num // everything before pos is done; num lines lie before it
	for pos < len(buf) {
		loc := s.p.scan.FindIndex(buf[pos:])
		if loc == nil {
			break
		}
		start := pos + bytes.LastIndexByte(buf[pos:pos+loc[0]], '\n') + 1
		if start == len(buf) {
			break // an empty match behind the last newline is in no line
		}
		end := s.matchEnd(buf, start, pos+loc[1])
		line := num + bytes.Count(buf[pos:start], []byte{'\n'}) + 1
		s.context(buf[pos:start], num)
		if s.p.multiline || s.p.matchLine(buf[start:end]) {
			s.lead(buf, start, line)
			for part := range bytes.Lines(buf[start:end]) {
				s.emit(line, part, true)
				line++
			}
			s.pending = s.after
		} else {
			s.context(buf[start:end], line-1)
			line++
		}
		pos, num = end, line-1
	}
	s.context(buf[pos:], num)
	s.num = num + countLines(string(buf[pos:]))
	s.keepTail(buf)
}

// matchEnd is the end of the last line that a match up to m covers, with its newline.
func (s *grepScan) matchEnd(buf []byte, start, m int) int {
	if m > start && buf[m-1] == '\n' {
		return m // a match that ends with a newline does not reach into the next line
	}
	if i := bytes.IndexByte(buf[m:], '\n'); i >= 0 {
		return m + i + 1
	}
	return len(buf)
}

// context emits the lines still due behind the last match from text, whose lines are numbered from
// num+1.
func (s *grepScan) context(text []byte, num int) {
	if s.pending == 0 {
		return
	}
	for part := range bytes.Lines(text) {
		if s.pending == 0 {
			return
		}
		num++
		s.pending--
		s.emit(num, part, false)
	}
}

// lead emits the context before line, which starts at buf[start].
func (s *grepScan) lead(buf []byte, start, line int) {
	if s.before == 0 || s.full() {
		return
	}
	var lines []string
	for at := start; at > 0 && len(lines) < s.before; {
		prev := bytes.LastIndexByte(buf[:at-1], '\n') + 1
		lines = append(lines, string(buf[prev:at]))
		at = prev
	}
	for i := len(s.tail) - 1; i >= 0 && len(lines) < s.before; i-- {
		lines = append(lines, s.tail[i])
	}
	for i := len(lines) - 1; i >= 0; i-- {
		if n := line - 1 - i; n > s.shown {
			s.emit(n, []byte(lines[i]), false)
		}
	}
}

func (s *grepScan) full() bool { return s.maxLines >= 0 && s.out.count >= s.maxLines }

// emit adds a line; matching lines beyond the limit are counted only.
func (s *grepScan) emit(num int, text []byte, match bool) {
	if match {
		s.out.count++
		if s.maxLines >= 0 && s.out.count > s.maxLines {
			s.pending = 0
			return
		}
	}
	if num <= s.shown {
		return
	}
	s.shown = num
	s.out.lines = append(s.out.lines, grepLine{num, s.p.excerpt(text, s.lineBytes), match})
}

// keepTail remembers the last lines of a piece for matches at the start of the next one.
func (s *grepScan) keepTail(buf []byte) {
	if s.before == 0 {
		return
	}
	var lines []string
	for at := len(buf); at > 0 && len(lines) < s.before; {
		prev := bytes.LastIndexByte(buf[:at-1], '\n') + 1
		lines = append(lines, string(buf[prev:at]))
		at = prev
	}
	for i := len(s.tail) - 1; i >= 0 && len(lines) < s.before; i-- {
		lines = append(lines, s.tail[i])
	}
	s.tail = s.tail[:0]
	for i := len(lines) - 1; i >= 0; i-- {
		s.tail = append(s.tail, lines[i])
	}
}

// excerpt is a line as it is shown: of a long one the part around the first match.
func (p *grepPattern) excerpt(line []byte, max int) string {
	line = bytes.TrimRight(line, "\r\n")
	if len(line) <= max {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	from := 0
	if loc := p.line.FindIndex(line); loc != nil && loc[0] > max/2 {
		from = min(loc[0]-max/4, len(line)-max/2)
	}
	head := ""
	if from > 0 {
		head = "[" + show.Size(int64(from)) + " before] …"
		for line = line[from:]; len(line) > 0 && !utf8.RuneStart(line[0]); {
			line = line[1:]
		}
	}
	return head + show.Line(string(line), max)
}
