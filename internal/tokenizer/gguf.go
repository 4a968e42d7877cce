package tokenizer

import (
	"fmt"
	"math"

	"github.com/luthier-dev/luthier/internal/gguf"
)

// FromGGUF makes the tokenizer that a GGUF file describes in its keys tokenizer.ggml.*. It keeps nothing of the file.
func FromGGUF(f *gguf.File) (*Tokenizer, error) {
	c, err := ReadConfig(f)
	if err != nil {
		return nil, err
	}
	return New(c)
}

// ReadConfig reads the keys of a GGUF file that describe its vocabulary.
func ReadConfig(f *gguf.File) (Config, error) {
	const base = "tokenizer.ggml."
	var c Config
	var ok bool
	if c.Model, ok = f.String(base + "model"); !ok {
		return c, fmt.Errorf("tokenizer: read vocabulary: the file has no %smodel", base)
	}
	c.Pre, _ = f.String(base + "pre")
	c.Name, _ = f.String("general.name")
	c.Pieces, _ = f.Strings(base + "tokens")
	c.Merges, _ = f.Strings(base + "merges")
	c.Scores, _ = f.Floats(base + "scores")
	kinds, _ := f.Ints(base + "token_type")
	for _, k := range kinds {
		if k < int64(Normal) || k > int64(Byte) {
			k = int64(Unused)
		}
		c.Kinds = append(c.Kinds, Kind(k))
	}
	c.defaults()
	for key, id := range map[string]**int32{
		"bos_token_id": &c.BOS, "eos_token_id": &c.EOS, "eot_token_id": &c.EOT, "eom_token_id": &c.EOM,
		"unknown_token_id": &c.Unknown,
		"fim_pad_token_id": &c.FIMPad, "fim_rep_token_id": &c.FIMRepo, "fim_sep_token_id": &c.FIMSeparator,
	} {
		if n, ok := f.Uint(base + key); ok {
			v := int32(min(n, math.MaxInt32))
			*id = &v
		}
	}
	for key, flag := range map[string]**bool{
		"add_bos_token": &c.AddBOS, "add_eos_token": &c.AddEOS, "add_space_prefix": &c.SpacePrefix,
		"normalizer.lowercase": &c.Lowercase, "normalizer.strip_accents": &c.StripAccents,
	} {
		if v, ok := f.Bool(base + key); ok {
			*flag = &v
		}
	}
	return c, nil
}

// defaults are the special tokens of files that do not say: those of the first models of their kind.
func (c *Config) defaults() {
	id := func(n int32) *int32 {
		if int(n) >= len(c.Pieces) {
			return nil
		}
		return &n
	}
	switch c.Model {
	case "llama":
		c.Unknown, c.BOS, c.EOS = id(0), id(1), id(2)
	case "bert":
		c.Unknown, c.BOS = id(100), id(101)
	}
}
