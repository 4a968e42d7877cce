// Package postings keeps an inverted index over chunks of many files in one slice of bytes that can
// be memory-mapped.
//
// A chunk is a range of lines of a file. A term is a short byte string, normalised by the caller. A
// chunk has up to eight fields (body, comment, definition, path, ...: the caller numbers them), and
// a posting records a chunk that contains a term, and how often the term occurs in each field. The
// package only encodes and decodes; it does not score, and it reads and writes no files.
//
// A [Builder] takes files, their chunks and the terms of each, in order, and returns the bytes.
// [Open] reads them in place: nothing is decoded in advance, and a [Reader] may be used by many
// goroutines. [Merge] joins several indexes and can drop files; it does not need the text of the
// files.
//
// # Layout
//
// All numbers are little-endian; a varint is encoded as in encoding/binary. The header has counts,
// total lengths, and the position, size and CRC-32C of each section. The sections follow:
//
//	files      number of the first chunk of each file, and the number of chunks
//	owner      file of every 32nd chunk
//	line       for every 32nd chunk, the last line that an earlier chunk of its file covers
//	skip       zigzag of the number of lines between each chunk and the previous one in its file (or the file's beginning)
//	span       number of lines of each chunk after its first
//	length     eight columns: length of each chunk in each field
//	titleIndex position of every 16th title in titles
//	titles     a varint of 0 if the title is the same as the previous one; else of its length plus one, followed by the title
//	shapes     distinct counts per field, eight bytes each, the most frequent first
//	blocks     for each dictionary block its position in dict and the position of its first postings
//	dict       blocks of 16 terms in ascending order, front-coded
//	postings   lists of the terms that occur in more than one chunk
//
// Each column is one, two or four bytes wide, as its largest value needs, or absent if all values
// are zero.
//
// In source code, a few combinations of counts, called shapes, are frequent (once in the body is by
// far the most common). So a posting consists of the gap to the previous chunk and the number of a
// shape. See code.go for the encoding of a posting and dict.go for that of a term. Every second
// term has only one posting, which is in the dictionary.
package postings
