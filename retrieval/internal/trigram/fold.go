package trigram

import (
	"unicode"
	"unicode/utf8"
)

// foldRune returns the character that represents all characters that differ from r only in case:
// the lower-case letter if one of them is ASCII (k for the Kelvin sign, s for the long s),
// otherwise the smallest.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		return rune(foldByte[r])
	}
	if noCase(r) {
		return r
	}
	low := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		low = min(low, f)
	}
	if low < utf8.RuneSelf {
		return rune(foldByte[low])
	}
	return low
}

// noCase quickly reports whether r is in a range without case: East Asian scripts and Hangul, in
// which whole texts are written.
func noCase(r rune) bool {
	return r >= 0x2e80 && r < 0xa640 || r >= 0xac00 && r < 0xfb00
}

// foldByte folds ASCII and leaves all other bytes unchanged.
var foldByte = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
		if 'A' <= i && i <= 'Z' {
			t[i] += 'a' - 'A'
		}
	}
	return t
}()

// appendFolded appends text folded. Folding the concatenation of two texts, joined at a character
// boundary, is the same as concatenating the two folded texts. Queries, which are built from the
// parts of an expression, rely on this.
func appendFolded(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			dst = append(dst, foldByte[c])
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError {
			dst = append(dst, text[i:i+n]...)
		} else {
			dst = utf8.AppendRune(dst, foldRune(r))
		}
		i += n
	}
	return dst
}
