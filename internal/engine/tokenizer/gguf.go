package tokenizer

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

// FromGGUF builds the tokenizer that a GGUF file describes in its keys tokenizer.ggml.*. It keeps
// no reference to the file.
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
	var kinds []int64
	err := errors.Join(
		array(f, base+"tokens", "strings", f.Strings, &c.Pieces),
		array(f, base+"merges", "strings", f.Strings, &c.Merges),
		array(f, base+"scores", "numbers", f.Floats, &c.Scores),
		array(f, base+"token_type", "integers", f.Ints, &kinds),
	)
	if err != nil {
		return c, err
	}
	for _, k := range kinds {
		if k < int64(Normal) || k > int64(Byte) {
			k = int64(Unused)
		}
		c.Kinds = append(c.Kinds, Kind(k))
	}
	c.defaults()
	for _, k := range []struct {
		key string
		id  **int32
	}{
		{"bos", &c.BOS}, {"eos", &c.EOS}, {"eot", &c.EOT}, {"eom", &c.EOM}, {"unknown", &c.Unknown},
		{"seperator", &c.Separator}, {"padding", &c.Pad}, {"mask", &c.Mask}, // sic
		{"prefix", &c.FIMPrefix}, {"suffix", &c.FIMSuffix}, {"middle", &c.FIMMiddle}, // the old names of the next three
		{"fim_pre", &c.FIMPrefix}, {"fim_suf", &c.FIMSuffix}, {"fim_mid", &c.FIMMiddle},
		{"fim_pad", &c.FIMPad}, {"fim_rep", &c.FIMRepo}, {"fim_sep", &c.FIMSeparator},
	} {
		if n, ok := f.Uint(base + k.key + "_token_id"); ok {
			v := int32(min(n, math.MaxInt32))
			*k.id = &v
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

// array reads an array if there is one under the key.
func array[T any](f *gguf.File, key, of string, get func(string) ([]T, bool), out *[]T) error {
	values, ok := get(key)
	if !ok && slices.Contains(f.Keys(), key) {
		return fmt.Errorf("tokenizer: read vocabulary: %s is not an array of %s", key, of)
	}
	*out = values
	return nil
}

// defaults sets the special tokens if the file has none: those of the first models of each
// kind.
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
