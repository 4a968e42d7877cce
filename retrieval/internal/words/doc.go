// Package words reads source text the way a search index wants it: one pass
// over the bytes that tells words of code, comments and strings apart, finds
// what is defined, and cuts the file into chunks of about a function each.
//
// It is lexical on purpose. A parser costs ten times as much and does not rank
// files better; what it misses (a definition behind a macro, say) costs a title,
// never a word. No text makes it fail: bytes that fit no rule are skipped.
package words
