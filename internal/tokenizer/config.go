package tokenizer

import (
	"fmt"
	"math"
)

// Kind is what a token is for, numbered as in the key tokenizer.ggml.token_type.
type Kind uint8

// The kinds of tokens. A file's 0 and what is beyond Byte count as Unused.
const (
	Normal      Kind = 1 // a piece of text
	Unknown     Kind = 2 // stands for what the vocabulary lacks
	Control     Kind = 3 // frames the conversation; text is never read as one unless asked to
	UserDefined Kind = 4 // a piece of text that is always one token
	Unused      Kind = 5 // a place in the table without a meaning
	Byte        Kind = 6 // one byte, written <0xHH>
)

// Config is a vocabulary and the rules for it, as the metadata of a GGUF file have them. A special token's id is nil when
// the file has none.
type Config struct {
	Model  string    // "gpt2", "llama", "gemma4" or "bert"
	Pre    string    // the pre-tokenizer of gpt2, one of PreTokenizers
	Name   string    // general.name; Phi-3's special tokens have rules that files tell in no other way
	Pieces []string  // by id, as written in the file: "Ġthe", "▁the"
	Kinds  []Kind    // by id; nil: all Normal
	Scores []float32 // by id, for llama: pieces with higher scores are merged first
	Merges []string  // "left right", in order of rank, for gpt2 and gemma4

	BOS, EOS, EOT, EOM, Unknown   *int32
	FIMPad, FIMRepo, FIMSeparator *int32

	AddBOS, AddEOS *bool // nil: as the model usually does
	SpacePrefix    *bool // llama: text starts with a space that is not there; nil: it does
	Lowercase      *bool // bert: nil: it does
	StripAccents   *bool // bert: nil: if it lower-cases
}

// maxText bounds the bytes of a vocabulary, so that offsets into it fit 32 bits.
const maxText = math.MaxInt32

// check finds what makes a vocabulary unusable whatever its model.
func (c *Config) check() error {
	n := len(c.Pieces)
	if n == 0 {
		return fmt.Errorf("tokenizer: read vocabulary: it is empty; the file needs tokenizer.ggml.tokens")
	}
	if n > maxText/8 {
		return fmt.Errorf("tokenizer: read vocabulary: %d pieces are too many", n)
	}
	if c.Kinds != nil && len(c.Kinds) != n {
		return fmt.Errorf("tokenizer: read vocabulary: %d token types for %d pieces", len(c.Kinds), n)
	}
	if c.Scores != nil && len(c.Scores) != n {
		return fmt.Errorf("tokenizer: read vocabulary: %d scores for %d pieces", len(c.Scores), n)
	}
	for id, score := range c.Scores {
		if score != score {
			return fmt.Errorf("tokenizer: read vocabulary: the score of piece %d (%.40q) is not a number", id, c.Pieces[id])
		}
	}
	total := 0
	for _, p := range c.Pieces {
		if total += len(p); total > maxText/2 {
			return fmt.Errorf("tokenizer: read vocabulary: the pieces have more than %d bytes", maxText/2)
		}
	}
	return nil
}
