// Package trigram tells which of many documents may hold a match of a regular expression.
//
// A [Builder] reads the documents once and writes an index: for every three bytes that follow one another, the documents
// where they do. [Open] reads it in place, so it can be a mapped file. [Compile] turns a regular expression into a [Query]
// over such triples, and [Reader.Candidates] answers it. No document with a match is ever missing; some without one may be
// named, so each is to be searched (see internal/linescan).
//
//	b := trigram.NewBuilder()
//	b.Add(0, []byte("func main() {}\n"))
//	data := b.Bytes()
//	r, err := trigram.Open(data)
//	q, err := trigram.Compile(`func\s+main`, trigram.Options{})
//	docs := r.Candidates(q)
//
// # What is indexed
//
// Text is folded first: every character stands for all that differ from it in case only (Unicode's simple folding), so that
// one index serves both kinds of search. Bytes that are not UTF-8 stand for themselves. A document counts as if a newline
// stood before and behind it, which makes ^ and $ of use.
//
// # Why triples, and why of whole documents
//
// On Go's standard library (49 MB) and on astropy with svelte (28 MB), folded trigrams take 0.09 to 0.10 of the source; sparse
// n-grams of up to eight bytes, whose ends are rarer than what lies between, 0.37 to 0.39 with the same code for lists, four
// times as much and two and a half times what was to be had. The lists are written as binary interpolative codes (Moffat and
// Stuiver, 2000): documents that lie in one directory are alike, and this code takes a quarter less than Golomb's, and half of
// what variable-length bytes take.
package trigram
