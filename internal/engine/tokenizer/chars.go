package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// gap is U+2581, ▁, which stands for a space in the pieces of SentencePiece.
const gap = '▁'

// unescape appends a piece with ▁ replaced by spaces.
func unescape(dst []byte, piece string) []byte {
	return append(dst, strings.ReplaceAll(piece, string(gap), " ")...)
}

// charSymbols maps characters to symbols, and records the pairs of characters that are adjacent in
// some piece. Text can be cut between any other two characters without changing its tokens, since
// no merge crosses that position. So text is split into words even if there is no pre-tokenizer.
type charSymbols struct {
	size   int // of the vocabulary
	ascii  [utf8.RuneSelf]sym
	runes  map[rune]sym
	beyond []string // the characters of the symbols from size on
	pairs  [utf8.RuneSelf][2]uint64
	bloom  []uint64 // a bit for the hash of each pair with a rune beyond ASCII
}

// bloomBits is the number of bits in the Bloom filter of pairs. A false positive only makes a word
// longer.
const bloomBits = 1 << 21

// newCharSymbols assigns a symbol to every character of the pieces that take part in merging.
func newCharSymbols(v *vocab, merging func(int32) bool) *charSymbols {
	c := &charSymbols{size: v.size(), runes: map[rune]sym{}, bloom: make([]uint64, bloomBits/64)}
	for i := range c.ascii {
		c.ascii[i] = noSymbol
	}
	// Pieces of one character come first, so that their ids are the symbols.
	for id, p := range v.pieces {
		if r, n := utf8.DecodeRuneInString(p); n == len(p) && merging(int32(id)) && (r != utf8.RuneError || n > 1) {
			c.set(r, sym(id))
		}
	}
	for id, p := range v.pieces {
		if !merging(int32(id)) {
			continue
		}
		last := rune(-1)
		for i := 0; i < len(p); {
			r, n := utf8.DecodeRuneInString(p[i:])
			if r = plain(r); c.get(r) == noSymbol && (r != utf8.RuneError || n > 1) {
				c.set(r, sym(c.size+len(c.beyond)))
				c.beyond = append(c.beyond, string(r))
			}
			if last >= 0 {
				c.join(last, r)
			}
			last = r
			i += n
		}
	}
	return c
}

// noSymbol marks characters without a symbol.
const noSymbol sym = -1

// plain returns r, with a space replaced by ▁.
func plain(r rune) rune {
	if r == gap {
		return ' '
	}
	return r
}

func (c *charSymbols) set(r rune, id sym) {
	if r = plain(r); r < utf8.RuneSelf {
		c.ascii[r] = id
		return
	}
	c.runes[r] = id
}

func (c *charSymbols) get(r rune) sym {
	if r < utf8.RuneSelf {
		return c.ascii[r]
	}
	if id, ok := c.runes[plain(r)]; ok {
		return id
	}
	return noSymbol
}

// append appends the symbols of a word. For a character without a symbol it appends the complement
// of its offset.
func (c *charSymbols) append(dst []sym, word string) []sym {
	for i := 0; i < len(word); {
		r, n := rune(word[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(word[i:])
		}
		id := noSymbol
		if r != utf8.RuneError || n > 1 {
			id = c.get(plain(r))
		}
		if id == noSymbol {
			id = ^sym(i)
		}
		dst = append(dst, id)
		i += n
	}
	return dst
}

// join records that two characters are adjacent in a piece.
func (c *charSymbols) join(a, b rune) {
	if a < utf8.RuneSelf && b < utf8.RuneSelf {
		c.pairs[a][b/64] |= 1 << (b % 64)
		return
	}
	h := pairBit(a, b)
	c.bloom[h/64] |= 1 << (h % 64)
}

// joined reports whether two characters may be adjacent in a piece.
func (c *charSymbols) joined(a, b rune) bool {
	if a < utf8.RuneSelf && b < utf8.RuneSelf {
		return c.pairs[a][b/64]>>(b%64)&1 != 0
	}
	h := pairBit(a, b)
	return c.bloom[h/64]>>(h%64)&1 != 0
}

func pairBit(a, b rune) uint64 {
	return (uint64(a)<<21 | uint64(b)) * 0x9E3779B97F4A7C15 >> (64 - 21) % bloomBits
}

// next returns the end of the word that starts at i: the first position after i that no piece
// crosses.
func (c *charSymbols) next(s string, i int) int {
	r, n := utf8.DecodeRuneInString(s[i:])
	for last := plain(r); ; last = r {
		if i += n; i == len(s) {
			return i
		}
		if r, n = rune(s[i]), 1; r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
			r = plain(r)
		}
		if !c.joined(last, r) {
			return i
		}
	}
}
