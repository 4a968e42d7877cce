package trigram

import (
	"fmt"
	"regexp/syntax"
)

// maxPattern bounds what is analysed; the index is not asked about longer patterns.
const maxPattern = 1 << 16

// Compile makes a query of a pattern that the parser reads with these flags: [syntax.Perl] as
// package regexp does. Whether . matches newlines and whether ^ and $ are at lines or at the ends
// of the text makes no difference: the query holds for both. The error is that of the parser.
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

// CompileTree makes a query of a parsed expression, which it does not change. It holds for whoever
// searches a document as a whole or line by line, also when the end of a line is taken to be before
// its carriage return, and when \A and \z are taken for ^ and $.
func CompileTree(re *syntax.Regexp) *Query {
	return &Query{root: analyze(re, true, true).ends().need}
}
