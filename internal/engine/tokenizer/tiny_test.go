package tokenizer

import "testing"

// tinyBytes returns a small byte-level vocabulary: the 256 bytes, a few merges, and special tokens.
func tinyBytes() Config {
	a := newAlphabet()
	c := Config{Model: "gpt2", Pre: "qwen2"}
	for _, r := range a.runes {
		c.piece(string(r), Normal)
	}
	for _, m := range [][2]string{{"h", "e"}, {"l", "l"}, {"he", "ll"}, {"hell", "o"}, {"Ġ", "w"}, {"o", "r"}, {"Ġw", "or"}, {"Ġwor", "l"}, {"Ġworl", "d"},
		{"Ċ", "Ċ"}, {"Ġ", "Ġ"}, {"ĠĠ", "ĠĠ"}, {"Ã", "©"}, {"1", "2"}} {
		c.piece(m[0]+m[1], Normal)
		c.Merges = append(c.Merges, m[0]+" "+m[1])
	}
	c.EOS = new(c.piece("<|im_end|>", Control))
	c.piece("<|im_start|>", Control)
	c.piece("<tool>", UserDefined)
	c.piece("<tool_call>", UserDefined)
	return c
}

// tinyChars returns a small SentencePiece vocabulary with byte tokens, user-defined tokens and
// scores in order of id.
func tinyChars() Config {
	c := Config{Model: "llama"}
	c.Unknown, c.BOS, c.EOS = new(c.piece("<unk>", Unknown)), new(c.piece("<s>", Control)), new(c.piece("</s>", Control))
	for b := range 256 {
		const digits = "0123456789ABCDEF"
		c.piece("<0x"+digits[b>>4:b>>4+1]+digits[b&15:b&15+1]+">", Byte)
	}
	for _, p := range []string{"▁t", "he", "▁the", "▁▁", "ll", "hell", "hello", "▁hello", "▁", "t", "h", "e", "l", "o", "é", "\n", "日", "日本"} {
		c.piece(p, Normal)
	}
	c.piece("<|user|>", Control)
	c.piece("[tool]", UserDefined)
	c.Scores = make([]float32, len(c.Pieces))
	for id := range c.Scores {
		c.Scores[id] = -float32(id)
	}
	return c
}

// piece adds a piece and returns its id.
func (c *Config) piece(p string, k Kind) int32 {
	c.Pieces = append(c.Pieces, p)
	c.Kinds = append(c.Kinds, k)
	return int32(len(c.Pieces) - 1)
}

// mustNew builds a tokenizer from a Config that must be valid.
func mustNew(tb testing.TB, c Config) *Tokenizer {
	tb.Helper()
	t, err := New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// written returns the pieces of ids as they are written in the vocabulary.
func written(t *Tokenizer, ids []int32) []string {
	var out []string
	for _, id := range ids {
		out = append(out, t.Piece(id))
	}
	return out
}
