package worktree

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Encoding is the character encoding of a text.
type Encoding uint8

// The encodings that Text distinguishes.
const (
	UTF8    Encoding = iota // with or without a byte order mark
	UTF16LE                 // with a byte order mark
	UTF16BE                 // with a byte order mark
	Latin1                  // anything else, read as Windows-1252, which extends ISO 8859-1
)

func (e Encoding) String() string {
	if int(e) < 4 {
		return [4]string{"UTF-8", "UTF-16LE", "UTF-16BE", "Latin-1"}[e]
	}
	return "unknown"
}

// markedEncoding returns the encoding that the byte order mark at the front indicates, or UTF8 if
// there is none.
func markedEncoding(raw []byte) Encoding {
	switch {
	case bytes.HasPrefix(raw, []byte{0xff, 0xfe}) && !bytes.HasPrefix(raw, []byte{0xff, 0xfe, 0, 0}): // the longer byte order mark is that of UTF-32
		return UTF16LE
	case bytes.HasPrefix(raw, []byte{0xfe, 0xff}):
		return UTF16BE
	}
	return UTF8
}

// Text returns a content as valid UTF-8 without a byte order mark, and the original encoding. If
// the content is valid UTF-8, it is returned without a copy. If it is UTF-8 except for a few bytes,
// its characters are kept and those bytes become U+FFFD. The number of lines never changes.
func Text(raw []byte) ([]byte, Encoding) {
	switch enc := markedEncoding(raw); enc {
	case UTF16LE, UTF16BE:
		return fromUTF16(raw[2:], enc == UTF16BE), enc
	}
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if utf8.Valid(raw) {
		return raw, UTF8
	}
	if mostlyUTF8(raw) {
		return bytes.ToValidUTF8(raw, []byte("\ufffd")), UTF8
	}
	return fromWindows1252(raw), Latin1
}

// mostlyUTF8 reports whether most of the non-ASCII bytes form valid characters.
func mostlyUTF8(raw []byte) bool {
	good, bad := 0, 0
	for len(raw) > 0 {
		if raw[0] < utf8.RuneSelf {
			raw = raw[1:]
			continue
		}
		r, n := utf8.DecodeRune(raw)
		if r == utf8.RuneError && n == 1 {
			bad++
		} else {
			good++
		}
		raw = raw[n:]
	}
	return good > bad
}

func fromUTF16(raw []byte, big bool) []byte {
	out := make([]byte, 0, len(raw)/2+len(raw)/8)
	unit := func(i int) rune {
		if big {
			return rune(raw[i])<<8 | rune(raw[i+1])
		}
		return rune(raw[i+1])<<8 | rune(raw[i])
	}
	for i := 0; i+1 < len(raw); i += 2 {
		r := unit(i)
		if utf16.IsSurrogate(r) {
			pair := rune(utf8.RuneError)
			if i+3 < len(raw) {
				pair = utf16.DecodeRune(r, unit(i+2))
			}
			if pair != utf8.RuneError {
				i += 2
			}
			r = pair
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// windows1252 maps 0x80 to 0x9f; unused bytes are the control characters of ISO 8859-1.
const windows1252 = "\u20ac\u0081\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u008d\u017d\u008f" +
	"\u0090\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u009d\u017e\u0178"

func fromWindows1252(raw []byte) []byte {
	high := []rune(windows1252)
	out := make([]byte, 0, len(raw)+len(raw)/8)
	for _, b := range raw {
		switch {
		case b < 0x80:
			out = append(out, b)
		case b < 0xa0:
			out = utf8.AppendRune(out, high[b-0x80])
		default:
			out = utf8.AppendRune(out, rune(b))
		}
	}
	return out
}
