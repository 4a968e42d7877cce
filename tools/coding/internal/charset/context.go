package charset

import "unicode"

// What the neighbours of a character cost, in bits.
const (
	mixedScripts = 6   // a word of two scripts
	lateCapital  = 5   // a capital after a small letter
	insideWord   = 6   // a sign between two letters
	allCapitals  = 1.5 // what a capital next to another saves
	lonely       = 9   // a letter without another one next to it, whichever it is
	trailing     = 5   // what a byte of ASCII in a pair saves
)

// neighbours judges each character outside of ASCII by the characters around it.
type neighbours struct {
	r    *reading
	a, b rune // the last two characters
	wide bool // b has several bytes
}

// next takes a character and judges the one before it.
func (n *neighbours) next(c rune, width int) {
	if n.b > unicode.MaxASCII && n.b != unicode.ReplacementChar {
		n.judge(n.a, n.b, c)
	}
	n.a, n.b, n.wide = n.b, c, width > 1
}

func (n *neighbours) judge(a, b, c rune) {
	kind := scriptOf(b)
	before, after := scriptOf(a), scriptOf(c)
	switch {
	case kind == noLetter:
		if before != noLetter && after != noLetter && !joins(b) && before < ideograph && after < ideograph {
			n.r.odd += insideWord
		}
		return
	case kind >= ideograph:
		if before == latin && after == latin {
			n.r.odd += mixedScripts
		}
		return
	}
	if before == noLetter && after == noLetter {
		n.r.odd += lonely
		n.r.counts[b]-- // a list of letters is in no language
		return
	}
	for _, other := range []script{before, after} {
		if other != noLetter && other != kind {
			n.r.odd += mixedScripts
		}
	}
	if unicode.IsUpper(b) {
		switch {
		case before == kind && unicode.IsLower(a):
			n.r.odd += lateCapital
		case before == kind && unicode.IsUpper(a), after == kind && unicode.IsUpper(c):
			n.r.odd -= allCapitals
		}
	}
}

// joins reports whether a sign may be inside a word.
func joins(r rune) bool {
	switch r {
	case '’', '‘', '·', '–', '—', '\u00ad', '\u00a0', '…', '×', '«', '»', '“', '”', '→':
		return true
	}
	return unicode.Is(unicode.M, r)
}

// A script is the writing that a letter belongs to.
type script uint8

const (
	noLetter script = iota
	latin
	cyrillic
	greek
	hebrew
	arabic
	thai
	otherLetter
	ideograph // and the scripts after it are written without blanks, or in syllables
	kana
	hangul
)

func scriptOf(r rune) script {
	if r <= unicode.MaxASCII {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return latin
		}
		return noLetter
	}
	switch {
	case r == 'µ' || r == 'ª' || r == 'º':
		return noLetter
	case unicode.Is(unicode.Latin, r):
		return latin
	case unicode.Is(unicode.Cyrillic, r):
		return cyrillic
	case unicode.Is(unicode.Greek, r):
		return greek
	case unicode.Is(unicode.Hebrew, r):
		return hebrew
	case unicode.Is(unicode.Arabic, r):
		return arabic
	case unicode.Is(unicode.Thai, r):
		return thai
	case unicode.Is(unicode.Han, r):
		return ideograph
	case unicode.In(r, unicode.Hiragana, unicode.Katakana):
		return kana
	case unicode.Is(unicode.Hangul, r):
		return hangul
	case unicode.IsLetter(r):
		return otherLetter
	}
	return noLetter
}
