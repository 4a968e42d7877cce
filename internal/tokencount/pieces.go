package tokencount

import "unicode/utf8"

// A kind classifies a piece, and is the index of the rate for such pieces, on which alone Estimate
// is based. A piece is a stretch of text at whose ends a vocabulary's pre-tokenizer would cut: a
// hump, which is a part of a camel-case word (such as Pointer in NullPointerException), a run of
// digits, of blanks or of one punctuation mark, or a non-ASCII rune.
type kind uint16

const (
	longestWord  = 20 // letters per piece; a longer hump is several pieces
	longestDigit = 12
	longestBlank = 16
	longestMark  = 12 // buckets for the length of a run of punctuation: 1 to 8, then to 16, 32, 48, 64
	marks        = 33 // ASCII punctuation and control bytes, as markOf numbers them

	firstWord    = 0
	firstDigit   = firstWord + 3*leads*longestWord
	firstBlank   = firstDigit + 2*longestDigit
	firstTab     = firstBlank + 2*longestBlank
	firstNewline = firstTab + longestBlank
	firstSingle  = firstNewline + 8
	firstRun     = firstSingle + 4*marks
	firstMixed   = firstRun + marks*longestMark
	firstRune    = firstMixed + 4*longestMark
	// kinds is the number of kinds of pieces.
	kinds = firstRune + 2*runeBlocks
)

// Byte classes. The order of the first three is that of the kinds of humps.
const (
	lower = iota
	upper
	digit
	blank
	tab
	newline
	mark
	high
)

// classes holds each byte's class; markOf holds the number of each mark.
var classes, markOf = byteTables()

func byteTables() (class, number [256]uint8) {
	n := uint8(1) // 0 is any control byte
	for c := range 256 {
		switch {
		case c >= 'a' && c <= 'z':
			class[c] = lower
		case c >= 'A' && c <= 'Z':
			class[c] = upper
		case c >= '0' && c <= '9':
			class[c] = digit
		case c == ' ':
			class[c] = blank
		case c == '\t':
			class[c] = tab
		case c == '\n' || c == '\r':
			class[c] = newline
		case c >= utf8.RuneSelf:
			class[c] = high
		default:
			class[c] = mark
			if c > ' ' && c < 0x7f {
				number[c] = n
				n++
			}
		}
	}
	return class, number
}

// cutter walks over a text, one piece at a time. The kind of a piece depends on the text before it:
// a blank belongs to the word after it, and the second hump of a word is more likely to be a token
// than the same letters on their own.
type cutter struct {
	text string
	at   int
	lead uint8 // kind of text that precedes the piece at `at`
}

const (
	leadNone  = iota // the start of a line, a mark or a digit
	leadBlank        // one blank that is not counted yet
	leadWord         // another hump of the same word
	leadMark         // one mark, as in _name and .name
	leads
)

// next returns the kind of the next piece. It returns false at the end of the text.
func (c *cutter) next() (kind, bool) {
	if c.at >= len(c.text) {
		return 0, false
	}
	switch classes[c.text[c.at]] {
	case lower, upper:
		return c.word(), true
	case digit:
		return c.digits(), true
	case blank:
		return c.blanks()
	case tab:
		n := c.run(tab, longestBlank)
		c.lead = leadNone
		return firstTab + kind(n-1), true
	case newline:
		return c.newlines(), true
	case mark:
		return c.marks(), true
	default:
		return c.rune(), true
	}
}

// run takes up to limit bytes of one class and returns their number.
func (c *cutter) run(class uint8, limit int) int {
	from, end := c.at, min(len(c.text), c.at+limit)
	for c.at < end && classes[c.text[c.at]] == class {
		c.at++
	}
	return c.at - from
}

// word takes a hump: capitals (HTTP), a capital and lower-case letters (Server), or lower-case
// letters.
func (c *cutter) word() kind {
	from, shape := c.at, kind(0)
	if classes[c.text[c.at]] == lower {
		c.run(lower, longestWord)
	} else {
		shape = 2
		n := c.run(upper, longestWord)
		if c.at < len(c.text) && classes[c.text[c.at]] == lower {
			if n == 1 {
				shape = 1
				c.run(lower, longestWord-1)
			} else {
				c.at-- // the last of the capitals begins the next hump
			}
		}
	}
	k := firstWord + (shape*leads+kind(c.lead))*longestWord + kind(c.at-from-1)
	c.lead = leadWord
	return k
}

func (c *cutter) digits() kind {
	k := kind(0)
	if c.lead == leadBlank {
		k = longestDigit
	}
	k += firstDigit + kind(c.run(digit, longestDigit)-1)
	c.lead = leadNone
	return k
}

// blanks takes a run of blanks. The last blank belongs to the next piece, unless that is, for
// example, white space or a digit.
func (c *cutter) blanks() (kind, bool) {
	n := c.run(blank, longestBlank)
	c.lead = leadNone
	if c.at >= len(c.text) {
		return firstBlank + kind(n-1), true
	}
	switch classes[c.text[c.at]] {
	case blank, tab, newline:
		return firstBlank + kind(n-1), true
	}
	c.lead = leadBlank
	if n == 1 {
		return c.next()
	}
	return firstBlank + longestBlank + kind(n-2), true
}

func (c *cutter) newlines() kind {
	k := kind(firstNewline)
	if c.at > 0 && classes[c.text[c.at-1]] == mark {
		k += 4 // most vocabularies keep ")\n" together
	}
	k += kind(c.run(newline, 4) - 1)
	c.lead = leadNone
	return k
}

// marks takes a run of punctuation: one mark, the same mark repeated, or several kinds of marks.
func (c *cutter) marks() kind {
	from, first, lead := c.at, c.text[c.at], c.lead
	end := min(len(c.text), from+64)
	for c.at++; c.at < end && c.text[c.at] == first; c.at++ {
	}
	c.lead = leadNone
	same := c.at - from
	mixed := same
	if same < 4 {
		mixed += c.run(mark, longestMark-same)
	}
	var context kind // a mark may form a token with the letters after it and the blank before it
	if lead == leadBlank {
		context = 1
	}
	if c.at < len(c.text) && classes[c.text[c.at]] <= upper {
		context |= 2
	}
	switch {
	case mixed > same:
		return firstMixed + context*longestMark + kind(mixed-1)
	case same == 1:
		if context&2 != 0 {
			c.lead = leadMark
		}
		return firstSingle + context*marks + kind(markOf[first])
	default:
		return firstRun + kind(markOf[first])*longestMark + bucket(same)
	}
}

// bucket maps the length of a run, 1 to 64, to a number below longestMark.
func bucket(n int) kind {
	switch {
	case n <= 8:
		return kind(n - 1)
	case n <= 16:
		return 8
	case n <= 32:
		return 9
	case n <= 48:
		return 10
	}
	return 11
}

// Blocks of runes: scripts and symbols that vocabularies treat alike.
const (
	blockInvalid = iota
	blockLatin
	blockGreek
	blockCyrillic
	blockSemitic // Hebrew, Arabic
	blockIndic   // the other scripts below U+2000
	blockPunct   // dashes, quotes, arrows
	blockTable   // box drawing, blocks, shapes, check marks
	blockKana
	blockHan
	blockHangul
	blockOther
	blockEmoji
	runeBlocks
)

func (c *cutter) rune() kind {
	r, size := utf8.DecodeRuneInString(c.text[c.at:])
	k := firstRune + 2*block(r, size)
	if c.at >= size && c.text[c.at-size:c.at] == c.text[c.at:c.at+size] {
		k++ // a repeated rune: a line drawn with ─ has few tokens
	}
	c.at += size
	c.lead = leadNone
	return k
}

func block(r rune, size int) kind {
	switch {
	case size == 1:
		return blockInvalid
	case r < 0x370:
		return blockLatin
	case r < 0x400:
		return blockGreek
	case r < 0x530:
		return blockCyrillic
	case r < 0x780:
		return blockSemitic
	case r < 0x2000:
		return blockIndic
	case r < 0x2500:
		return blockPunct
	case r < 0x2E00:
		return blockTable
	case r < 0x3100:
		return blockKana
	case r < 0xA000:
		return blockHan
	case r >= 0xAC00 && r < 0xD800:
		return blockHangul
	case r < 0x10000:
		return blockOther
	}
	return blockEmoji
}
