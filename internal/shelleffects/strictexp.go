package shelleffects

import (
	"regexp"
	"strings"
)

// reserved are the words that the grammar takes without making them part of a command.
var reserved = set("if", "then", "elif", "else", "fi", "for", "in", "do", "done", "while", "until", "case", "esac", "{", "}", "!", "time", "[[", "]]")

var (
	identifier  = `[A-Za-z_][A-Za-z0-9_]*`
	plainDollar = regexp.MustCompile(`^\$(?:` + identifier + `|[0-9?!#*@$-])`)
	ansiQuoted  = regexp.MustCompile(`^\$'(?:\\[ntr"\\]|[^\\'])*'`)
	arithmetic  = regexp.MustCompile(`^\$\(\([0-9 +*/%()-]*\)\)`)
	// parameter are the forms of ${ } whose end all shells find at the same place.
	parameter = regexp.MustCompile(`^\$\{(?:#` + identifier + `(?:\[[@*]\])?|(?:` + identifier + `(?:\[(?:[0-9]+|[@*])\])?|[0-9]+|[@*?])` +
		`(?:(?::?[-+]|##?|%%?|//?|\^\^?|,,?)(?:[^\\'"{}` + "`" + `$<>()\n;&|#]|\$` + identifier + `)*|:[0-9]+(?::[0-9]+)?|:?[?=][A-Za-z0-9 ]*)?)\}`)
	// backquotes hold nothing that ends elsewhere in another shell.
	backquotes = regexp.MustCompile("^`(?:[^`\\\\'\"#\\n(){}<$]|\\$" + identifier + ")*`")
	// braces are {a,b} and {1..3} without anything inside that shells expand in another order, and
	// the braces of a git revision.
	braces = regexp.MustCompile(`^\{(?:[A-Za-z0-9_.*/-]*(?:,[A-Za-z0-9_.*/-]*)+|[0-9]+\.\.[0-9]+|[A-Za-z]\.\.[A-Za-z]|[A-Za-z0-9_-]*)\}`)
)

// dollar scans an expansion, or a dollar sign that stands for itself.
func (s *scanner) dollar(quoted bool) error {
	rest := s.src[s.i:]
	forms := []*regexp.Regexp{plainDollar, parameter, ansiQuoted}
	if quoted {
		forms = forms[:2]
	}
	for _, form := range forms {
		if m := form.FindString(rest); m != "" {
			s.i += len(m)
			return nil
		}
	}
	switch {
	case strings.HasPrefix(rest, "$(("):
		return s.arithmetic()
	case strings.HasPrefix(rest, "$("):
		s.i++
		return s.substitution()
	}
	s.i++
	ends := " \t\n/.,|;)%^:"
	if quoted {
		ends += `"\`
	}
	if c := s.at(0); c != 0 && !strings.ContainsRune(ends, rune(c)) {
		return s.errorf("an expansion of an unusual form")
	}
	return nil
}

// arithmetic scans $(( )) with numbers only. The two parentheses that close it stand together.
func (s *scanner) arithmetic() error {
	m := arithmetic.FindString(s.src[s.i:])
	depth, closed := 0, 0 // closed is where the inner one of the two parentheses ended
	for j := 1; j < len(m); j++ {
		switch m[j] {
		case '(':
			if depth++; depth == 2 && j != 2 {
				return s.errorf("arithmetic that is more than numbers")
			}
		case ')':
			if depth--; depth == 1 {
				closed = j
			}
		}
		if depth == 0 {
			if closed != j-1 {
				break
			}
			s.i += j + 1
			return nil
		}
	}
	return s.errorf("arithmetic that is more than numbers")
}

// substitution scans the commands between parentheses, from the opening one.
func (s *scanner) substitution() error {
	outer := *s
	s.i++
	s.nested, s.pending, s.brackets = true, nil, nil
	if err := s.commands(true); err != nil {
		return err
	}
	s.i++
	s.nested, s.pending, s.brackets, s.command, s.broken = outer.nested, outer.pending, outer.brackets, outer.command, outer.broken
	return nil
}

func (s *scanner) backquoted() error {
	m := backquotes.FindString(s.src[s.i:])
	if m == "" || s.nested {
		return s.errorf("backquotes that hold more than plain words")
	}
	inner := &scanner{src: s.src[:s.i+len(m)-1], i: s.i + 1, nested: true}
	if err := inner.commands(false); err != nil {
		return err
	}
	s.words = append(s.words, inner.words...)
	s.i += len(m)
	return nil
}

// brace scans a brace outside quotes, in a word that began at from.
func (s *scanner) brace(from int) error {
	if m := braces.FindString(s.src[s.i:]); m != "" {
		s.i += len(m)
		return nil
	}
	if s.i == from && (s.at(1) == 0 || strings.ContainsRune(" \t\n;&|)", rune(s.at(1)))) {
		s.i++
		return nil
	}
	return s.errorf("a brace that shells may read differently")
}
