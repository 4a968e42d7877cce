package shelleffects

import (
	"fmt"
	"strings"
)

// A scanner splits a command line into words by rules that bash, dash and every POSIX sh share. It
// knows no grammar, and it is written without the parser, so that a difference between the parser
// and a shell shows as a difference between two lists of words: see [agree]. It refuses each
// construct that shells read in different ways, or that the parser is known to read otherwise.
type scanner struct {
	src      string
	i        int
	nested   bool // inside $( ), <( ) or backquotes
	words    []token
	bodies   []token // here-documents with their last lines; zero for an empty one
	pending  []hereDoc
	brackets []byte // '(' for each open parenthesis, 'c' for each open case
	command  bool   // the next word begins a command
	broken   bool   // a separator came after the last word
}

// A token is a word, as byte offsets.
type token struct {
	from, to int
	first    bool // a separator stands before it
}

func (s *scanner) errorf(format string, args ...any) error {
	return fmt.Errorf("%s at byte %d", fmt.Sprintf(format, args...), s.i)
}

// at returns the byte at offset i+n, or 0 beyond the end.
func (s *scanner) at(n int) byte {
	if s.i+n < 0 || s.i+n >= len(s.src) {
		return 0
	}
	return s.src[s.i+n]
}

func (s *scanner) has(prefix string) bool { return strings.HasPrefix(s.src[s.i:], prefix) }

// commands scans up to the parenthesis that closes a substitution, or to the end of the text if
// nested is false.
func (s *scanner) commands(nested bool) error {
	depth := len(s.brackets)
	s.command, s.broken = true, true
	for s.i < len(s.src) {
		if s.at(0) == ')' && nested && len(s.brackets) == depth {
			return nil
		}
		if err := s.token(); err != nil {
			return err
		}
	}
	switch {
	case nested:
		return s.errorf("a substitution is not closed")
	case len(s.pending) > 0:
		return s.errorf("a here-document is not closed")
	}
	return nil
}

// token scans what begins at the current byte, outside any word.
func (s *scanner) token() error {
	switch c := s.at(0); c {
	case ' ', '\t':
		s.i++
	case '\n':
		s.i++
		s.separate()
		return s.hereBodies()
	case '\\':
		if s.at(1) == '\n' {
			return s.continuation()
		}
		return s.word()
	case '#':
		return s.comment()
	case ';', '|', '&':
		return s.operator()
	case '(', ')':
		return s.parenthesis(c)
	case '<', '>':
		if s.at(1) == '(' {
			return s.word()
		}
		return s.redirection()
	default:
		return s.word()
	}
	return nil
}

func (s *scanner) separate() { s.command, s.broken = true, true }

// continuation skips a backslash and newline between two words.
func (s *scanner) continuation() error {
	if s.i > 0 && !strings.ContainsRune(" \t\n;|&(", rune(s.at(-1))) || len(s.pending) > 0 {
		return s.errorf("a line is continued inside a word or before a here-document")
	}
	s.i += 2
	for s.at(0) == ' ' || s.at(0) == '\t' {
		s.i++
	}
	if strings.ContainsRune("#;|&()<>", rune(s.at(0))) && s.i < len(s.src) {
		return s.errorf("a continued line begins with an operator or comment")
	}
	return nil
}

// comment skips a comment. The parser joins a comment that ends in a backslash with the next line.
func (s *scanner) comment() error {
	text, _, _ := strings.Cut(s.src[s.i:], "\n")
	if s.nested || len(s.pending) > 0 || strings.HasSuffix(text, `\`) {
		return s.errorf("a comment stands where shells may read its end differently")
	}
	s.i += len(text)
	return nil
}

func (s *scanner) operator() error {
	for _, op := range []string{"&>>", "&>", "&&", "||", "|&", ";;", ";", "|", "&"} {
		if !s.has(op) {
			continue
		}
		s.i += len(op)
		if strings.HasPrefix(op, "&>") { // a redirection; what sh makes of it is looked at elsewhere
			return nil
		}
		if next := s.at(0); next != 0 && strings.ContainsRune(";|&", rune(next)) {
			return s.errorf("two operators stand together")
		}
		s.separate()
		return nil
	}
	return s.errorf("an operator is not known")
}

func (s *scanner) parenthesis(c byte) error {
	top := len(s.brackets) - 1
	switch {
	case c == '(' && (s.at(1) == '(' || s.i > 0 && !strings.ContainsRune(" \t\n;|&(", rune(s.at(-1)))):
		return s.errorf("a parenthesis is joined to a word or to another one")
	case c == '(':
		s.brackets = append(s.brackets, '(')
	case top < 0:
		return s.errorf("a parenthesis closes nothing")
	case s.brackets[top] == '(':
		s.brackets = s.brackets[:top]
	}
	s.i++
	s.separate()
	return nil
}

func (s *scanner) redirection() error {
	for _, op := range []string{"<<<", "<<-", "<<", "<&", "<", ">>", ">&", ">|", ">"} {
		if !s.has(op) {
			continue
		}
		s.i += len(op)
		if op == "<<" || op == "<<-" {
			return s.hereDelimiter(op == "<<-")
		}
		if next := s.at(0); next != 0 && strings.ContainsRune("<>&|;()#", rune(next)) && !s.has("<(") {
			return s.errorf("two operators stand together")
		}
		return nil
	}
	return s.errorf("an operator is not known")
}
