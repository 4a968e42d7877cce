package charset

import (
	"unicode"
	"unicode/utf8"
)

// sniffUTF16 recognises UTF-16 without a byte order mark, or returns nil. Its newlines, blanks and
// other ASCII have a zero byte, always on the same side, and all of it is printable.
func sniffUTF16(data []byte) *codec {
	if len(data) < 8 || len(data)%2 != 0 {
		return nil
	}
	sample := data[:min(len(data), sniffLen)]
	var zero [2]int
	for i, c := range sample {
		if c == 0 {
			zero[i%2]++
		}
	}
	c := utf16LECodec
	if zero[1] == 0 {
		c = utf16BECodec
		zero[0], zero[1] = zero[1], zero[0]
	}
	if zero[0] != 0 || zero[1] == 0 || !printable(c, sample) {
		return nil
	}
	return c
}

// printable reports whether data consists of printable characters, spaces and newlines.
func printable(c *codec, data []byte) bool {
	d := newDecoder(c)
	for len(data) >= 2 {
		n := c.step(data)
		r := d.unicode(data[:n])
		if r == utf8.RuneError && len(data) <= 2 {
			break // half a pair at the end of the sample
		}
		if r == utf8.RuneError || !unicode.IsGraphic(r) && r != '\n' && r != '\r' && r != '\t' && r != '\f' && r != '\ufeff' {
			return false
		}
		data = data[n:]
	}
	return true
}
