// Package ranking orders the files of a tree, and the places in them, by how much
// they have to do with a text: a question, an issue, a commit's message.
//
// [Parse] takes the text apart, [Score] sums the words' weights over a lexical index
// in many ways at once (by field, by view of the query, by file and by chunk), and
// [Rank] joins those sums with what is known of each file (its class, its history)
// by a linear model whose weights were learned; see the package train beside this
// one. Everything is a sum of named features, so that a result can say why.
//
// The sums are BM25F (Robertson, Zaragoza and Taylor, 2004); the model is trained by
// the softmax cross-entropy of the list (Cao et al., "ListNet", 2007).
package ranking
