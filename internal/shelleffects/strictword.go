package shelleffects

import (
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"
)

// add records the word from from to the current byte.
func (s *scanner) add(from int) {
	s.words = append(s.words, token{from, s.i, s.broken})
	s.broken = false
}

var errOpen = errors.New("a quote is not closed")

// word scans one word.
func (s *scanner) word() error {
	from := s.i
	at := len(s.words)
	s.words = append(s.words, token{}) // the words of its substitutions come after it
	first, command := s.broken, s.command
	for s.i < len(s.src) && !strings.ContainsRune(" \t\n;&|<>()", rune(s.at(0))) || s.i == from {
		if err := s.part(from); err != nil {
			return err
		}
		if s.at(-1) == ')' && s.src[from] == '<' { // <( ) is a word of its own
			break
		}
	}
	text := s.src[from:s.i]
	switch c := s.at(0); {
	case c == '(' || (c == '<' || c == '>') && s.at(1) == '(':
		return s.errorf("a parenthesis is joined to a word")
	case (c == '<' || c == '>') && number.MatchString(text): // the number of a file
		if len(text) > 1 {
			return s.errorf("a redirection of a file with a long number")
		}
		s.words = s.words[:at]
		return nil
	case command && subscript.MatchString(text):
		return s.errorf("an assignment to an element of an array")
	}
	s.words[at] = token{from, s.i, first}
	s.broken = false
	return s.after(text, command)
}

var (
	subscript  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*\[`)
	assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*\+?=`)
)

// after follows the words that open or close a compound command.
func (s *scanner) after(text string, command bool) error {
	top := len(s.brackets) - 1
	switch {
	case command && text == "case":
		if s.nested {
			return s.errorf("a case stands inside a substitution")
		}
		s.brackets = append(s.brackets, 'c')
	case text == "esac" && top >= 0 && s.brackets[top] == 'c':
		s.brackets = s.brackets[:top]
	case reserved[text] && command: // what follows begins a command
		return nil
	case command && assignment.MatchString(text):
		return nil
	}
	s.command = false
	return nil
}

// part scans one part of a word that began at from: a quotation, an expansion or a character.
func (s *scanner) part(from int) error {
	switch c := s.at(0); {
	case c == '\\':
		return s.escape()
	case c == '\'':
		end := strings.IndexByte(s.src[s.i+1:], '\'')
		if end < 0 {
			return errOpen
		}
		s.i += end + 2
	case c == '"':
		return s.doubleQuoted()
	case c == '`':
		return s.backquoted()
	case c == '$':
		return s.dollar(false)
	case c == '<': // only at the beginning
		s.i++
		return s.substitution()
	case c == '{' || c == '}':
		return s.brace(from)
	case c >= utf8.RuneSelf:
		return s.character("\\`|{}[]~^")
	default:
		s.i++
	}
	return nil
}

// escape skips a backslash and the character that it quotes.
func (s *scanner) escape() error {
	if c := s.at(1); c == 0 || c == '\n' || c >= utf8.RuneSelf {
		return s.errorf("a backslash stands before a newline, the end or an unusual character")
	}
	s.i += 2
	return nil
}

// character skips a character outside ASCII. In some encodings its last byte and the one after it
// are one character, and some systems take the bytes 85 and A0 for blanks.
func (s *scanner) character(trail string) error {
	_, n := utf8.DecodeRuneInString(s.src[s.i:])
	unquoted := strings.Contains(trail, "|")
	if unquoted && strings.ContainsAny(s.src[s.i:s.i+n], "\x85\xa0") {
		return s.errorf("a character outside quotes that some systems read as a blank")
	}
	s.i += n
	if c := s.at(0); c != 0 && strings.ContainsRune(trail, rune(c)) {
		return s.errorf("a character that some encodings join with the next one")
	}
	return nil
}

func (s *scanner) doubleQuoted() error {
	for s.i++; s.i < len(s.src); {
		var err error
		switch c := s.at(0); {
		case c == '"':
			s.i++
			return nil
		case c == '\\':
			err = s.escape()
		case c == '`':
			err = s.backquoted()
		case c == '$':
			err = s.dollar(true)
		case c >= utf8.RuneSelf:
			err = s.character("\\`")
		default:
			s.i++
		}
		if err != nil {
			return err
		}
	}
	return errOpen
}
