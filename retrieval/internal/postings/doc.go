// Package postings keeps an inverted index over chunks of many files in one slice of bytes that can
// be memory-mapped.
//
// A chunk is a range of lines of a file. A term is a short byte string, normalised by the caller. A
// chunk has up to eight fields (body, comment, definition, path, ...: the caller numbers them), and
// a posting says in which chunk a term stands and how often in each field. The package encodes and
// reads; it does not score and does no input or output.
//
// A [Builder] takes files, their chunks and the terms of each, in order, and returns the bytes.
// [Open] reads them in place: nothing is decoded ahead, and a [Reader] may be used by many
// goroutines. [Merge] joins several indexes and drops files without their text.
//
// # Layout
//
// All numbers are little-endian; a varint is that of encoding/binary. A header with counts, total
// lengths and the place, size and CRC-32C of each section is followed by the sections:
//
//	files      number of the first chunk of each file, and the number of chunks
//	owner      file of every 32nd chunk
//	line       last line before every 32nd chunk that a chunk of its file covers
//	skip       zigzag of how many lines lie between each chunk and the one before in its file (or the file's beginning)
//	span       how many lines follow the first one of each chunk
//	length     eight columns: length of each chunk in each field
//	titleIndex place of every 16th title in titles
//	titles     varint of 0: the title before it again; else its length plus one, and the title
//	shapes     distinct counts per field, eight bytes each, the most frequent first
//	blocks     for each dictionary block its place in dict and that of its first postings
//	dict       blocks of 16 terms in ascending order, front-coded
//	postings   lists of the terms that stand in more than one chunk
//
// The columns are one, two or four bytes wide, whatever their largest value needs, or absent when
// all are zero.
//
// Code repeats few combinations of counts (one in the body is the commonest by far), so a posting
// is the gap to the chunk before and the number of a shape. See code.go for its bytes and dict.go
// for those of a term. Every second term has only one posting, which is in the dictionary.
package postings
