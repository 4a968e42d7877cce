package charset

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Text is a decoded text file, with what is needed to write it in the same way.
type Text struct {
	// String is the text in UTF-8 without a byte order mark; line endings are as in the file. Bytes
	// without a meaning in the encoding are U+FFFD.
	String string
	// BOM reports whether the file begins with a byte order mark.
	BOM bool
	// Sure is false if the encoding is a guess.
	Sure bool
	// Broken reports whether some bytes have no meaning in the encoding.
	Broken bool

	codec *codec
	raw   []byte // the file after the mark, unless encoding String again gives exactly that
}

// Plain returns s as a text in UTF-8.
func Plain(s string) Text { return Text{String: s, Sure: true, codec: utf8Codec} }

// Name returns the name of the encoding, as iconv knows it.
func (t Text) Name() string {
	if t.codec == nil {
		return utf8Codec.name
	}
	return t.codec.name
}

// UTF8 reports whether the file is UTF-8, apart from broken bytes.
func (t Text) UTF8() bool { return t.codec == nil || t.codec == utf8Codec }

// The byte order marks.
const (
	markUTF8    = "\xef\xbb\xbf"
	markUTF16LE = "\xff\xfe"
	markUTF16BE = "\xfe\xff"
	markUTF32LE = "\xff\xfe\x00\x00"
	markUTF32BE = "\x00\x00\xfe\xff"
	markGB18030 = "\x84\x31\x95\x33"
)

// Decode returns the text of a file. It reports false for a file that is not text: one with NUL
// bytes that is neither UTF-16 nor UTF-32.
func Decode(data []byte) (Text, bool) {
	for _, m := range []struct {
		mark  string
		codec *codec
		unit  int
	}{
		{markUTF8, utf8Codec, 1}, {markUTF32LE, utf32LECodec, 4}, {markUTF32BE, utf32BECodec, 4},
		{markUTF16LE, utf16LECodec, 2}, {markUTF16BE, utf16BECodec, 2}, {markGB18030, named("GB18030"), 1},
	} {
		if bytes.HasPrefix(data, []byte(m.mark)) && len(data)%m.unit == len(m.mark)%m.unit {
			t := decodeWith(m.codec, data[len(m.mark):])
			t.BOM, t.Sure = true, true
			return t, true
		}
	}
	if c := sniffUTF16(data); c != nil {
		t := decodeWith(c, data)
		t.Sure = true
		return t, true
	}
	if bytes.IndexByte(data[:min(len(data), sniffLen)], 0) >= 0 {
		return Text{}, false
	}
	if utf8.Valid(data) {
		return Plain(string(data)), true
	}
	c, sure := detect(data)
	t := decodeWith(c, data)
	t.Sure = sure
	return t, true
}

// decodeWith decodes data, and keeps it if encoding the text would not restore it.
func decodeWith(c *codec, data []byte) Text {
	t := Text{codec: c}
	if c == utf8Codec && utf8.Valid(data) {
		t.String = string(data)
		return t
	}
	d := newDecoder(c)
	var b strings.Builder
	b.Grow(len(data) + len(data)/4)
	exact := true
	for rest := data; len(rest) > 0; {
		if c.enc != nil {
			if n := asciiLen(rest); n > 0 {
				b.Write(rest[:n])
				rest = rest[n:]
				continue
			}
		}
		unit := rest[:c.step(rest)]
		rest = rest[len(unit):]
		s := d.one(unit)
		b.WriteString(s)
		if !d.restores(s, unit) {
			exact = false
			t.Broken = t.Broken || s == broken
		}
	}
	t.String = b.String()
	if !exact {
		t.raw = data
	}
	return t
}

// restores reports whether s, the text of unit, is written as unit again.
func (d *decoder) restores(s string, unit []byte) bool {
	r, n := utf8.DecodeRuneInString(s)
	if n != len(s) {
		return false
	}
	if r == utf8.RuneError && d.c == utf8Codec && len(unit) == 1 {
		return false
	}
	back, ok := d.encode(r)
	return ok && back == string(unit)
}

// asciiLen returns the length of the ASCII at the beginning of b.
func asciiLen(b []byte) int {
	for i, c := range b {
		if c >= utf8.RuneSelf {
			return i
		}
	}
	return len(b)
}

// named returns the candidate of a name.
func named(name string) *codec {
	for _, c := range candidates {
		if c.name == name {
			return c
		}
	}
	return utf8Codec
}

func (t Text) mark() string {
	if !t.BOM {
		return ""
	}
	switch t.codec {
	case utf16LECodec:
		return markUTF16LE
	case utf16BECodec:
		return markUTF16BE
	case utf32LECodec:
		return markUTF32LE
	case utf32BECodec:
		return markUTF32BE
	}
	if t.UTF8() {
		return markUTF8
	}
	return markGB18030
}

// Wide reports whether every character of the file has two or four bytes (UTF-16 or UTF-32).
func (t Text) Wide() bool { return t.codec != nil && t.codec.enc == nil && t.codec != utf8Codec }

// More decodes another piece of the same file.
func (t Text) More(data []byte) string {
	if t.codec == nil {
		return strings.ToValidUTF8(string(data), broken)
	}
	return decodeWith(t.codec, data).String
}

// Marked reports whether data begins with the byte order mark of UTF-16 or UTF-32.
func Marked(data []byte) bool {
	for _, m := range []string{markUTF16LE, markUTF16BE, markUTF32BE} {
		if bytes.HasPrefix(data, []byte(m)) {
			return true
		}
	}
	return false
}

// IsWide reports whether data, the beginning of a file, is UTF-16 or UTF-32, with or without a
// mark.
func IsWide(data []byte) bool {
	return Marked(data) || sniffUTF16(data[:min(len(data), sniffLen)&^1]) != nil
}
