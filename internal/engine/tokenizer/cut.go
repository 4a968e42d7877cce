package tokenizer

import (
	"fmt"
	"iter"
	"strings"
)

// A Cutter cuts text into the words that merges do not cross. The merges of a new vocabulary are
// learned from these words.
type Cutter struct {
	classes *classTable
	stages  []stage
}

// NewCutter returns the Cutter of a pre-tokenizer, one of PreTokenizers.
func NewCutter(pre string) (*Cutter, error) {
	row, ok := findPreTokenizer(pre)
	if !ok {
		return nil, fmt.Errorf("tokenizer: find pre-tokenizer: unknown name %q; supported are %s", pre, strings.Join(PreTokenizers(), ", "))
	}
	return &Cutter{classes: classes(), stages: row.stages}, nil
}

// Words yields the words of text; concatenated, they are the text.
func (c *Cutter) Words(text string) iter.Seq[string] {
	return func(yield func(string) bool) { c.words(text, c.stages, yield) }
}

// words cuts s with the first stage, and the resulting pieces with the other stages. It returns
// false if yield did.
func (c *Cutter) words(s string, stages []stage, yield func(string) bool) bool {
	if len(stages) == 0 {
		return yield(s)
	}
	for i := 0; i < len(s); {
		e := stages[0](c.classes, s, i)
		if !c.words(s[i:e], stages[1:], yield) {
			return false
		}
		i = e
	}
	return true
}

// SpellBytes writes bytes as in the pieces of gpt2 vocabularies: each as one visible character.
func SpellBytes(b string) string {
	a := newAlphabet()
	var s strings.Builder
	for i := range len(b) {
		s.WriteRune(a.runes[b[i]])
	}
	return s.String()
}
