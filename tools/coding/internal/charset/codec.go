package charset

import (
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/unicode/norm"
)

// A codec is one encoding without states: each character has its own bytes.
type codec struct {
	name  string
	width func(b []byte) int // bytes of the first character of b; nil for single-byte encodings
	enc   encoding.Encoding  // nil for UTF-8, UTF-16 and UTF-32
	big   bool               // UTF-16BE or UTF-32BE
	prior float64            // bits that the encoding is less probable than the others
	also  []string           // other names in declarations
}

var (
	utf8Codec    = &codec{name: "UTF-8", width: utf8Width}
	utf16LECodec = &codec{name: "UTF-16LE", width: utf16Width(false)}
	utf16BECodec = &codec{name: "UTF-16BE", width: utf16Width(true), big: true}
	utf32LECodec = &codec{name: "UTF-32LE", width: utf32Width}
	utf32BECodec = &codec{name: "UTF-32BE", width: utf32Width, big: true}
)

// candidates lists the encodings that a file may have. Of two that decode a file to the same text,
// the first wins, so that the smaller set of characters comes first.
var candidates = []*codec{
	utf8Codec,
	{name: "ISO-8859-1", enc: charmap.ISO8859_1, also: []string{"latin1", "l1", "cp819", "isolatin1", "isolatin1unix"}},
	{name: "Windows-1252", enc: charmap.Windows1252, prior: 0.5, also: []string{"cp1252", "ansi"}},
	{name: "Windows-1251", enc: charmap.Windows1251, also: []string{"cp1251"}},
	{name: "KOI8-R", enc: charmap.KOI8R},
	{name: "KOI8-U", enc: charmap.KOI8U, prior: 1},
	{name: "ISO-8859-2", enc: charmap.ISO8859_2, prior: 3, also: []string{"latin2"}},
	{name: "Windows-1250", enc: charmap.Windows1250, prior: 3, also: []string{"cp1250"}},
	{name: "GBK", enc: simplifiedchinese.GBK, width: twoBytes(0x81), also: []string{"gb2312", "cp936", "euccn", "936"}},
	{name: "GB18030", enc: simplifiedchinese.GB18030, width: gb18030Width, prior: 1},
	{name: "Shift_JIS", enc: japanese.ShiftJIS, width: shiftJISWidth, also: []string{"sjis", "cp932", "windows31j", "mskanji", "932"}},
	{name: "EUC-JP", enc: japanese.EUCJP, width: eucJPWidth, also: []string{"ujis", "euc", "eucjpms"}},
	{name: "EUC-KR", enc: korean.EUCKR, width: twoBytes(0x81), also: []string{"cp949", "uhc", "ksc56011987", "949"}},
	{name: "Big5", enc: traditionalchinese.Big5, width: twoBytes(0x81), also: []string{"cp950", "big5hkscs", "950"}},
	{name: "ISO-8859-7", enc: charmap.ISO8859_7, prior: 2},
	{name: "Windows-1253", enc: charmap.Windows1253, prior: 2, also: []string{"cp1253"}},
	{name: "ISO-8859-9", enc: charmap.ISO8859_9, prior: 4, also: []string{"latin5"}},
	{name: "Windows-1254", enc: charmap.Windows1254, prior: 4.5, also: []string{"cp1254"}},
	{name: "ISO-8859-8", enc: charmap.ISO8859_8, prior: 2, also: []string{"iso88598i"}},
	{name: "Windows-1255", enc: charmap.Windows1255, prior: 2, also: []string{"cp1255"}},
	{name: "ISO-8859-6", enc: charmap.ISO8859_6, prior: 2},
	{name: "Windows-1256", enc: charmap.Windows1256, prior: 2, also: []string{"cp1256"}},
	{name: "ISO-8859-13", enc: charmap.ISO8859_13, prior: 6},
	{name: "Windows-1257", enc: charmap.Windows1257, prior: 5, also: []string{"cp1257"}},
	{name: "ISO-8859-5", enc: charmap.ISO8859_5, prior: 2},
	{name: "IBM866", enc: charmap.CodePage866, prior: 1, also: []string{"cp866"}},
	{name: "Windows-874", enc: charmap.Windows874, prior: 2, also: []string{"tis620", "iso885911", "cp874"}},
	{name: "ISO-8859-15", enc: charmap.ISO8859_15, prior: 6, also: []string{"latin9", "latin0"}},
	{name: "Macintosh", enc: charmap.Macintosh, prior: 11, also: []string{"macroman", "xmacroman", "mac"}},
	{name: "IBM850", enc: charmap.CodePage850, prior: 11, also: []string{"cp850"}},
	{name: "IBM437", enc: charmap.CodePage437, prior: 11, also: []string{"cp437"}},
	{name: "IBM852", enc: charmap.CodePage852, prior: 11, also: []string{"cp852"}},
	{name: "X-Mac-Cyrillic", enc: charmap.MacintoshCyrillic, prior: 11, also: []string{"maccyrillic"}},
}

// multi reports whether some characters have several bytes.
func (c *codec) multi() bool { return c.width != nil }

// western reports whether c is one of the two encodings that are the most frequent by far.
func (c *codec) western() bool { return c.enc == charmap.ISO8859_1 || c.enc == charmap.Windows1252 }

// step returns the number of bytes of the first character of b, which is not empty.
func (c *codec) step(b []byte) int {
	if c.width == nil {
		return 1
	}
	return min(c.width(b), len(b))
}

func utf8Width(b []byte) int {
	_, n := utf8.DecodeRune(b)
	return n
}

func utf16Width(big bool) func([]byte) int {
	hi := 1
	if big {
		hi = 0
	}
	return func(b []byte) int {
		if len(b) >= 4 && b[hi]&0xfc == 0xd8 && b[2+hi]&0xfc == 0xdc {
			return 4 // a pair of surrogates
		}
		return 2
	}
}

func utf32Width([]byte) int { return 4 }

// twoBytes is the width of encodings whose pairs begin with a byte from lead to 0xFE. A pair whose
// second byte is a control character is broken: the first byte stands alone.
func twoBytes(lead byte) func([]byte) int {
	return func(b []byte) int {
		if b[0] < lead || b[0] == 0xff || len(b) < 2 || b[1] < 0x40 || b[1] == 0x7f || b[1] == 0xff {
			return 1
		}
		return 2
	}
}

func gb18030Width(b []byte) int {
	if len(b) >= 4 && b[0] >= 0x81 && b[0] != 0xff && b[1] >= 0x30 && b[1] <= 0x39 && b[2] >= 0x81 && b[3] >= 0x30 && b[3] <= 0x39 {
		return 4
	}
	return twoBytes(0x81)(b)
}

func shiftJISWidth(b []byte) int {
	lead := b[0] >= 0x81 && b[0] <= 0x9f || b[0] >= 0xe0 && b[0] <= 0xfc
	if !lead || len(b) < 2 || b[1] < 0x40 || b[1] == 0x7f || b[1] > 0xfc {
		return 1
	}
	return 2
}

func eucJPWidth(b []byte) int {
	high := func(i int) bool { return len(b) > i && b[i] >= 0xa1 && b[i] != 0xff }
	switch {
	case b[0] == 0x8f && high(1) && high(2):
		return 3
	case b[0] == 0x8e && high(1), b[0] >= 0xa1 && b[0] != 0xff && high(1):
		return 2
	}
	return 1
}

// compose returns the one character that base and mark form together, such as é of e and U+0301.
func compose(base, mark rune) (rune, bool) {
	s := norm.NFC.String(string([]rune{base, mark}))
	r, n := utf8.DecodeRuneInString(s)
	return r, n == len(s)
}
