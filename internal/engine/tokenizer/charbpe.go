package tokenizer

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// charBPE is SentencePiece's BPE: merges over the characters of text whose spaces are written ▁.
// The pieces determine where text can be cut into words; see charSymbols.
type charBPE struct {
	classes *classTable
	stages  []stage // they cut text further; may be nil
	prefix  bool    // put a space before the text
	*merger
}

// longestMerged is the length in bytes of the longest piece that merges can produce; finding the
// pairs of longer ones would take quadratic time.
const longestMerged = 1024

// newScoredBPE builds the model llama: any two symbols that together are a piece are merged, in
// order of the piece's score.
func newScoredBPE(c *Config, v *vocab) (*charBPE, error) {
	if c.Scores == nil {
		return nil, fmt.Errorf("tokenizer: read vocabulary: the model llama needs tokenizer.ggml.scores")
	}
	b := newCharBPE(c, v)
	b.prefix = c.SpacePrefix == nil || *c.SpacePrefix
	b.pairs = b.scoredPairs(c.Scores)
	return b, nil
}

// newRankedBPE builds the model gemma4: like llama, but with ranked merges that stay within lines.
func newRankedBPE(c *Config, v *vocab, pre preTokenizer) (*charBPE, int, error) {
	b := newCharBPE(c, v)
	b.stages = pre.stages
	var dropped int
	var err error
	b.pairs, dropped, err = rankedPairs(c.Merges, v)
	return b, dropped, err
}

func newCharBPE(c *Config, v *vocab) *charBPE {
	v.setRaw(unescape)
	// A piece with a space in it never matches text, whose spaces are written ▁.
	ordinary := func(id int32) bool {
		k := v.kinds[id]
		return (k == Normal || k == UserDefined || k == Unused) && !strings.Contains(v.pieces[id], " ")
	}
	m := newMerger(v, ordinary)
	m.chars = newCharSymbols(v, ordinary)
	m.bytes = *v.byteTokens()
	if c.Unknown != nil {
		m.unknown = *c.Unknown
	}
	return &charBPE{classes: classes(), merger: m}
}

// append appends the tokens of text; the parameter fresh reports whether it follows a special token
// or is at the start of the whole text.
func (b *charBPE) append(dst []int32, text string, fresh bool) []int32 {
	if b.prefix && fresh && text != "" {
		text = " " + text
	}
	if b.stages == nil {
		return b.line(dst, text)
	}
	for i := 0; i < len(text); {
		e := b.stages[0](b.classes, text, i)
		dst = b.line(dst, text[i:e])
		i = e
	}
	return dst
}

// line appends the tokens of text that is not cut by stages.
func (b *charBPE) line(dst []int32, s string) []int32 {
	// A run of line ends is looked up as a whole, because such pieces are not the result of merges.
	if b.stages != nil && s[0] == '\n' {
		if id := b.words.find(s); id >= 0 {
			return append(dst, id)
		}
	}
	for i := 0; i < len(s); {
		e := b.chars.next(s, i)
		dst = b.word(dst, s[i:e])
		i = e
	}
	return dst
}

// scoredPairs finds all pairs of symbols that form a piece. The priority of a pair is the rank of
// the piece's score.
func (b *charBPE) scoredPairs(scores []float32) *pairTable {
	ranks := slices.Clone(scores)
	slices.Sort(ranks)
	ranks = slices.Compact(ranks)
	type pair struct {
		l, r sym
		m    merge
	}
	var pairs []pair
	v := b.vocab
	for id := range int32(v.size()) {
		piece := v.pieces[id]
		if len(piece) > longestMerged || !b.ordinary(id) {
			continue
		}
		rank, _ := slices.BinarySearch(ranks, scores[id])
		m := merge(len(ranks)-1-rank)<<32 | merge(uint32(id))
		for at := 1; at < len(piece); at++ {
			if !utf8.RuneStart(piece[at]) {
				continue
			}
			if l, r := b.symbolOf(piece[:at]), b.symbolOf(piece[at:]); l >= 0 && r >= 0 {
				pairs = append(pairs, pair{l, r, m})
			}
		}
	}
	t := newPairTable(len(pairs))
	for _, p := range pairs {
		t.set(p.l, p.r, p.m)
	}
	return t
}

// symbolOf returns the symbol of a part of a piece: an ordinary piece or a character. It is
// negative if there is none.
func (b *charBPE) symbolOf(part string) sym {
	if id := b.vocab.written.find(part); id >= 0 && b.ordinary(id) {
		return id
	}
	if r, n := utf8.DecodeRuneInString(part); n == len(part) {
		return b.chars.get(plain(r))
	}
	return noSymbol
}
