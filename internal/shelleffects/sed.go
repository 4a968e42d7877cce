package shelleffects

import (
	"strings"
	"unicode/utf8"
)

var sedRow = newRow("sed", strings.Fields(`-nErsuz -e=text --quiet --silent --regexp-extended --expression=text --separate --unbuffered
	--null-data --posix --sandbox`), []string{"text", "file*", "instead:-e,--expression"})

// sed analyses a sed command whose scripts only print, delete and substitute.
func sed(c *call) outcome {
	if strings.Contains(strings.Join(c.args, " "), "-i") { // only for the explanation: the row has no such option anyway
		for _, a := range c.args {
			if strings.HasPrefix(a, "-i") || strings.HasPrefix(a, "--in-place") {
				c.w.fx.unknown("sed edits files in place")
				c.w.fx.Writes = append(c.w.fx.Writes, ".")
			}
		}
	}
	p := &parsed{used: map[string]string{}}
	if !c.split(sedRow, c.args, p) {
		return stay(c.st)
	}
	c.operands(sedRow, p)
	scripts := sedScripts(c.args, p)
	for _, s := range scripts {
		if !static(s) || !sedReads(s) {
			c.w.fx.unknown("a sed script may write files or run commands: " + show(s))
		}
	}
	if len(scripts) == 0 && !p.has("--version", "--help") {
		c.w.fx.unknown("sed has no script")
	}
	return stay(c.st)
}

// sedScripts lists the scripts of a command that split has accepted: each value of -e, or the first
// operand if there is none.
func sedScripts(args []string, p *parsed) []string {
	if !p.has("-e", "--expression") {
		return p.operands[:min(1, len(p.operands))]
	}
	var scripts []string
	for i, a := range args {
		switch {
		case a == "--":
			return scripts
		case strings.HasPrefix(a, "--expression="):
			scripts = append(scripts, strings.TrimPrefix(a, "--expression="))
		case strings.HasPrefix(a, "--"):
			if a == "--expression" && i+1 < len(args) {
				scripts = append(scripts, args[i+1])
			}
		case len(a) > 1 && a[0] == '-':
			flags, joined, ok := strings.Cut(a[1:], "e")
			switch {
			case !ok || strings.Trim(flags, "nErsuz") != "":
			case joined != "":
				scripts = append(scripts, joined)
			case i+1 < len(args):
				scripts = append(scripts, args[i+1])
			}
		}
	}
	return scripts
}

// sedReads reports whether a script holds only commands that print, delete or change the pattern
// space. It knows a few forms and refuses the rest: w, r, e, i\, labels, comments.
func sedReads(script string) bool {
	s := &sedScanner{rest: script}
	depth := 0
	for {
		s.skip(" \t\n;")
		if s.rest == "" {
			return depth == 0
		}
		if !s.addresses() {
			return false
		}
		s.skip(" \t")
		for s.eat("!") {
			s.skip(" \t")
		}
		switch cmd := s.next(); cmd {
		case '{':
			depth++
			continue
		case '}':
			depth--
		case '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z':
		case 'q', 'Q', 'l':
			s.skip(" ")
			s.skip("0123456789")
		case 's':
			if !s.substitution() {
				return false
			}
		case 'y':
			d := s.delimiter()
			if d < 0 || !s.until(d) || !s.until(d) {
				return false
			}
		default:
			return false
		}
		s.skip(" \t")
		if s.rest != "" && !strings.ContainsRune(";\n}", rune(s.rest[0])) || depth < 0 {
			return false
		}
	}
}

type sedScanner struct{ rest string }

func (s *sedScanner) skip(chars string) { s.rest = strings.TrimLeft(s.rest, chars) }

func (s *sedScanner) eat(p string) (ok bool) {
	s.rest, ok = strings.CutPrefix(s.rest, p)
	return ok
}

func (s *sedScanner) next() rune {
	r, n := utf8.DecodeRuneInString(s.rest)
	s.rest = s.rest[n:]
	return r
}

// addresses skips up to two addresses.
func (s *sedScanner) addresses() bool {
	ok, some := s.address()
	if !ok || !some {
		return ok
	}
	s.skip(" \t")
	if !s.eat(",") {
		return true
	}
	s.skip(" \t")
	if s.eat("+") || s.eat("~") {
		before := s.rest
		s.skip("0123456789")
		return s.rest != before
	}
	ok, some = s.address()
	return ok && some
}

func (s *sedScanner) address() (ok, some bool) {
	before := s.rest
	switch {
	case s.eat("$"):
		return true, true
	case s.eat("/"):
		if !s.regexp('/') {
			return false, false
		}
		s.skip("IM")
		return true, true
	case strings.HasPrefix(s.rest, `\`):
		return false, false
	}
	s.skip("0123456789")
	if s.rest == before {
		return true, false
	}
	if s.eat("~") {
		s.skip("0123456789")
	}
	return true, true
}

// delimiter reads the character after s or y. It returns -1 for one that is refused.
func (s *sedScanner) delimiter() rune {
	if s.rest == "" {
		return -1
	}
	d := s.next()
	if d > 126 || d <= ' ' || strings.ContainsRune(`\;{}[]`, d) || '0' <= d && d <= '9' || 'a' <= d && d <= 'z' || 'A' <= d && d <= 'Z' {
		return -1
	}
	return d
}

// until skips past the next d that is not escaped with a backslash.
func (s *sedScanner) until(d rune) bool {
	for i := 0; i < len(s.rest); i++ {
		switch s.rest[i] {
		case '\\':
			i++
		case byte(d):
			s.rest = s.rest[i+1:]
			return true
		}
	}
	return false
}

// regexp is until, but refuses an expression whose end may differ between implementations: one with
// a bracket that is not closed before d.
func (s *sedScanner) regexp(d rune) bool {
	text := s.rest
	if !s.until(d) {
		return false
	}
	text = text[:len(text)-len(s.rest)-1]
	if strings.Contains(text, "\n") {
		return false
	}
	for {
		i := strings.IndexByte(text, '[')
		if i < 0 {
			return true
		}
		text = strings.TrimPrefix(text[i+1:], "^")
		if text == "" {
			return false
		}
		end := strings.IndexByte(text[1:], ']')
		if end < 0 || strings.ContainsAny(text[:end+1], `\`) {
			return false
		}
		if strings.HasPrefix(text, "[:") || strings.HasPrefix(text, "[.") || strings.HasPrefix(text, "[=") {
			if end = strings.Index(text, "]]"); end < 0 {
				return false
			}
		}
		text = text[end+2:]
	}
}

// substitution skips the rest of an s command. The flags w and e write and execute.
func (s *sedScanner) substitution() bool {
	d := s.delimiter()
	if d < 0 || !s.regexp(d) || !s.until(d) {
		return false
	}
	s.skip("gpiIM0123456789")
	return true
}
