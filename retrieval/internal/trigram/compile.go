package trigram

import (
	"fmt"
	"regexp/syntax"
)

// maxPattern limits the size of patterns that are analysed; longer patterns do not use the index.
const maxPattern = 1 << 16

// Compile makes a query from a pattern, parsed with these flags: [syntax.Perl] as in package
// regexp. It makes no difference whether . matches newlines and whether ^ and $ match at lines or
// at the ends of the text: the query is valid for both. The error is that of the parser.
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
// for searches of whole documents or line by line, even if the end of a line counts as before its
// carriage return, and if \A and \z are treated as ^ and $.
func CompileTree(re *syntax.Regexp) *Query {
	return &Query{root: analyze(re, true, true).ends().need}
}
