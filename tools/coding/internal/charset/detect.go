package charset

import (
	"bytes"
	"iter"
	"math"
	"unicode/utf8"
)

const (
	sniffLen   = 8000     // as in git: a NUL within these bytes makes a file binary
	sampled    = 16 << 10 // bytes that are judged
	margin     = 5        // bits by which the best reading must win
	westMargin = 2        // the same for the encodings of western Europe, which most files have
	floor      = 12       // bits per character above which no reading is plausible
	damage     = 24       // bits for bytes that a reading cannot explain
	declares   = 15       // bits for an encoding that the file names
)

// detect returns the most probable encoding of data, which is neither valid UTF-8 nor UTF-16, and
// reports whether it is certain enough to write new characters in it.
func detect(data []byte) (*codec, bool) {
	text := sample(data)
	if len(text) == 0 {
		return utf8Codec, true
	}
	named, firm := declared(data)
	if firm && read(named, text).broken == 0 {
		return named, true
	}
	type verdict struct {
		codec *codec
		cost  float64
		text  string
		fits  bool
	}
	var best verdict
	second := math.Inf(1)
	var all []verdict
	for _, c := range candidates {
		r := read(c, text)
		cost := r.cost() + c.prior
		if c == named {
			cost -= declares
		}
		v := verdict{c, cost, r.text, r.plausible()}
		all = append(all, v)
		if best.codec == nil || cost < best.cost {
			best = v
		}
	}
	for _, v := range all {
		if v.text != best.text {
			second = min(second, v.cost)
		}
	}
	if !best.fits {
		return utf8Codec, false
	}
	need := float64(margin)
	if best.codec.western() {
		need = westMargin
	}
	return best.codec, second-best.cost >= need
}

// sample returns the lines of data that have bytes outside of ASCII, up to a size. A word counts at
// most three times: more of it would say nothing new.
func sample(data []byte) []byte {
	var out []byte
	seen := map[string]int{}
	for line := range bytes.Lines(data) {
		if asciiLen(line) == len(line) {
			continue
		}
		for word := range words(line) {
			if asciiLen(word) < len(word) {
				if seen[string(word)]++; seen[string(word)] > 3 {
					continue
				}
			}
			if out = append(out, word...); len(out) >= sampled {
				return out
			}
		}
	}
	return out
}

// words splits a line after bytes that are no part of a longer character in any encoding.
func words(line []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		start := 0
		for i, c := range line {
			if c < '0' || i-start > 200 && c < utf8.RuneSelf && c < '@' {
				if !yield(line[start : i+1]) {
					return
				}
				start = i + 1
			}
		}
		if start < len(line) {
			yield(line[start:])
		}
	}
}

// A reading is a sample as one encoding reads it.
type reading struct {
	text   string       // the characters outside of ASCII
	counts map[rune]int // how often each occurs
	total  int
	broken int     // characters without a meaning
	pairs  int     // characters of several bytes
	odd    float64 // bits for neighbours that do not go together
}

// read decodes a sample.
func read(c *codec, sample []byte) *reading {
	r := &reading{counts: map[rune]int{}}
	d := newDecoder(c)
	var b []byte
	n := neighbours{r: r}
	for rest := sample; len(rest) > 0; {
		unit := rest[:c.step(rest)]
		rest = rest[len(unit):]
		if len(unit) == 1 && unit[0] < utf8.RuneSelf {
			n.next(rune(unit[0]), 1)
			continue
		}
		char, _ := utf8.DecodeRuneInString(d.one(unit))
		if char == utf8.RuneError || char >= 0x80 && char < 0xa0 || char >= 0xe000 && char < 0xf900 {
			r.broken++
			char = utf8.RuneError
		} else {
			r.counts[char]++
		}
		r.total++
		if len(unit) > 1 {
			r.pairs++
		}
		b = utf8.AppendRune(b, char)
		if len(unit) > 1 && unit[len(unit)-1] < utf8.RuneSelf {
			r.odd -= trailing // it explains a byte that would be a character of its own
		}
		n.next(char, len(unit))
	}
	n.next('\n', 1)
	r.text = string(b)
	return r
}

// cost returns the number of bits that describe the text in the language that fits best.
func (r *reading) cost() float64 {
	return languageModel().cost(r.counts) + r.odd + damage*float64(r.broken)
}

// plausible reports whether the text may be one.
func (r *reading) plausible() bool {
	most := float64(floor)
	if r.pairs*2 > r.total && r.broken == 0 {
		most = rareGlyph // such a text does not come about by chance
	}
	return r.cost() < most*float64(r.total)+8 && r.broken*20 <= r.total
}
