package grep

import (
	"bytes"
	"fmt"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"
)

// Options describe how a pattern is interpreted.
type Options struct {
	Literal  bool // the pattern is text, not an expression
	FoldCase bool // ignore case
}

// Pattern is a compiled expression. It is safe for concurrent use.
type Pattern struct {
	tree  *syntax.Regexp
	re    *regexp.Regexp
	auto  *automaton // nil if the expression is too large for one
	need  []byte     // text that every matching line contains; nil if none is known
	lead  *lead      // possible starts of matches; nil if not known or need is better
	whole bool       // need is the whole pattern
	every bool       // every line matches
}

// Compile parses a pattern in RE2's syntax, like package regexp. The error is that of the parser.
func Compile(pattern string, o Options) (*Pattern, error) {
	flags := syntax.Perl
	if o.Literal {
		flags = syntax.Literal
	}
	if o.FoldCase {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(pattern, flags)
	if err != nil {
		return nil, fmt.Errorf("grep: compile pattern: %w", err)
	}
	return CompileTree(tree)
}

// CompileTree compiles a parsed expression, which must not be changed afterwards.
func CompileTree(tree *syntax.Regexp) (*Pattern, error) {
	re, err := regexp.Compile(tree.String())
	if err != nil {
		return nil, fmt.Errorf("grep: compile pattern: %w", err)
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, fmt.Errorf("grep: compile pattern: %w", err)
	}
	p := &Pattern{tree: tree, re: re, auto: newAutomaton(prog)}
	p.need, p.whole = required(tree)
	if p.whole && bytes.ContainsAny(p.need, "\r\n") {
		p.whole = false // the text may cross the end of a line
	}
	if !p.whole && len(p.need) < 3 {
		p.lead = newLead(tree)
	}
	if !p.whole && (len(p.need) < 2 || p.lead != nil) || len(p.need) == 0 {
		p.need, p.whole = nil, false // the text occurs nearly everywhere
	}
	p.every = p.auto != nil && p.auto.matchesAll()
	return p, nil
}

// String returns the expression.
func (p *Pattern) String() string { return p.tree.String() }

// Tree returns the parsed expression. It must not be changed.
func (p *Pattern) Tree() *syntax.Regexp { return p.tree }

// Find returns the start and end of the first match in a line, or nil. The line must be passed
// without its ending. It is slow compared with a scan, and meant for the lines that are shown.
func (p *Pattern) Find(line []byte) []int { return p.re.FindIndex(line) }

// required returns the longest text that is known to be in every match, and whether it is always
// the whole match.
func required(re *syntax.Regexp) (text []byte, whole bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return literal(re)
	case syntax.OpCapture:
		return required(re.Sub[0])
	case syntax.OpPlus:
		text, _ = required(re.Sub[0])
		return text, false
	case syntax.OpRepeat:
		if re.Min > 0 {
			text, _ = required(re.Sub[0])
		}
		return text, false
	case syntax.OpEmptyMatch:
		return nil, true
	case syntax.OpConcat:
		return requiredOf(re.Sub)
	}
	return nil, false
}

// literal returns a literal's text, if matches contain it exactly: U+FFFD also matches bytes that
// are not UTF-8.
func literal(re *syntax.Regexp) ([]byte, bool) {
	if re.Flags&syntax.FoldCase != 0 {
		return nil, false
	}
	var text []byte
	for _, r := range re.Rune {
		if r == utf8.RuneError || !utf8.ValidRune(r) {
			return nil, false
		}
		text = utf8.AppendRune(text, r)
	}
	return text, true
}

// requiredOf combines the required texts of the parts of a concatenation.
func requiredOf(subs []*syntax.Regexp) (best []byte, whole bool) {
	var run []byte
	whole = true
	for _, sub := range subs {
		text, all := required(sub)
		if all {
			run = append(run, text...)
		} else {
			whole = false
			run = nil
			if len(text) > len(best) {
				best = text
			}
		}
		if len(run) > len(best) {
			best = bytes.Clone(run)
		}
	}
	return best, whole
}
