// Package jsonstream reads JSON that arrives in pieces.
package jsonstream

// Scanner detects when a JSON object or array that arrives in pieces is complete, reading each byte
// once. It checks only nesting and strings, not the grammar, so a value that it reports as complete
// may still be invalid JSON. The zero value is ready.
type Scanner struct {
	depth    int
	inString bool
	escaped  bool
	started  bool
	done     bool
	trailing bool
	bad      bool
}

// Feed reads the next piece and reports whether the top-level value is complete.
func (s *Scanner) Feed(piece string) bool {
	for i := 0; i < len(piece); i++ {
		c := piece[i]
		if s.inString {
			switch {
			case s.escaped:
				s.escaped = false
			case c == '\\':
				s.escaped = true
			case c == '"':
				s.inString = false
			}
			continue
		}
		s.structural(c)
	}
	return s.Complete()
}

// structural handles one byte outside a string.
func (s *Scanner) structural(c byte) {
	switch c {
	case ' ', '\t', '\r', '\n':
		return
	}
	if s.done {
		s.trailing = true
		return
	}
	switch c {
	case '{', '[':
		s.started = true
		s.depth++
	case '}', ']':
		s.depth--
		if s.depth == 0 && s.started {
			s.done = true
		} else if s.depth < 0 {
			s.bad = true
		}
	case '"':
		if s.depth == 0 {
			s.bad = true // a top-level string is not an argument object
		}
		s.inString = true
	default:
		if s.depth == 0 {
			s.bad = true
		}
	}
}

// Complete reports whether a top-level object or array was closed, with only white space before and
// after it.
func (s *Scanner) Complete() bool { return s.done && !s.bad && !s.trailing }

// Started reports whether any byte except white space was read.
func (s *Scanner) Started() bool { return s.started || s.bad }
