package tokenizer

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// byteBPE is the model gpt2: a pre-tokenizer, then BPE merges over the bytes of each word.
type byteBPE struct {
	classes *classTable
	stages  []stage
	*merger
}

// newByteBPE builds the model. It also returns the number of merges with pieces that the vocabulary
// does not have.
func newByteBPE(c *Config, v *vocab, pre preTokenizer) (*byteBPE, int, error) {
	alphabet := newAlphabet()
	v.setRaw(alphabet.decode)
	m := newMerger(v, func(id int32) bool { return v.kinds[id] == Normal })
	m.wholeWords = pre.wholeWords
	for b, r := range alphabet.runes {
		if m.bytes[b] = v.written.find(string(r)); m.bytes[b] >= 0 && v.kinds[m.bytes[b]] != Normal {
			m.bytes[b] = -1 // the token À is the letter, not the byte 0xC0
		}
	}
	var dropped int
	var err error
	m.pairs, dropped, err = rankedPairs(c.Merges, v)
	return &byteBPE{classes: classes(), stages: pre.stages, merger: m}, dropped, err
}

// append appends the tokens of text.
func (b *byteBPE) append(dst []int32, text string, _ bool) []int32 {
	return b.split(dst, text, b.stages)
}

// split cuts s with the first stage, and the resulting pieces with the other stages.
func (b *byteBPE) split(dst []int32, s string, stages []stage) []int32 {
	first, rest := stages[0], stages[1:]
	for i := 0; i < len(s); {
		e := first(b.classes, s, i)
		if len(rest) == 0 {
			dst = b.word(dst, s[i:e])
		} else {
			dst = b.split(dst, s[i:e], rest)
		}
		i = e
	}
	return dst
}

// rankedPairs reads a list of merges, each "left right"; a merge's rank is its position. A merge
// counts if its two parts and their concatenation are pieces. In real files some merges do not
// count, because a converter renamed a piece; rankedPairs returns their number. If there are merges
// but none counts, it returns an error.
func rankedPairs(merges []string, v *vocab) (*pairTable, int, error) {
	t := newPairTable(len(merges))
	dropped := 0
	var joined []byte
	for rank, line := range merges {
		at := -1
		if len(line) > 1 {
			at = strings.IndexByte(line[1:], ' ') + 1
		}
		if at < 1 {
			return nil, 0, fmt.Errorf("tokenizer: read merges: merge %d (%.60q) is not two pieces with a space between", rank, line)
		}
		joined = append(append(joined[:0], line[:at]...), line[at+1:]...)
		l, r, id := v.written.find(line[:at]), v.written.find(line[at+1:]), v.written.find(string(joined))
		if l < 0 || r < 0 || id < 0 || v.kinds[id] == Control || v.kinds[id] == Unknown {
			dropped++
			continue
		}
		t.set(l, r, merge(rank)<<32|merge(uint32(id)))
	}
	if len(merges) > 0 && dropped == len(merges) {
		return nil, 0, fmt.Errorf("tokenizer: read merges: none of the %d merges names pieces of the vocabulary, such as %.60q", len(merges), merges[0])
	}
	return t, dropped, nil
}

// alphabet is the byte encoding of GPT-2, which writes bytes as visible characters: printable
// Latin-1 characters are written as themselves, and other bytes as characters from U+0100 on.
type alphabet struct {
	runes [256]rune
	bytes [0x144]int16 // by character; -1 for characters that stand for no byte
}

func newAlphabet() *alphabet {
	a := &alphabet{}
	for i := range a.bytes {
		a.bytes[i] = -1
	}
	beyond := rune(0x100)
	for b := range rune(256) {
		r := b
		if b < '!' || b > '~' && b < 0xA1 || b == 0xAD {
			r = beyond
			beyond++
		}
		a.runes[b] = r
		a.bytes[r] = int16(b)
	}
	return a
}

// decode appends the bytes that a piece denotes. Characters outside the alphabet denote themselves.
func (a *alphabet) decode(dst []byte, piece string) []byte {
	for i := 0; i < len(piece); {
		r, n := utf8.DecodeRuneInString(piece[i:])
		if int(r) < len(a.bytes) && a.bytes[r] >= 0 {
			dst = append(dst, byte(a.bytes[r]))
		} else {
			dst = append(dst, piece[i:i+n]...)
		}
		i += n
	}
	return dst
}
