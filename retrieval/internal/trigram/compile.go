package trigram

import (
	"fmt"
	"regexp/syntax"
)

// maxPattern limits the size of patterns that are analysed; the query of a longer pattern selects
// every document.
const maxPattern = 1 << 16

// Compile makes a query from a pattern, which is parsed with flags ([syntax.Perl] for the syntax of
// package regexp). The query is valid whether or not . matches newlines, and whether ^ and $ match
// at lines or at the ends of the text. The error is that of the parser.
func Compile(pattern string, flags syntax.Flags) (*Query, error) {
	re, err := syntax.Parse(pattern, flags)
	if err != nil {
		return nil, fmt.Errorf("trigram: compile query: %w", err)
	}
	if len(pattern) > maxPattern {
		return &Query{root: all}, nil
	}
	return CompileTree(re), nil
}

// CompileTree makes a query from a parsed expression, which it does not change. The query is valid
// for searches of whole documents or line by line, even if lines end before their carriage return,
// and even if \A and \z are treated as ^ and $.
func CompileTree(re *syntax.Regexp) *Query {
	return &Query{root: analyze(re, true, true).ends().need}
}
