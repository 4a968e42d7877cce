// Package grep finds the lines of texts that a regular expression matches in, fast.
//
// A [Pattern] is compiled once; each goroutine takes a [Scanner] of it. [Search] does the whole for
// many documents in parallel and gives the lines in order:
//
//	p, err := grep.Compile(`func\s+\w+`, grep.Options{})
//	for m, err := range grep.Search(ctx, docs, read, p, grep.SearchOptions{}) {
//		fmt.Printf("%d:%d:%s\n", m.Doc, m.Number, m.Text)
//	}
//
// # What a line is
//
// A line ends before "\n" or "\r\n", or with the text. The expression sees one line without its
// ending: ^, \A, $ and \z are the ends of the line, and nothing matches a newline. It means else
// what it means to package regexp, bytes that are not UTF-8 included.
//
// # How
//
// Package regexp says where a match is, which costs 20 to 100 ns a byte. Whether there is one in a
// line takes one look at a table per byte: a deterministic automaton, made from regexp/syntax's
// program state by state as the text needs them. It runs over the text without looking for lines;
// only where one matches is the line found and are newlines counted. A pattern with text of three
// or more bytes in all of its matches is looked for by that text first.
package grep
