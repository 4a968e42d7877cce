package review

import (
	"errors"
	"fmt"
	"strings"
)

// Setting is one line of a git configuration: section.subsection.name, section
// and name in lower case, and the value as git would understand it.
type Setting struct{ Key, Value string }

const (
	// maxConfig bounds the size of a file that is parsed, since a command wrote it.
	maxConfig = 1 << 20
	// maxSettings bounds the size of the result: each setting contains the name of its section,
	// which may be as long as all settings together.
	maxSettings = 8 << 20
)

// ParseGitConfig reads the syntax that git-config(1) documents under "Syntax". Anything doubtful is
// an error: a review must not read less than git does.
func ParseGitConfig(b []byte) ([]Setting, error) {
	if len(b) > maxConfig {
		return nil, fmt.Errorf("larger than %d bytes", maxConfig)
	}
	text := strings.TrimPrefix(string(b), "\ufeff")
	if strings.IndexByte(text, 0) >= 0 {
		return nil, errors.New("has a NUL byte")
	}
	p := &configParser{s: strings.ReplaceAll(text, "\r\n", "\n"), line: 1}
	for {
		p.blank()
		switch c := p.peek(); {
		case c == eof:
			return p.out, nil
		case c == '[':
			if err := p.header(); err != nil {
				return nil, fmt.Errorf("line %d: %w", p.line, err)
			}
		case isAlpha(c) && p.section != "":
			if err := p.setting(); err != nil {
				return nil, fmt.Errorf("line %d: %w", p.line, err)
			}
		default:
			return nil, fmt.Errorf("line %d: unexpected %q", p.line, rune(c))
		}
	}
}

type configParser struct {
	s       string
	i, line int
	section string
	out     []Setting
	size    int // of out, in bytes
}

func (p *configParser) add(key, value string) error {
	if p.size += len(key) + len(value); p.size > maxSettings {
		return fmt.Errorf("settings of more than %d bytes", maxSettings)
	}
	p.out = append(p.out, Setting{key, value})
	return nil
}

const eof = -1

func (p *configParser) peek() int {
	if p.i >= len(p.s) {
		return eof
	}
	return int(p.s[p.i])
}

func (p *configParser) next() int {
	c := p.peek()
	if c != eof {
		p.i++
	}
	if c == '\n' {
		p.line++
	}
	return c
}

// blank skips white space and comments between settings.
func (p *configParser) blank() {
	for {
		switch p.peek() {
		case ' ', '\t', '\n', '\r', '\v', '\f':
			p.next()
		case '#', ';':
			p.comment()
		default:
			return
		}
	}
}

func (p *configParser) comment() {
	for c := p.peek(); c != '\n' && c != eof; c = p.peek() {
		p.next()
	}
}

// header reads [section], [section "sub"] or the old [section.sub].
func (p *configParser) header() error {
	p.next()
	start := p.i
	for c := p.peek(); isAlpha(c) || isDigit(c) || c == '-' || c == '.'; c = p.peek() {
		p.next()
	}
	p.section = strings.ToLower(p.s[start:p.i])
	if p.section == "" || p.section[0] == '.' {
		return errors.New("a section without a name")
	}
	for p.peek() == ' ' || p.peek() == '\t' {
		p.next()
	}
	if p.peek() == '"' {
		p.next()
		var sub strings.Builder
		for {
			c := p.next()
			if c == '\\' {
				c = p.next()
			} else if c == '"' {
				break
			}
			if c == eof || c == '\n' {
				return errors.New("a subsection without an end")
			}
			sub.WriteByte(byte(c))
		}
		p.section += "." + sub.String()
	}
	if p.next() != ']' {
		return errors.New("a section without an end")
	}
	return nil
}

func (p *configParser) setting() error {
	start := p.i
	for c := p.peek(); isAlpha(c) || isDigit(c) || c == '-'; c = p.peek() {
		p.next()
	}
	key := p.section + "." + strings.ToLower(p.s[start:p.i])
	for p.peek() == ' ' || p.peek() == '\t' {
		p.next()
	}
	switch p.peek() {
	case '\n', eof:
		return p.add(key, "true") // the short form of true
	case '=':
		p.next()
	case '#', ';':
		return p.add(key, "true")
	default:
		return fmt.Errorf("%s is followed by %q", key, rune(p.peek()))
	}
	value, err := p.value()
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return p.add(key, value)
}

// value reads to the end of the line, including its continuation lines.
func (p *configParser) value() (string, error) {
	var b strings.Builder
	quoted, keep := false, 0 // keep is the length without trailing white space
	for {
		c := p.next()
		switch {
		case c == eof || c == '\n':
			if quoted {
				return "", errors.New("a quote without an end")
			}
			return b.String()[:keep], nil
		case !quoted && (c == '#' || c == ';'):
			p.comment()
			continue
		case !quoted && (c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'):
			if b.Len() > 0 {
				b.WriteByte(byte(c))
			}
			continue
		case c == '"':
			quoted = !quoted
			keep = b.Len()
			continue
		case c == '\\':
			switch c = p.next(); c {
			case '\n':
				continue
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			case 'b':
				c = '\b'
			case '"', '\\':
			default:
				return "", errors.New("an escape that git does not know")
			}
		}
		b.WriteByte(byte(c))
		keep = b.Len()
	}
}

func isAlpha(c int) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c int) bool { return c >= '0' && c <= '9' }
