package bpe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/luthier-dev/luthier/internal/atomicfile"
	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
)

// Pre is the name of the pre-tokenizer, as in the key tokenizer.ggml.pre.
const Pre = "gpt-2"

// The control tokens to which keys of a GGUF file refer by id, if the vocabulary has them.
const (
	endOfText = "<|endoftext|>" // begins texts, and pads them
	endOfTurn = "<|im_end|>"    // ends an answer
)

// A Vocab is a vocabulary as stored in GGUF files. The first ids are the 256 bytes in order, then
// the merged tokens in the order in which they were learned, then the special tokens in the given
// order.
type Vocab struct {
	Tokens []string         `json:"tokens"` // by id, in GPT-2's spelling: "Ġfunc"
	Kinds  []tokenizer.Kind `json:"kinds"`  // by id
	Merges []string         `json:"merges"` // "left right", in order of rank
}

// Config converts the vocabulary to the configuration of package tokenizer.
func (v *Vocab) Config() tokenizer.Config {
	no := false
	return tokenizer.Config{
		Model: "gpt2", Pre: Pre, Pieces: v.Tokens, Kinds: v.Kinds, Merges: v.Merges,
		BOS: v.first(endOfText), EOS: v.first(endOfTurn, endOfText), Pad: v.first(endOfText), AddBOS: &no, AddEOS: &no,
	}
}

// Tokenizer returns a tokenizer for the vocabulary.
func (v *Vocab) Tokenizer() (*tokenizer.Tokenizer, error) { return tokenizer.New(v.Config()) }

// first returns the id of the first of the given special tokens that the vocabulary has.
func (v *Vocab) first(texts ...string) *int32 {
	for _, text := range texts {
		for id := len(v.Tokens) - 1; id >= 0; id-- {
			if v.Tokens[id] == text {
				found := int32(id)
				return &found
			}
		}
	}
	return nil
}

// Set sets the keys tokenizer.ggml.* of a GGUF file.
func (v *Vocab) Set(w *gguf.Writer) {
	const base = "tokenizer.ggml."
	kinds := make([]int32, len(v.Kinds))
	for i, k := range v.Kinds {
		kinds[i] = int32(k)
	}
	w.SetString(base+"model", "gpt2")
	w.SetString(base+"pre", Pre)
	w.SetStrings(base+"tokens", v.Tokens)
	w.Set(base+"token_type", kinds)
	w.SetStrings(base+"merges", v.Merges)
	if id := v.first(endOfText); id != nil {
		w.SetUint32(base+"bos_token_id", uint32(*id))
		w.SetUint32(base+"padding_token_id", uint32(*id))
	}
	if id := v.first(endOfTurn, endOfText); id != nil {
		w.SetUint32(base+"eos_token_id", uint32(*id))
	}
	w.SetBool(base+"add_bos_token", false)
	w.SetBool(base+"add_eos_token", false)
}

// Parse reads what Save wrote. For any data, it returns either an error or a vocabulary from which
// a Tokenizer can be made.
func Parse(data []byte) (*Vocab, error) {
	var v Vocab
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("bpe: parse vocabulary: %w", err)
	}
	return v.checked()
}

func (v *Vocab) checked() (*Vocab, error) {
	if len(v.Kinds) != len(v.Tokens) {
		return nil, fmt.Errorf("bpe: parse vocabulary: %d kinds for %d tokens", len(v.Kinds), len(v.Tokens))
	}
	if _, err := v.Tokenizer(); err != nil {
		return nil, fmt.Errorf("bpe: parse vocabulary: %w", err)
	}
	return v, nil
}

// Load reads a file that Save wrote, or the vocabulary that [Vocab.Set] wrote to a GGUF file.
func Load(path string) (*Vocab, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("bpe: load vocabulary: %w; `train bpe` makes one", err)
	}
	parse := Parse
	if bytes.HasPrefix(data, []byte("GGUF")) {
		parse = parseGGUF
	}
	v, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", err, path)
	}
	return v, nil
}

// parseGGUF reads the keys that Set sets.
func parseGGUF(data []byte) (*Vocab, error) {
	f, err := gguf.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("bpe: parse vocabulary: %w", err)
	}
	c, err := tokenizer.ReadConfig(f)
	if err != nil {
		return nil, fmt.Errorf("bpe: parse vocabulary: %w", err)
	}
	if c.Pre != Pre {
		return nil, fmt.Errorf("bpe: parse vocabulary: its pre-tokenizer is %q, not %q", c.Pre, Pre)
	}
	v := Vocab{Tokens: c.Pieces, Kinds: c.Kinds, Merges: c.Merges}
	return v.checked()
}

// LoadVocab reads a file as Load does and returns its tokenizer.
func LoadVocab(path string) (*tokenizer.Tokenizer, error) {
	v, err := Load(path)
	if err != nil {
		return nil, err
	}
	return v.Tokenizer()
}

// Save writes the vocabulary as JSON. The file gets its name only when it is complete.
func (v *Vocab) Save(path string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("bpe: save vocabulary: %w", err)
	}
	if err := atomicfile.WriteBytes(path, atomicfile.Options{Perm: 0o644, Sync: true}, b.Bytes()); err != nil {
		return fmt.Errorf("bpe: save vocabulary: %w", err)
	}
	return nil
}
