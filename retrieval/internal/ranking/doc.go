// Package ranking orders the files of a tree, and the places in them, by their relevance to a text:
// a question, an issue, a commit message.
//
// [Parse] analyses the text, [Score] sums the words' weights over a lexical index in many ways at
// once (by field, by view of the query, by file and by chunk), and [Rank] combines those sums with
// the class and the history of each file by a linear model whose weights were learned (see the
// command rank in retrieval/internal/cmd). Everything is a sum of named features, so each result
// can be explained.
//
// The sums are BM25F (Robertson, Zaragoza and Taylor, 2004); the model is trained to minimise the
// softmax cross-entropy of each list (Cao et al., "ListNet", 2007).
package ranking
