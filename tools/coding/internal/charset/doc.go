// Package charset reads and writes text files in the encodings that they have: UTF-8, UTF-16,
// UTF-32, and the older ones of single countries (ISO 8859, Windows-125x, KOI8, GBK, Big5,
// Shift_JIS, EUC-JP, EUC-KR).
//
// [Decode] finds the encoding of a file and returns its [Text]. [Text.Encode] writes a changed text
// in the same encoding. What did not change keeps its bytes, also bytes that mean nothing in the
// encoding. A character that the encoding does not have is an error.
//
// # How an encoding is found
//
// A byte order mark, or valid UTF-8, decides. Otherwise every candidate decodes the lines that have
// bytes above 127, and the most probable text wins: models.go holds how frequent the characters of
// each language are, and context.go which neighbours they have in words. An encoding that the file
// names itself (a coding cookie, an XML or HTML declaration) has an advantage, but must fit.
//
// # Limits
//
//   - Encodings with states, such as ISO-2022-JP, are read as the ASCII that they are made of.
//   - If two encodings explain a file about equally well, [Text.Sure] is false. Such a text can be
//     changed in ASCII and with characters that it has already.
package charset
