package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// wordPiece is the model bert. Text is normalised and cut at white space and around punctuation and
// Chinese characters. Each word is then cut into the longest matching pieces from its start; a word
// for which that fails is unknown. Pieces that start a word are written with ▁.
type wordPiece struct {
	vocab        *vocab
	classes      *classTable
	longest      int // bytes of the longest piece
	unknown      int32
	lowercase    bool
	stripAccents bool
}

func newWordPiece(c *Config, v *vocab) *wordPiece {
	v.setRaw(unescape)
	w := &wordPiece{vocab: v, classes: classes(), unknown: -1, lowercase: c.Lowercase == nil || *c.Lowercase}
	w.stripAccents = w.lowercase
	if c.StripAccents != nil {
		w.stripAccents = *c.StripAccents
	}
	if c.Unknown != nil {
		w.unknown = *c.Unknown
	}
	for _, p := range v.pieces {
		w.longest = max(w.longest, len(p))
	}
	return w
}

// append appends the tokens of text.
func (w *wordPiece) append(dst []int32, text string, _ bool) []int32 {
	if w.stripAccents {
		text = norm.NFD.String(text)
	}
	word := []byte(string(gap))
	start := len(word)
	flush := func() {
		if len(word) > start {
			dst = w.word(dst, string(word))
			word = word[:start]
		}
	}
	for _, r := range text {
		c := w.classes.of(r)
		switch {
		case c&space != 0:
			flush()
		case r == 0 || r == utf8.RuneError || unicode.Is(unicode.C, r), w.stripAccents && c&mark != 0:
		case c&punct != 0, r < 0x7F && c&symbol != 0, isIdeograph(r):
			flush()
			word = w.fold(word, r)
			flush()
		default:
			word = w.fold(word, r)
		}
	}
	flush()
	return dst
}

// fold appends a rune, in lower case if the vocabulary is lower-case.
func (w *wordPiece) fold(dst []byte, r rune) []byte {
	if !w.lowercase {
		return utf8.AppendRune(dst, r)
	}
	return append(dst, strings.ToLower(string(r))...)
}

// word appends the tokens of a word that starts with ▁.
func (w *wordPiece) word(dst []int32, word string) []int32 {
	from := len(dst)
	for i := 0; i < len(word); {
		id, j := int32(-1), min(len(word), i+w.longest)
		for ; j > i; j-- {
			if id = w.vocab.written.find(word[i:j]); id >= 0 {
				break
			}
		}
		if id < 0 {
			dst = dst[:from]
			if w.unknown >= 0 {
				dst = append(dst, w.unknown)
			}
			return dst
		}
		dst = append(dst, id)
		i = j
	}
	return dst
}

// isIdeograph reports whether r is a character that BERT treats as a word: the CJK blocks listed by
// its normaliser, which skips U+2B820 to U+2B91F.
func isIdeograph(r rune) bool {
	switch {
	case r < 0x3400:
		return false
	case r <= 0x4DBF, r >= 0x4E00 && r <= 0x9FFF, r >= 0xF900 && r <= 0xFAFF:
		return true
	case r >= 0x20000 && r <= 0x2A6DF, r >= 0x2A700 && r <= 0x2B81F, r >= 0x2B920 && r <= 0x2CEAF, r >= 0x2F800 && r <= 0x2FA1F:
		return true
	}
	return false
}
