// Package grep quickly finds the lines of texts in which a regular expression matches.
//
// A [Pattern] is compiled once; each goroutine takes a [Scanner] of it. [Search] searches many
// documents in parallel and yields the lines in order:
//
//	p, err := grep.Compile(`func\s+\w+`, grep.Options{})
//	for m, err := range grep.Search(ctx, docs, read, p, grep.SearchOptions{}) {
//		fmt.Printf("%d:%d:%s\n", m.Doc, m.Number, m.Text)
//	}
//
// # What a line is
//
// A line ends before "\n" or "\r\n", or with the text. The expression sees one line without its
// ending: ^, \A, $ and \z are the ends of the line, and nothing matches a newline. Otherwise it
// means the same as in package regexp, also for bytes that are not UTF-8.
//
// # How
//
// Package regexp finds where a match is, which costs 20 to 100 ns a byte. To find whether a line
// has one takes one table look-up per byte: a deterministic automaton, made from regexp/syntax's
// program state by state as the text needs them. It runs over the text without looking for lines;
// only where one matches is the line found and are newlines counted. A pattern with text of three
// or more bytes in all of its matches is searched for by that text first.
package grep
