package coding

import (
	"bytes"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A grepPattern is one regular expression in the three forms that searching needs. They are derived
// from one syntax tree, so that it has the same meaning for the built-in search and for ripgrep.
type grepPattern struct {
	scan      *regexp.Regexp // finds candidates in a text of many lines; unless multiline, a match never spans lines
	prefix    grepPrefix     // of scan
	line      *regexp.Regexp // matches a single line without its line ending
	rg        string         // in ripgrep's syntax; "" if it cannot be expressed there
	multiline bool
}

// compileGrep parses a pattern as RE2. A pattern that contains a newline is a multiline one.
func compileGrep(expr string, literal, ignoreCase, multiline bool) (*grepPattern, error) {
	flags := syntax.ClassNL | syntax.PerlX | syntax.UnicodeGroups // without OneLine: ^ and $ match at line boundaries
	if literal {
		flags = syntax.Literal
	}
	if ignoreCase {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(expr, flags)
	if err != nil {
		return nil, patternError(expr, err)
	}
	p := &grepPattern{multiline: multiline || needsNewline(tree)}
	if !p.multiline {
		withinLine(tree)
	}
	hasBad := withoutBadBytes(tree)
	text := tree.String()
	if p.line, err = regexp.Compile(text); err != nil {
		return nil, patternError(expr, err)
	}
	scan := beforeCR(tree).String()
	if p.scan, err = regexp.Compile(scan); err != nil {
		return nil, patternError(expr, err)
	}
	p.prefix = prefixOf(p.scan)
	if !hasBad && !hasOp(tree, syntax.OpNoMatch) && !hasOp(tree, syntax.OpNoWordBoundary) {
		p.rg = rustSyntax(beforeCR(anyBytes(tree)).String())
	}
	return p, nil
}

func patternError(expr string, err error) error {
	hint := "set literal to search for the text as it is"
	if strings.Contains(expr, "(?=") || strings.Contains(expr, "(?!") || strings.Contains(expr, "(?<") {
		hint = "look-around is not supported: search for a simpler pattern and look through the results"
	}
	return fmt.Errorf("the pattern %q is not a regular expression: %w; %s", expr, err, hint)
}

// needsNewline reports whether the pattern contains a literal newline anywhere, written directly or
// as a class of one character.
func needsNewline(re *syntax.Regexp) bool {
	if re.Op == syntax.OpLiteral {
		for _, r := range re.Rune {
			if r == '\n' {
				return true
			}
		}
	}
	if re.Op == syntax.OpCharClass && len(re.Rune) == 2 && re.Rune[0] == '\n' && re.Rune[1] == '\n' {
		return true
	}
	for _, sub := range re.Sub {
		if needsNewline(sub) {
			return true
		}
	}
	return false
}

// withinLine keeps a pattern from matching a newline, so that no match extends into the next line.
func withinLine(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpAnyChar:
		re.Op = syntax.OpAnyCharNotNL
	case syntax.OpBeginText:
		re.Op = syntax.OpBeginLine
	case syntax.OpEndText:
		re.Op = syntax.OpEndLine
	case syntax.OpCharClass:
		if re.Rune = without(re.Rune, '\n'); len(re.Rune) == 0 {
			re.Op = syntax.OpNoMatch
		}
	}
	for _, sub := range re.Sub {
		withinLine(sub)
	}
}

// without removes one character from a class, given as pairs of first and last.
func without(class []rune, r rune) []rune {
	var out []rune
	for i := 0; i+1 < len(class); i += 2 {
		lo, hi := class[i], class[i+1]
		if lo > r || hi < r {
			out = append(out, lo, hi)
			continue
		}
		if lo < r {
			out = append(out, lo, r-1)
		}
		if hi > r {
			out = append(out, r+1, hi)
		}
	}
	return out
}

// withoutBadBytes keeps "." and classes from matching U+FFFD. For Go's regular expressions an
// invalid UTF-8 byte is that character, for ripgrep's it is no character at all; after this change
// both behave the same. It reports whether the pattern contains U+FFFD as a literal, which still
// matches such bytes here but not in ripgrep.
func withoutBadBytes(re *syntax.Regexp) (literal bool) {
	switch re.Op {
	case syntax.OpAnyChar:
		re.Op, re.Rune = syntax.OpCharClass, without([]rune{0, unicode.MaxRune}, utf8.RuneError)
	case syntax.OpAnyCharNotNL:
		re.Op, re.Rune = syntax.OpCharClass, without([]rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune}, utf8.RuneError)
	case syntax.OpCharClass:
		if re.Rune = without(re.Rune, utf8.RuneError); len(re.Rune) == 0 {
			re.Op = syntax.OpNoMatch
		}
	case syntax.OpLiteral:
		literal = slices.Contains(re.Rune, utf8.RuneError)
	}
	for _, sub := range re.Sub {
		literal = withoutBadBytes(sub) || literal
	}
	return literal
}

// beforeCR lets $ also match before the carriage return of a CRLF.
func beforeCR(re *syntax.Regexp) *syntax.Regexp {
	if re.Op == syntax.OpEndLine {
		cr := &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{'\r'}}
		quest := &syntax.Regexp{Op: syntax.OpQuest, Sub: []*syntax.Regexp{cr}}
		return &syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{quest, re}}
	}
	out := *re
	out.Sub = make([]*syntax.Regexp, len(re.Sub))
	for i, sub := range re.Sub {
		out.Sub[i] = beforeCR(sub)
	}
	return &out
}

// otherBytes stands in a pattern for a character of an encoding other than UTF-8, until rustSyntax
// replaces it.
const otherBytes = '\U0010FFFE'

// anyBytes extends a pattern for ripgrep, which does not decode: where it wants a character outside
// of ASCII, it also takes the bytes of one in another encoding. What ripgrep finds in such files is
// searched again after decoding.
func anyBytes(re *syntax.Regexp) *syntax.Regexp {
	other := &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{otherBytes}}
	or := func(re *syntax.Regexp) *syntax.Regexp {
		return &syntax.Regexp{Op: syntax.OpAlternate, Sub: []*syntax.Regexp{re, other}}
	}
	out := *re
	switch re.Op {
	case syntax.OpCharClass:
		if len(re.Rune) > 0 && re.Rune[len(re.Rune)-1] > unicode.MaxASCII {
			return or(re)
		}
	case syntax.OpLiteral:
		if !slices.ContainsFunc(re.Rune, func(r rune) bool { return r > unicode.MaxASCII }) {
			return re
		}
		out = syntax.Regexp{Op: syntax.OpConcat}
		for _, r := range re.Rune {
			one := &syntax.Regexp{Op: syntax.OpLiteral, Flags: re.Flags, Rune: []rune{r}}
			if r > unicode.MaxASCII {
				one = or(one)
			}
			out.Sub = append(out.Sub, one)
		}
		return &out
	}
	out.Sub = make([]*syntax.Regexp, len(re.Sub))
	for i, sub := range re.Sub {
		out.Sub[i] = anyBytes(sub)
	}
	return &out
}

func hasOp(re *syntax.Regexp, op syntax.Op) bool {
	return re.Op == op || slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return hasOp(sub, op) })
}

// rustSyntax converts the output of Go's regexp printer to Rust's syntax. The printer spells out
// all classes, so the only remaining difference is in word boundaries: Go's are ASCII. Their
// opposite, \B, is left to the built-in search, because ripgrep 13 can loop forever on it.
func rustSyntax(s string) string {
	s = strings.ReplaceAll(s, `|\x{10fffe})`, `|(?-u:[\x80-\xFF][\x00-\x09\x0B-\xFF]{0,3}))`)
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'b':
			b.WriteString(`(?-u:\b)`)
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String()
}

// matchLine reports whether one line matches, given with or without its line ending.
func (p *grepPattern) matchLine(line []byte) bool {
	line = bytes.TrimSuffix(line, []byte("\n"))
	return p.line.Match(bytes.TrimSuffix(line, []byte("\r")))
}
