package tokenizer

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Kind is the purpose of a token. The numbers are those of the key tokenizer.ggml.token_type.
type Kind uint8

// The kinds of tokens. In a file, 0 and numbers greater than Byte count as Unused.
const (
	Normal      Kind = 1 // a piece of text
	Unknown     Kind = 2 // denotes text that the vocabulary does not have
	Control     Kind = 3 // marks parts of a conversation; text becomes one only on request
	UserDefined Kind = 4 // a piece of text that is always one token
	Unused      Kind = 5 // an entry of the vocabulary without a meaning
	Byte        Kind = 6 // one byte, written <0xHH>
)

// Config is a vocabulary with its rules, as in the metadata of a GGUF file. The id of a special
// token is nil if the file has none.
type Config struct {
	Model  string    // "gpt2", "llama", "gemma4" or "bert"
	Pre    string    // the pre-tokenizer of gpt2, one of PreTokenizers
	Name   string    // general.name; Phi-3's rules for special tokens can only be recognised by it
	Pieces []string  // by id, as written in the file: "Ġthe", "▁the"
	Kinds  []Kind    // by id; nil means all Normal
	Scores []float32 // by id, for llama: pieces with higher scores are merged first
	Merges []string  // "left right", in order of rank, for gpt2 and gemma4

	BOS, EOS, EOT, EOM, Unknown     *int32
	Separator, Pad, Mask            *int32
	FIMPrefix, FIMSuffix, FIMMiddle *int32
	FIMPad, FIMRepo, FIMSeparator   *int32

	AddBOS, AddEOS *bool // nil means the model's default
	SpacePrefix    *bool // llama: put a space before the text; nil means true
	Lowercase      *bool // for bert; nil means true
	StripAccents   *bool // for bert; nil means the value of Lowercase
}

// maxText is the maximum number of bytes in a vocabulary, so that offsets into it fit into 32 bits.
const maxText = math.MaxInt32

// check returns an error if no model can use the vocabulary.
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

// Models lists the supported values of tokenizer.ggml.model.
func Models() []string { return []string{"bert", "gemma4", "gpt2", "llama"} }

// preTokenizer finds the row for a Config. An unknown name is treated as "default", with a warning:
// users' files may be newer than this table, and all pre-tokenizers cut most text the same way.
func (c *Config) preTokenizer(warnings *[]string) (preTokenizer, error) {
	if !slices.Contains(Models(), c.Model) {
		return preTokenizer{}, fmt.Errorf("tokenizer: read vocabulary: unknown model %q; supported are %s", c.Model, strings.Join(Models(), ", "))
	}
	name := c.Pre
	switch c.Model {
	case "gemma4":
		name = "gemma4"
	case "gpt2":
	default:
		return preTokenizer{}, nil
	}
	if len(c.Merges) == 0 {
		return preTokenizer{}, fmt.Errorf("tokenizer: read vocabulary: the model %s needs tokenizer.ggml.merges", c.Model)
	}
	if pre, ok := findPreTokenizer(name); ok {
		return pre, nil
	}
	if c.Pre == "" {
		*warnings = append(*warnings, "no tokenizer.ggml.pre in the file: text is cut as \"default\" does")
	} else if c.Pre != "default" {
		*warnings = append(*warnings, fmt.Sprintf("unknown pre-tokenizer %q: text is cut as \"default\" does; supported are %s",
			c.Pre, strings.Join(PreTokenizers(), ", ")))
	}
	pre, _ := findPreTokenizer("default")
	return pre, nil
}

// marker is a special token that a file names by its id.
type marker struct {
	name string
	id   **int32
}

// markers lists the special tokens that a file can name.
func (c *Config) markers() []marker {
	return []marker{
		{"bos", &c.BOS}, {"eos", &c.EOS}, {"eot", &c.EOT}, {"eom", &c.EOM}, {"unknown", &c.Unknown},
		{"separator", &c.Separator}, {"pad", &c.Pad}, {"mask", &c.Mask},
		{"fim prefix", &c.FIMPrefix}, {"fim suffix", &c.FIMSuffix}, {"fim middle", &c.FIMMiddle},
		{"fim pad", &c.FIMPad}, {"fim repo", &c.FIMRepo}, {"fim separator", &c.FIMSeparator},
	}
}

// named returns the ids of the special tokens that the file names.
func (c *Config) named() (ids []int32) {
	for _, m := range c.markers() {
		if *m.id != nil {
			ids = append(ids, **m.id)
		}
	}
	return ids
}

// checkIDs drops ids of special tokens that are not in the vocabulary.
func (c *Config) checkIDs(warnings *[]string) {
	for _, m := range c.markers() {
		if id := *m.id; id != nil && (*id < 0 || int(*id) >= len(c.Pieces)) {
			*warnings = append(*warnings, fmt.Sprintf("the %s token %d is beyond the vocabulary of %d; it is ignored", m.name, *id, len(c.Pieces)))
			*m.id = nil
		}
	}
}

// sides determines the special tokens that remove the white space next to them, which GGUF files do
// not record. The rules are those of the models' tokenizer.json.
func (c *Config) sides(v *vocab) func(id int32) special {
	name := strings.ToLower(c.Name)
	phi3 := strings.Contains(name, "phi-3") || strings.Contains(name, "phi3")
	leftMask := ""
	switch {
	case strings.HasPrefix(c.Pre, "jina-v2-"):
		leftMask = "<mask>"
	case strings.Contains(name, "modern-bert"):
		leftMask = "[MASK]"
	}
	return func(id int32) special {
		p := v.pieces[id]
		return special{
			left:  p == leftMask,
			right: phi3 && p != "<unk>" && p != "<s>" && p != "<|endoftext|>",
		}
	}
}
