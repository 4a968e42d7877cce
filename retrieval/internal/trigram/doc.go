// Package trigram finds which of many documents may hold a match of a regular expression.
//
// A [Builder] reads the documents once and writes an index: for every three bytes that follow one
// another, the documents where they do. [Open] reads it in place, so it can be a mapped file.
// [Compile] turns a regular expression into a [Query] over such triples, and [Reader.Candidates]
// answers it. No document with a match is ever missing; some without one may be returned, so each
// has to be searched (see retrieval/internal/grep).
//
//	b := trigram.NewBuilder()
//	b.Add(0, []byte("func main() {}\n"))
//	data := b.Bytes()
//	r, err := trigram.Open(data)
//	q, err := trigram.Compile(`func\s+main`, syntax.Perl)
//	docs := r.Candidates(q)
//
// # What is indexed
//
// Text is folded first: every character stands for all that differ from it in case only (Unicode's
// simple folding), so that one index serves both kinds of search. Bytes that are not UTF-8 stand
// for themselves. A document counts as if a newline preceded and followed it, which makes ^ and $
// useful.
//
// # Why triples, and why of whole documents
//
// Compared with sparse n-grams (substrings of up to eight bytes whose ends are rarer than all
// between) on Go's standard library (48 MB in 5,673 files) and on astropy with svelte (28 MB in
// 9,668), with the same code for lists:
//
//	                      trigrams        sparse n-grams
//	size of the source    0.09, 0.10      0.37, 0.39
//	entries               6.5 million     14.9 million
//	candidates, 16 texts  6,716           5,434 (4,872 match)
//
// A fourth more candidates for a quarter of the size: each costs some twenty microseconds, and the
// larger index would exceed the size that an index may have here. Lists are binary interpolative
// codes (Moffat and Stuiver, 2000): documents that lie in one directory are alike, and this code
// takes a quarter less space than Golomb's and half as much as variable-length bytes.
package trigram
