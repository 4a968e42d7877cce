package tokenizer

import (
	"fmt"
	"hash/maphash"
	"math/bits"
	"slices"
)

// vocab is the table of pieces, with their texts in the file and the bytes that they denote.
type vocab struct {
	pieces  []string // as written in the file
	raw     []string // the bytes that each piece denotes
	kinds   []Kind
	written *index // of pieces
	seed    maphash.Seed
}

// newVocab indexes the pieces of a checked Config. Empty pieces get a name, as they could not be
// distinguished otherwise.
func newVocab(c *Config) (*vocab, error) {
	v := &vocab{pieces: slices.Clone(c.Pieces), kinds: make([]Kind, len(c.Pieces)), seed: maphash.MakeSeed()}
	for id := range v.kinds {
		v.kinds[id] = Normal
		if c.Kinds != nil {
			v.kinds[id] = c.Kinds[id]
		}
		if v.kinds[id] < Normal || v.kinds[id] > Byte {
			v.kinds[id] = Unused
		}
	}
	for i, p := range v.pieces {
		if p == "" {
			v.pieces[i] = fmt.Sprintf("[EMPTY_%d]", i)
		}
	}
	v.written = newIndex(v.pieces, v.seed)
	for i, p := range v.pieces {
		if old, ok := v.written.add(p, int32(i)); !ok {
			return nil, fmt.Errorf("tokenizer: read vocabulary: piece %.60q is there twice, as ids %d and %d", p, old, i)
		}
	}
	return v, nil
}

// size returns the number of tokens.
func (v *vocab) size() int { return len(v.pieces) }

// setRaw fills in the bytes of each token: for special tokens, those of their text; for byte
// tokens, their byte; and for the others, the bytes that decode appends.
func (v *vocab) setRaw(decode func(dst []byte, piece string) []byte) {
	total := 0
	for _, p := range v.pieces {
		total += len(p)
	}
	all := make([]byte, 0, total)
	ends := make([]int, len(v.pieces))
	for id, p := range v.pieces {
		switch b, isByte := byteOf(p); {
		case v.kinds[id] == Byte && isByte:
			all = append(all, b)
		case v.kinds[id] == Normal, v.kinds[id] == Unused:
			all = decode(all, p)
		default:
			all = append(all, p...)
		}
		ends[id] = len(all)
	}
	v.raw = make([]string, len(v.pieces))
	from, text := 0, string(all)
	for id, end := range ends {
		v.raw[id], from = text[from:end], end
	}
}

// byteOf reads a byte token's <0xHH>.
func byteOf(piece string) (byte, bool) {
	if len(piece) != 6 || piece[:3] != "<0x" || piece[5] != '>' {
		return 0, false
	}
	hi, ok1 := hex(piece[3])
	lo, ok2 := hex(piece[4])
	return hi<<4 | lo, ok1 && ok2
}

func hex(c byte) (byte, bool) {
	switch {
	case c-'0' < 10:
		return c - '0', true
	case c|0x20-'a' < 6:
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// byteTokens returns the token of each byte among the byte tokens, -1 if there is none.
func (v *vocab) byteTokens() *[256]int32 {
	var t [256]int32
	for i := range t {
		t[i] = -1
	}
	for id, k := range v.kinds {
		if b, ok := byteOf(v.pieces[id]); ok && k == Byte {
			t[b] = int32(id)
		}
	}
	return &t
}

// index finds ids by text. It is an open-addressing hash table whose slots hold half a hash and an
// id, so that a look-up compares a text only if it is most likely the right one. The hash has a
// random seed, so no vocabulary can be crafted to collide.
type index struct {
	seed  maphash.Seed
	texts []string
	slots []uint64 // upper half of the hash, id+1; 0 is free
	mask  uint64
}

// newIndex returns an empty index with room for texts.
func newIndex(texts []string, seed maphash.Seed) *index {
	size := uint64(1) << bits.Len(uint(len(texts)+len(texts)/2)|15)
	return &index{seed: seed, texts: texts, slots: make([]uint64, size), mask: size - 1}
}

// add adds a text. If an equal text is already present, add returns its id and false.
func (x *index) add(text string, id int32) (int32, bool) {
	h := maphash.String(x.seed, text)
	at := h & x.mask
	for ; x.slots[at] != 0; at = (at + 1) & x.mask {
		if slot := x.slots[at]; slot>>32 == h>>32 {
			if old := int32(uint32(slot)) - 1; x.texts[old] == text {
				return old, false
			}
		}
	}
	x.slots[at] = h>>32<<32 | uint64(id+1)
	return id, true
}

// find returns the id of a text, or -1.
func (x *index) find(text string) int32 { return x.findHash(maphash.String(x.seed, text), text) }

// findHash is like find, for a text whose hash is known.
func (x *index) findHash(h uint64, text string) int32 {
	for at := h & x.mask; ; at = (at + 1) & x.mask {
		slot := x.slots[at]
		if slot == 0 {
			return -1
		}
		if slot>>32 == h>>32 {
			if id := int32(uint32(slot)) - 1; x.texts[id] == text {
				return id
			}
		}
	}
}
