// Package words reads source text for a search index: one pass over the bytes separates words of
// code, comments and strings, finds definitions, and cuts the file into chunks of about a function
// each.
//
// It is lexical on purpose. A parser costs ten times as much and does not rank files better; what
// it misses (a definition behind a macro, say) costs a title, never a word. It fails on no text:
// bytes that fit no rule are skipped.
package words
