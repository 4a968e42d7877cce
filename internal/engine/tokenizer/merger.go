package tokenizer

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// merger encodes words by merging pairs of symbols. Byte-level BPE and SentencePiece's BPE share
// it.
type merger struct {
	vocab      *vocab
	ordinary   func(int32) bool // whether text may become this token
	words      *index           // of the bytes of ordinary pieces
	longest    int              // bytes of the longest of them
	pairs      *pairTable
	chars      *charSymbols // nil: symbols are bytes
	bytes      [256]int32   // the token of each byte, -1 where there is none
	unknown    int32        // token for characters without tokens; -1: use those of U+FFFD
	wholeWords bool         // a word that is a piece becomes that piece, even if it is not a result of merges

	whole []atomic.Int32 // by id: whether merging the bytes of a piece yields the piece: 0 unknown, 1 yes, 2 no
	cache wordCache
	pool  sync.Pool // of *scratch
}

// newMerger returns a merger without pairs. The vocabulary's bytes must already be set; ordinary
// reports which pieces are words.
func newMerger(v *vocab, ordinary func(int32) bool) *merger {
	m := &merger{vocab: v, ordinary: ordinary, unknown: -1}
	m.words = newIndex(v.raw, v.seed)
	m.whole = make([]atomic.Int32, v.size())
	m.pool.New = func() any { return new(scratch) }
	for id := range int32(v.size()) {
		if raw := v.raw[id]; raw != "" && ordinary(id) {
			m.words.add(raw, id)
			m.longest = max(m.longest, len(raw))
		}
	}
	return m
}

// word appends the tokens of a word, which must not be empty.
func (m *merger) word(dst []int32, word string) []int32 {
	if m.chars == nil && len(word) == 1 && m.bytes[word[0]] >= 0 {
		return append(dst, m.bytes[word[0]])
	}
	h := maphash.String(m.words.seed, word)
	if len(word) <= m.longest {
		if id := m.words.findHash(h, word); id >= 0 && (m.wholeWords || m.reached(id)) {
			return append(dst, id)
		}
	}
	if ids, ok := m.cache.get(h, word); ok {
		return append(dst, ids...)
	}
	from := len(dst)
	dst = m.merge(dst, word)
	m.cache.put(h, word, dst[from:])
	return dst
}

// reached reports whether merging the bytes of a piece results in the piece. That is not so for all
// pieces.
func (m *merger) reached(id int32) bool {
	switch m.whole[id].Load() {
	case 1:
		return true
	case 2:
		return false
	}
	var buf [8]int32
	ids := m.merge(buf[:0], m.vocab.raw[id])
	if len(ids) == 1 && ids[0] == id {
		m.whole[id].Store(1)
		return true
	}
	m.whole[id].Store(2)
	return false
}

// merge appends the tokens of a word by merging its symbols.
func (m *merger) merge(dst []int32, word string) []int32 {
	s := m.pool.Get().(*scratch)
	s.symbols = s.symbols[:0]
	if m.chars != nil {
		s.symbols = m.chars.append(s.symbols, word)
	} else {
		for i := range len(word) {
			id := m.bytes[word[i]]
			if id < 0 {
				id = ^int32(i)
			}
			s.symbols = append(s.symbols, id)
		}
	}
	for _, id := range m.pairs.apply(s, s.symbols) {
		dst = m.emit(dst, word, id)
	}
	m.pool.Put(s)
	return dst
}

// emit appends the token of a symbol, or the tokens of its bytes if it has none.
func (m *merger) emit(dst []int32, word string, id sym) []int32 {
	switch {
	case id >= 0 && int(id) < m.vocab.size():
		return append(dst, id)
	case id >= 0:
		return m.emitBytes(dst, m.chars.beyond[int(id)-m.vocab.size()])
	}
	at := int(^id)
	_, n := utf8.DecodeRuneInString(word[at:])
	if m.chars == nil {
		n = 1
	}
	return m.emitBytes(dst, word[at:at+n])
}

// emitBytes appends the byte tokens of a character. If one is missing, it appends the unknown
// token, if there is one. Otherwise the byte did not occur in the texts from which the vocabulary
// was made: a control character then gets no tokens, and any other byte gets the tokens of U+FFFD.
func (m *merger) emitBytes(dst []int32, char string) []int32 {
	from := len(dst)
	for i := range len(char) {
		id := m.bytes[char[i]]
		switch {
		case id >= 0:
			dst = append(dst, id)
		case m.unknown >= 0:
			return append(dst[:from], m.unknown)
		case char[i] < utf8.RuneSelf || char == replacement:
			return dst[:from]
		default:
			return m.emitBytes(dst[:from], replacement)
		}
	}
	return dst
}

// replacement is U+FFFD, which replaces bytes that are not a character.
const replacement = "\uFFFD"
