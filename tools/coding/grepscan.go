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
	match bool // otherwise it is context
}

// fileMatches are the matches in one file. lines holds as many as may be shown; count is the number
// of matching lines.
type fileMatches struct {
	rel   string
	lines []grepLine
	count int
}

// grepScan searches one file that it receives in pieces of whole lines.
type grepScan struct {
	p             *grepPattern
	before, after int
	maxLines      int // matching lines to keep; more are only counted
	lineBytes     int
	size          int  // of a piece
	wide          bool // the file is UTF-16 or UTF-32
	single        bool // the search is for this file only

	out     fileMatches
	num     int      // number of lines before this piece
	tail    []string // the last lines before this piece, as context
	pending int      // lines of context still to show after the last match
	shown   int      // number of the last line in out
}

// piece searches buf, which ends with a newline unless it is the last.
func (s *grepScan) piece(buf []byte) {
	pos, num := 0, s.num // everything before pos is done; it has num lines
	for pos < len(buf) && s.p.prefix.in(buf[pos:]) {
		loc := s.p.scan.FindIndex(buf[pos:])
		if loc == nil {
			break
		}
		start := pos + bytes.LastIndexByte(buf[pos:pos+loc[0]], '\n') + 1
		if start == len(buf) {
			break // an empty match after the last newline is not in any line
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
	s.num = num + bytes.Count(buf[pos:], []byte{'\n'})
	if pos < len(buf) && buf[len(buf)-1] != '\n' {
		s.num++
	}
	s.keepTail(buf)
}

// matchEnd returns the end of the last line that a match up to m covers, including its newline.
func (s *grepScan) matchEnd(buf []byte, start, m int) int {
	if m > start && buf[m-1] == '\n' {
		return m // a match that ends with a newline does not extend into the next line
	}
	if i := bytes.IndexByte(buf[m:], '\n'); i >= 0 {
		return m + i + 1
	}
	return len(buf)
}

// context emits from text the lines still due after the last match. The lines are numbered from
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

// emit adds a line; matching lines beyond the limit are only counted.
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

// keepTail keeps the last lines of a piece as context for matches at the start of the next one.
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

// excerpt returns a line in the form shown: of a long line, only the part around the first match.
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
