package trigram

import (
	"unicode"
	"unicode/utf8"
)

// foldRune is the character that stands for all those which differ from r in case only: the
// lower-case letter where one of them is ASCII (k for the Kelvin sign, s for the long s), else the
// smallest.
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

// noCase reports quickly that r lies where no letters have case: East Asian scripts and Hangul,
// which make up whole texts.
func noCase(r rune) bool {
	return r >= 0x2e80 && r < 0xa640 || r >= 0xac00 && r < 0xfb00
}

// foldByte folds ASCII and leaves all other bytes alone.
var foldByte = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
		if 'A' <= i && i <= 'Z' {
			t[i] += 'a' - 'A'
		}
	}
	return t
}()

// appendFolded appends text folded. What comes of two texts joined at a character is the two
// results joined: queries are built from the parts of an expression and rely on it.
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
