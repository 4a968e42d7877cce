package charset

import (
	"math"
	"strings"
	"sync"
	"unicode"
)

// The bits of characters that a language does not list.
const (
	sign       = 5
	rareSymbol = 8
	rareLetter = 13
	rareGlyph  = 15.5 // of a script with thousands of characters
	narrowKana = 10
	capital    = 3 // more than the small letter
	strange    = 18
)

// A model knows how many bits each character costs in each language.
type model struct {
	listed map[rune][]float32
	rare   map[script][]float32 // for letters that are not listed
	others []float32            // for everything else
}

var languageModel = sync.OnceValue(newModel)

func newModel() *model {
	m := &model{listed: map[rune][]float32{}, rare: map[script][]float32{}}
	m.others = m.row(strange)
	m.rare[latin] = m.row(rareLetter + 1)
	for s := cyrillic; s <= hangul; s++ {
		m.rare[s] = m.row(strange)
	}
	for i, l := range languages {
		for band, chars := range strings.Split(l.bands, " ") {
			for _, r := range chars {
				s := scriptOf(r)
				m.set(r, i, float32(band)+1.5)
				m.set(unicode.ToUpper(r), i, float32(band)+1.5+capital)
				if s >= ideograph {
					m.rare[s][i] = rareGlyph
				} else if s != noLetter {
					m.rare[s][i] = rareLetter
				}
			}
		}
	}
	for r, row := range m.listed { // in the languages that do not list a character, it is rare
		for i := range row {
			if row[i] == 0 {
				row[i] = m.unlisted(scriptOf(r))[i]
			}
		}
	}
	for _, r := range signs + symbols + "\u00a0" {
		bits := float32(rareSymbol)
		if strings.ContainsRune(signs, r) {
			bits = sign
		}
		for i := range languages {
			m.set(r, i, bits)
		}
	}
	return m
}

func (m *model) row(bits float32) []float32 {
	row := make([]float32, len(languages))
	for i := range row {
		row[i] = bits
	}
	return row
}

// set lowers the cost of r in a language.
func (m *model) set(r rune, language int, bits float32) {
	row := m.listed[r]
	if row == nil {
		row = make([]float32, len(languages))
		m.listed[r] = row
	}
	if row[language] == 0 || bits < row[language] {
		row[language] = bits
	}
}

func (m *model) unlisted(s script) []float32 {
	if row := m.rare[s]; row != nil {
		return row
	}
	return m.others
}

// cost returns the bits of a text in the language that fits best, given how often it has each
// character.
func (m *model) cost(counts map[rune]int) float64 {
	sums := make([]float32, len(languages))
	for r, n := range counts {
		row := m.listed[r]
		if row == nil {
			row = m.unlisted(scriptOf(r))
		}
		extra := float32(0)
		if unicode.Is(unicode.Katakana, r) && r >= 0xff61 {
			extra = narrowKana - rareGlyph
		}
		for i, bits := range row {
			if bits < strange {
				bits += extra
			}
			sums[i] += float32(n) * bits
		}
	}
	best := float32(math.MaxFloat32)
	for _, s := range sums {
		best = min(best, s)
	}
	return float64(best)
}
