package tokenizer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/devdata"
	"github.com/luthier-dev/luthier/internal/tier"
)

// TestPlainTextNeverWritesAControlToken: whatever type a file gives to a token that ends a turn or
// frames code to be filled in, text from outside does not become that token, and a prompt can
// still write it.
//
// Evidence: engine · Text from outside cannot write a control token
func TestPlainTextNeverWritesAControlToken(t *testing.T) {
	groups := fillTexts()
	texts := slices.Concat(append(groups[:], endTexts())...)
	for _, model := range []string{"gpt2", "llama", "gemma4"} {
		for _, kind := range []Kind{Normal, Control, UserDefined, Unused} {
			for _, text := range texts {
				tok, id := oneToken(t, model, text, kind)
				for _, around := range []string{"%s", "ab%sab", " %s ", "%[1]s%[1]s", "a\n%s\n", "<%s>"} {
					in := fmt.Sprintf(around, text)
					if slices.Contains(tok.Encode(in, false), id) {
						t.Fatalf("%s: %q of kind %d is written by the plain text %q", model, text, kind, in)
					}
					if !slices.Contains(tok.Encode(in, true), id) {
						t.Fatalf("%s: %q of kind %d is not written by a prompt with %q", model, text, kind, in)
					}
				}
			}
		}
	}
}

// oneToken builds a vocabulary with a token of the text and kind.
func oneToken(t *testing.T, model, text string, kind Kind) (*Tokenizer, int32) {
	c := tinyBytes()
	if model != "gpt2" {
		c = tinyChars()
		c.Model = model
	}
	if model == "gemma4" {
		c.Scores, c.Merges = nil, []string{"h e"}
	}
	id := int32(slices.Index(c.Pieces, text))
	if id >= 0 {
		c.Kinds[id] = kind
	} else {
		id = c.piece(text, kind)
	}
	if c.Scores != nil {
		c.Scores = append(c.Scores, make([]float32, len(c.Pieces)-len(c.Scores))...)
	}
	return mustNew(t, c), id
}

// TestNamedTokensAreControlTokens: a token that the metadata names is a control token even if its
// type says user-defined; other user-defined tokens stay text.
func TestNamedTokensAreControlTokens(t *testing.T) {
	for i, m := range new(Config).markers() {
		c := tinyBytes()
		id, other := c.piece("<|mark|>", UserDefined), c.piece("<think>", UserDefined)
		*c.markers()[i].id = &id
		tok := mustNew(t, c)
		if got := tok.Encode("a<|mark|><think>", false); slices.Contains(got, id) || !slices.Contains(got, other) {
			t.Errorf("%s: the text is %q", m.name, written(tok, got))
		}
	}
	for _, key := range strings.Fields("fim_pre fim_suf fim_mid prefix suffix middle padding mask seperator eot") {
		c := tinyBytes()
		id := c.piece("<|mark|>", UserDefined)
		keys := keysOf(c)
		keys["tokenizer.ggml."+key+"_token_id"] = uint32(id)
		tok, err := FromGGUF(file(t, keys))
		if err != nil {
			t.Fatal(err)
		}
		if tok.Kind(id) != Control {
			t.Errorf("%s_token_id names a token of kind %d", key, tok.Kind(id))
		}
	}
}

// TestRealVocabulariesKeepControlTokensOut: random texts of control tokens, of their halves and of
// words never become a control token, and come back unchanged.
func TestRealVocabulariesKeepControlTokensOut(t *testing.T) {
	tier.Normal(t)
	groups := fillTexts()
	for _, name := range vocabNames(t) {
		tok := loadVocab(t, name)
		var parts []string
		for id := range int32(tok.Size()) {
			if k := tok.Kind(id); k == Control || k == UserDefined && len(parts) < 400 {
				parts = append(parts, tok.Piece(id))
			}
		}
		for _, texts := range append(groups[:], endTexts()) {
			parts = append(parts, texts...)
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 2000 {
			var b strings.Builder
			for range 1 + r.IntN(5) {
				p := parts[r.IntN(len(parts))]
				switch r.IntN(6) {
				case 0:
					p = p[:r.IntN(len(p)+1)]
				case 1:
					p = p[r.IntN(len(p)+1):]
				case 2:
					p = []string{" ", "\n", "a", "word ", "<|"}[r.IntN(5)]
				}
				b.WriteString(p)
			}
			text := strings.ToValidUTF8(b.String(), "")
			for _, id := range tok.Encode(text, false) {
				if tok.Kind(id) == Control && tok.Piece(id) != "[UNK]" { // which bert writes for what it does not know
					t.Fatalf("%s: %q becomes the control token %q", name, text, tok.Piece(id))
				}
			}
			if m, ok := tok.model.(*byteBPE); ok && representable(m, text) == text {
				if back := tok.Decode(tok.Encode(text, false)); back != text {
					t.Fatalf("%s: %q comes back as %q", name, text, back)
				}
			}
		}
	}
}

// TestFillTokensOfQwen: the vocabulary qwen2 calls its tokens for code to be filled in
// user-defined. Plain text does not write them, and its tokens for tool calls and thinking stay
// single tokens.
func TestFillTokensOfQwen(t *testing.T) {
	if devdata.Sampled(t, vocabPath(t, "qwen2")) {
		t.Skip("the vocabulary among the samples has none of these tokens")
	}
	tok := loadVocab(t, "qwen2")
	for _, text := range []string{"<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>"} {
		id, ok := tok.ID(text)
		plain, prompt := tok.Encode("x"+text+"y", false), tok.Encode("x"+text+"y", true)
		if !ok || slices.Contains(plain, id) || !slices.Contains(prompt, id) || tok.Decode(plain) != "x"+text+"y" {
			t.Errorf("%s: plain %q, prompt %q", text, written(tok, plain), written(tok, prompt))
		}
	}
	for _, text := range []string{"<tool_call>", "</tool_call>", "<think>", "</think>"} {
		if got := tok.Encode(text, false); len(got) != 1 || tok.Kind(got[0]) != UserDefined {
			t.Errorf("%s: %q", text, written(tok, got))
		}
	}
}
