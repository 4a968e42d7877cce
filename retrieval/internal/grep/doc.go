// Package grep quickly finds the lines of texts in which a regular expression matches.
//
// A [Pattern] is compiled once; each goroutine uses a separate [Scanner]. [Search] searches many
// documents in parallel and yields the lines in order:
//
//	p, err := grep.Compile(`func\s+\w+`, grep.Options{})
//	for m, err := range grep.Search(ctx, docs, read, p, grep.SearchOptions{}) {
//		fmt.Printf("%d:%d:%s\n", m.Doc, m.Number, m.Text)
//	}
//
// # What a line is
//
// A line ends before "\n" or "\r\n", or at the end of the text. The expression sees one line
// without its ending: ^ and \A match its start, $ and \z its end, and nothing matches a newline.
// Otherwise the expression means the same as in package regexp, also for bytes that are not UTF-8.
//
// # How
//
// Package regexp finds the position of a match, which costs 20 to 100 ns per byte. Deciding whether
// a line has a match takes only one table look-up per byte, with a deterministic automaton (DFA)
// whose states are built from regexp/syntax's program as the text needs them. The automaton runs
// over the text without regard to lines; the line is located, and newlines are counted, only where
// it matches. If all matches of a pattern contain a text of three or more bytes, that text is
// searched for first.
package grep
