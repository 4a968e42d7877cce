package shelleffects

import (
	"regexp"
	"strings"
)

// A hereDoc is a here-document whose body has not begun.
type hereDoc struct {
	end            string
	quoted, dedent bool
}

var (
	delimiter    = regexp.MustCompile(`^[ \t]*(?:([A-Za-z0-9_]+)|'([A-Za-z0-9_]+)'|"([A-Za-z0-9_]+)"|\\([A-Za-z0-9_]+))`)
	plainDoc     = regexp.MustCompile("^[^\\\\`$]*$")
	docVariables = regexp.MustCompile(`\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\})`)
)

// hereDelimiter scans the word after << or <<-.
func (s *scanner) hereDelimiter(dedent bool) error {
	m := delimiter.FindStringSubmatch(s.src[s.i:])
	if m == nil || s.nested {
		return s.errorf("a here-document has an unusual delimiter or place")
	}
	s.i += len(m[0])
	if c := s.at(0); c != 0 && !strings.ContainsRune(" \t\n;|&>)", rune(c)) {
		return s.errorf("the delimiter of a here-document is joined to something")
	}
	from := s.i - len(strings.TrimLeft(m[0], " \t"))
	s.add(from)
	s.pending = append(s.pending, hereDoc{end: m[1] + m[2] + m[3] + m[4], quoted: m[1] == "", dedent: dedent})
	return nil
}

// hereBodies skips the here-documents that begin on this line. It looks at their text line by line,
// as shells do, so nothing in it may extend over a line.
func (s *scanner) hereBodies() error {
	for _, h := range s.pending {
		start := s.i
		for {
			if s.i >= len(s.src) {
				return s.errorf("a here-document is not closed")
			}
			from := s.i
			raw, _, _ := strings.Cut(s.src[from:], "\n")
			s.i = min(len(s.src), s.i+len(raw)+1)
			line := raw
			if h.dedent {
				line = strings.TrimLeft(line, "\t")
			}
			if line == h.end {
				body := token{from: start, to: from + len(raw)}
				if start == from {
					body = token{} // the parser keeps no empty document
				}
				s.bodies = append(s.bodies, body)
				break
			}
			if !h.quoted && !plainDoc.MatchString(docVariables.ReplaceAllString(line, "")) {
				return s.errorf("a here-document without quotes holds more than text and variables")
			}
		}
	}
	s.pending = nil
	return nil
}
