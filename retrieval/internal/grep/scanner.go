package grep

import "bytes"

// Line is a matching line of a text.
type Line struct {
	Number     int // from 1
	Start, End int // of the line in the text, without its ending
}

// Scanner searches texts, one after the other. It is not safe for concurrent use.
type Scanner struct {
	p      *Pattern
	table  *table // nil: lines are matched by package regexp
	resets int
}

// Scanner returns a scanner. The states it makes for one text are reused for the next.
func (p *Pattern) Scanner() *Scanner {
	s := &Scanner{p: p}
	if p.auto != nil && !p.every && !p.whole {
		s.table = newTable(p.auto)
	}
	return s
}

// Append appends the matching lines of text, at most max of them; a negative max means all.
func (s *Scanner) Append(dst []Line, text []byte, max int) []Line {
	if max < 0 {
		max = int(^uint(0) >> 1)
	}
	w := walk{text: text, lines: dst, left: max}
	switch {
	case max == 0:
	case s.p.every:
		w.all()
	case s.p.need != nil:
		s.byHint(&w, false, func(at int) int {
			if i := bytes.Index(text[at:], s.p.need); i >= 0 {
				return at + i
			}
			return -1
		})
	case s.p.lead != nil:
		s.byHint(&w, true, func(at int) int { return s.p.lead.find(text, at) })
	default:
		s.byState(&w)
	}
	return w.lines
}

// walk goes over a text from line to line.
type walk struct {
	text    []byte
	lines   []Line
	left    int // maximum number of further lines
	counted int // start of a line; the newlines before it have been counted
	number  int // number of lines before that start
}

// take records the line from start to the newline at end, or to the end of the text, and returns
// the start of the next line.
func (w *walk) take(start, end int) int {
	if start > w.counted {
		w.number += bytes.Count(w.text[w.counted:start], newline)
	}
	w.number++
	w.counted = end + 1
	stop := end
	if stop > start && w.text[stop-1] == '\r' {
		stop--
	}
	w.lines = append(w.lines, Line{Number: w.number, Start: start, End: stop})
	w.left--
	return end + 1
}

var newline = []byte{'\n'}

// lineEnd returns the end of the line around i.
func (w *walk) lineEnd(i int) int {
	if n := bytes.IndexByte(w.text[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(w.text)
}

func (w *walk) all() {
	for at := 0; at < len(w.text) && w.left > 0; {
		at = w.take(at, w.lineEnd(at))
	}
}

// byHint checks only the lines at the positions that the function next returns, each at or after
// its argument; a negative position means that there are no more. If starts is true, no match
// starts before such a position.
func (s *Scanner) byHint(w *walk, starts bool, next func(at int) int) {
	for at := 0; w.left > 0 && at < len(w.text); {
		i := next(at)
		if i < 0 {
			return
		}
		start := at + bytes.LastIndexByte(w.text[at:i], '\n') + 1
		end := w.lineEnd(i)
		from := 0
		if starts {
			from = i - start
		}
		if s.p.whole || s.matches(w.text[start:end], from) {
			w.take(start, end)
		}
		at = end + 1
	}
}

// matches reports whether a line without its newline matches, given that no match starts before the
// parameter from.
func (s *Scanner) matches(line []byte, from int) bool {
	if s.table == nil {
		return s.p.re.Match(bytes.TrimSuffix(line, []byte{'\r'}))
	}
	state := int32(0)
	if from > 0 {
		if state = s.table.startBehind(line[from-1]); state == toFull {
			from, state = 0, 0
		}
	}
	_, found := s.next(line, from, state)
	return found
}

func (s *Scanner) byState(w *walk) {
	for at := 0; w.left > 0 && at < len(w.text); {
		if s.table == nil {
			end := w.lineEnd(at)
			if s.matches(w.text[at:end], 0) {
				w.take(at, end)
			}
			at = end + 1
			continue
		}
		i, found := s.next(w.text, at, 0)
		if !found {
			if s.table != nil {
				return
			}
			at = i
			continue
		}
		start := at + bytes.LastIndexByte(w.text[at:i], '\n') + 1
		at = w.take(start, w.lineEnd(i))
	}
}

// next runs the automaton from the parameter at, which is the start of a line if state is 0. It
// returns a position in the first matching line or at that line's newline. If there are too many
// states, next gives up the automaton: s.table is then nil, and the position is the start of the
// line where package regexp must continue, unless the text is a single line.
func (s *Scanner) next(text []byte, at int, state int32) (int, bool) {
	t := s.table
	col := &t.auto.byte
	row := t.next
	for i := at; i < len(text); {
		to := row[int(state)+int(col[text[i]])]
		if to == state {
			// No load in this loop waits for another one; only the branch depends on them, and the
			// branch is well predicted.
			for i++; i < len(text) && row[int(state)+int(col[text[i]])] == state; i++ {
			}
			continue
		}
		if to >= 0 {
			state = to
			i++
			continue
		}
		n := 1
		switch to {
		case toSlow:
			to, n = t.slow(state, text[i:])
		case toUnknown:
			to = t.fill(state, col[text[i]])
		}
		row = t.next
		switch to {
		case toMatch:
			return i, true
		case toDead:
			end := bytes.IndexByte(text[i:], '\n')
			if end < 0 {
				return len(text), false
			}
			state, n = 0, end+1
		case toFull:
			return s.restart(text, bytes.LastIndexByte(text[:i], '\n')+1)
		default:
			state = to
		}
		i += n
	}
	if at == len(text) || text[len(text)-1] != '\n' {
		return len(text), t.lineEnds(state)
	}
	return len(text), false
}

const maxResets = 30

// restart drops all states and continues at a line's start. If that happens too often, it gives up
// the automaton.
func (s *Scanner) restart(text []byte, at int) (int, bool) {
	if s.resets++; s.resets > maxResets {
		s.table = nil
		if bytes.IndexByte(text[at:], '\n') < 0 {
			return len(text), s.matches(text[at:], 0)
		}
		return at, false
	}
	s.table = newTable(s.p.auto)
	return s.next(text, at, 0)
}
