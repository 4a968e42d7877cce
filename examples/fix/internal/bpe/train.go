package bpe

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
)

// Train learns a vocabulary of size tokens from texts. The special tokens of the form <|…|> become
// control tokens, the others user-defined tokens; a special token in a text splits the text. Each
// of words becomes one token, even if it is not in the texts. It must be a single word for the
// pre-tokenizer: "42" and "Ġfor" are allowed, "a_b" is not. The merges for words come before all
// others.
//
// Train fails if the texts have too few different pairs for a vocabulary of that size.
func Train(texts iter.Seq[string], size int, special []string, words ...string) (*Vocab, error) {
	if err := checkSpecial(special); err != nil {
		return nil, err
	}
	if least := 256 + len(special); size <= least {
		return nil, fmt.Errorf("bpe: train: a vocabulary of %d has no room for merges beside 256 bytes and %d special tokens", size, len(special))
	}
	cut, err := tokenizer.NewCutter(Pre)
	if err != nil {
		return nil, fmt.Errorf("bpe: train: %w", err)
	}
	l := newLearner(count(texts, cut, special))
	for _, w := range words {
		if parts := slices.Collect(cut.Words(w)); len(parts) != 1 {
			return nil, fmt.Errorf("bpe: train: %q is %d words, so it can't be one token; make it a special token", w, len(parts))
		}
		l.force(w)
	}
	want := size - len(special)
	if len(l.pieces) > want {
		return nil, fmt.Errorf("bpe: train: a vocabulary of %d is too small for the words wanted", size)
	}
	for len(l.pieces) < want {
		if !l.learn() {
			return nil, fmt.Errorf("bpe: train: the texts have merges for %d tokens only, not for %d; take more texts or a smaller vocabulary",
				len(l.pieces)+len(special), size)
		}
	}
	v := l.vocab(special)
	if _, err := v.Tokenizer(); err != nil {
		return nil, fmt.Errorf("bpe: train: %w", err)
	}
	return v, nil
}

func checkSpecial(special []string) error {
	for i, s := range special {
		if len(s) < 2 {
			return fmt.Errorf("bpe: train: the special token %q is too short: bytes are tokens anyway", s)
		}
		if slices.Contains(special[:i], s) {
			return fmt.Errorf("bpe: train: the special token %q is listed twice", s)
		}
	}
	return nil
}

// count counts the words of texts.
func count(texts iter.Seq[string], cut *tokenizer.Cutter, special []string) map[string]*int64 {
	counts := map[string]*int64{}
	marks := newMarks(special)
	for text := range texts {
		for part := range marks.parts(text) {
			for w := range cut.Words(part) {
				if n := counts[w]; n != nil {
					*n++
				} else {
					counts[strings.Clone(w)] = new(int64(1))
				}
			}
		}
	}
	return counts
}

// marks finds special tokens in text. The index is the first byte of a token; the longest tokens
// come first.
type marks [256][]string

func newMarks(special []string) *marks {
	var m marks
	for _, s := range special {
		m[s[0]] = append(m[s[0]], s)
	}
	for _, list := range m {
		slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	}
	return &m
}

// parts yields the pieces of text between its special tokens.
func (m *marks) parts(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		from := 0
		for i := 0; i < len(text); {
			n := m.at(text[i:])
			if n == 0 {
				i++
				continue
			}
			if i > from && !yield(text[from:i]) {
				return
			}
			i += n
			from = i
		}
		if from < len(text) {
			yield(text[from:])
		}
	}
}

// at returns the length of the special token that text starts with, or 0 if there is none.
func (m *marks) at(text string) int {
	for _, s := range m[text[0]] {
		if strings.HasPrefix(text, s) {
			return len(s)
		}
	}
	return 0
}

// vocab returns the trained vocabulary, with the special tokens at the end.
func (l *learner) vocab(special []string) *Vocab {
	v := &Vocab{}
	for _, p := range l.pieces {
		v.Tokens = append(v.Tokens, tokenizer.SpellBytes(p))
		v.Kinds = append(v.Kinds, tokenizer.Normal)
	}
	for _, m := range l.merges {
		v.Merges = append(v.Merges, v.Tokens[m.left]+" "+v.Tokens[m.right])
	}
	for _, s := range special {
		kind := tokenizer.UserDefined
		if strings.HasPrefix(s, "<|") && strings.HasSuffix(s, "|>") {
			kind = tokenizer.Control
		}
		v.Tokens = append(v.Tokens, s)
		v.Kinds = append(v.Kinds, kind)
	}
	return v
}
