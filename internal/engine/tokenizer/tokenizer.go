package tokenizer

import (
	"fmt"
	"slices"
)

// Tokenizer maps text to token ids and back. It is immutable and safe for concurrent use.
type Tokenizer struct {
	vocab    *vocab
	model    model
	specials *specials
	prefix   bool // the model puts a space before the text; see Decode
	bos, eos *int32
	addBOS   bool
	addEOS   bool
	ends     []int32
	warnings []string
}

// model encodes text without special tokens.
type model interface {
	// append appends the tokens of text; the parameter fresh reports whether the text begins here
	// or follows a special token.
	append(dst []int32, text string, fresh bool) []int32
}

// New builds a tokenizer. If the vocabulary cannot be used, it returns an error with the reason;
// less serious problems are reported by Warnings.
func New(c Config) (*Tokenizer, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	t := &Tokenizer{}
	c.checkIDs(&t.warnings)
	v, err := newVocab(&c)
	if err != nil {
		return nil, err
	}
	t.vocab = v
	t.ends = c.ends(v)
	pre, err := c.preTokenizer(&t.warnings)
	if err != nil {
		return nil, err
	}
	if err := t.build(&c, pre); err != nil {
		return nil, err
	}
	t.specials = newSpecials(v, c.sides(v))
	t.bos, t.eos = c.BOS, c.EOS
	t.addBOS, t.addEOS = pre.addBOS || c.Model == "llama" || c.Model == "bert", false
	if c.AddBOS != nil && !(pre.chars && pre.addBOS) { // Gemma 4 needs it, although early files specify otherwise
		t.addBOS = *c.AddBOS
	}
	if c.AddEOS != nil {
		t.addEOS = *c.AddEOS
	}
	t.addBOS = t.addBOS && t.bos != nil
	t.addEOS = t.addEOS && t.eos != nil
	return t, nil
}

// build builds the model named in the Config.
func (t *Tokenizer) build(c *Config, pre preTokenizer) error {
	var dropped int
	var err error
	switch {
	case c.Model == "llama":
		var m *charBPE
		if m, err = newScoredBPE(c, t.vocab); err == nil {
			t.model, t.prefix = m, m.prefix
		}
	case c.Model == "bert":
		t.model = newWordPiece(c, t.vocab)
	case pre.chars:
		t.model, dropped, err = newRankedBPE(c, t.vocab, pre)
	default:
		t.model, dropped, err = newByteBPE(c, t.vocab, pre)
	}
	if dropped > 0 {
		t.warnings = append(t.warnings, fmt.Sprintf("%d of %d merges name pieces that the vocabulary lacks; they are left out", dropped, len(c.Merges)))
	}
	return err
}

// Warnings describes anything suspicious in the vocabulary, in messages for a log; usually it
// returns nothing.
func (t *Tokenizer) Warnings() []string { return slices.Clone(t.warnings) }

// Encode returns the tokens of text. If special is true, special tokens written in the text become
// their ids. If it is false, text never produces control tokens, so it can be untrusted. No BOS is
// added.
func (t *Tokenizer) Encode(text string, special bool) []int32 {
	return t.Append(make([]int32, 0, len(text)/4+4), text, special)
}

// Count returns the number of tokens of a text, without special tokens.
func (t *Tokenizer) Count(text string) int { return len(t.Encode(text, false)) }

// Append appends to dst the tokens that Encode returns for text. After a token of text, the text is
// treated as its continuation: the space that llama vocabularies put before a text is added only if
// dst is empty or ends with a special token.
func (t *Tokenizer) Append(dst []int32, text string, special bool) []int32 {
	fresh := len(dst) == 0 || t.isMark(dst[len(dst)-1])
	for i := 0; i < len(text); {
		id, start, end, token := t.specials.find(text, i, special)
		stop := start
		for token.left && stop > i && isBlank(text[stop-1]) {
			stop--
		}
		if stop > i {
			dst = t.model.append(dst, text[i:stop], fresh)
			fresh = false
		}
		if id < 0 {
			break
		}
		dst = append(dst, id)
		fresh = true
		for i = end; token.right && i < len(text) && isBlank(text[i]); i++ {
		}
	}
	return dst
}

// isMark reports whether a token is not itself text, so that a new text begins after it.
func (t *Tokenizer) isMark(id int32) bool {
	switch t.Kind(id) {
	case Control, UserDefined, Unknown:
		return true
	}
	return false
}

// Decode returns the text of ids: the bytes of all pieces, with special tokens written out. If
// Encode puts a space before text (model llama), Decode removes it, at the start and after special
// tokens. The text is valid UTF-8 if the ids come from valid text. Ids beyond the vocabulary have
// no bytes.
func (t *Tokenizer) Decode(ids []int32) string {
	buf := make([]byte, 0, len(ids)*4)
	fresh := true
	for _, id := range ids {
		from := len(buf)
		buf = t.AppendPiece(buf, id)
		if t.isMark(id) {
			fresh = true
			continue
		}
		if t.prefix && fresh && len(buf) > from && buf[from] == ' ' {
			buf = append(buf[:from], buf[from+1:]...)
		}
		fresh = false
	}
	return string(buf)
}

// AppendPiece appends the bytes of one token, which may be part of a character. An id beyond the
// vocabulary has no bytes.
func (t *Tokenizer) AppendPiece(dst []byte, id int32) []byte {
	if id < 0 || int(id) >= t.Size() {
		return dst
	}
	return append(dst, t.vocab.raw[id]...)
}

// Size returns the number of tokens.
func (t *Tokenizer) Size() int { return t.vocab.size() }

// Kind returns the kind of a token, or Unused for an id beyond the vocabulary.
func (t *Tokenizer) Kind(id int32) Kind {
	if id < 0 || int(id) >= t.Size() {
		return Unused
	}
	return t.vocab.kinds[id]
}

// ID finds a piece by its text in the vocabulary, such as "<|im_end|>", "Ġthe" or "▁the".
func (t *Tokenizer) ID(piece string) (int32, bool) {
	id := t.vocab.written.find(piece)
	return id, id >= 0
}

// Piece returns the text of a token in the vocabulary, or "" for an id beyond it.
func (t *Tokenizer) Piece(id int32) string {
	if id < 0 || int(id) >= t.Size() {
		return ""
	}
	return t.vocab.pieces[id]
}

// BOS returns the token that begins a text, if the model has one.
func (t *Tokenizer) BOS() (int32, bool) { return deref(t.bos) }

// EOS returns the token that ends a text, if the model has one.
func (t *Tokenizer) EOS() (int32, bool) { return deref(t.eos) }

func deref(id *int32) (int32, bool) {
	if id == nil {
		return -1, false
	}
	return *id, true
}

// AddBOS reports whether a prompt of this model starts with BOS. Chat templates often write it
// themselves.
func (t *Tokenizer) AddBOS() bool { return t.addBOS }

// AddEOS reports whether a text for this model ends with EOS, as for embeddings.
func (t *Tokenizer) AddEOS() bool { return t.addEOS }

// EndOfGeneration lists the tokens that end an answer, in ascending order: those named in the
// metadata, and those known by their text.
func (t *Tokenizer) EndOfGeneration() []int32 { return slices.Clone(t.ends) }
