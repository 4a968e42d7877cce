// Package words reads source text for a search index: one pass over the bytes separates words of
// code, comments and strings, finds definitions, and divides the file into chunks of about one
// function each.
//
// The package has no parser on purpose: a parser takes ten times as long and does not improve the
// ranking of files. If the lexer misses a definition (behind a macro, say), a chunk has no title,
// but no word is lost. It does not fail on any text: bytes that match no rule are skipped.
package words
