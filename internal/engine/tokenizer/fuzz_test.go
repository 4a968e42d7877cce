package tokenizer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/luthier-dev/luthier/internal/tier"
)

// fuzzSeeds are texts that scanners and mergers find difficult.
var fuzzSeeds = []string{
	"", "hello world", "func main() {\r\n\tfmt.Println(\"hi\")\r\n}\n", "\xff\xfe\x00", "\xe2\x80", "e\u0301 é", "日本語、かな", "😶‍🌫️", "I'LL we've 's",
	"1234567 ½ Ⅷ ٣٤٥", "   \t\n  x  ", "<|im_start|>user\n<tool_call><|im_end|>", "▁the ▁▁", "<s></s><unk><0x0A>", strings.Repeat("ab", 100),
}

// FuzzRoundTrip checks that text survives encoding and decoding, in one go and token by token. It
// also checks that text encoded without special tokens contains no control tokens.
//
// Evidence: engine · Tokenizers match real vocabularies
func FuzzRoundTrip(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add(s, true)
		f.Add(s, false)
	}
	toks := []*Tokenizer{mustNew(f, tinyBytes()), mustNew(f, tinyChars())}
	for _, row := range preTokenizers() {
		if c := tinyBytes(); !row.chars {
			c.Pre = row.names[0]
			toks = append(toks, mustNew(f, c))
		}
	}
	f.Fuzz(func(t *testing.T, text string, special bool) {
		for _, tok := range toks {
			checkRoundTrip(t, tok, text, special)
		}
	})
}

// checkRoundTrip checks the property of FuzzRoundTrip.
func checkRoundTrip(t *testing.T, tok *Tokenizer, text string, special bool) {
	t.Helper()
	ids := tok.Encode(text, special)
	want := text
	switch m := tok.model.(type) {
	case *charBPE:
		if strings.Contains(text, "▁") {
			return // the model cannot distinguish it from a space
		}
	case *byteBPE:
		want = representable(m, text)
	}
	if got := tok.Decode(ids); got != want {
		t.Fatalf("Decode(Encode(%q)) is %q", text, got)
	}
	const beyond = 1 << 20 // after an id that is not a token, text continues
	if got := tok.Append([]int32{beyond}, text, special); got[0] != beyond || !tok.prefix && !slices.Equal(got[1:], ids) {
		t.Fatalf("Append gives %v, Encode %v", got, ids)
	}
	var all []byte
	var stream strings.Builder
	d := tok.NewDecoder()
	for _, id := range ids {
		if k := tok.Kind(id); !special && (k == Control || k == Unknown) {
			t.Fatalf("Encode(%q) yields the control token %q", text, tok.Piece(id))
		}
		all = tok.AppendPiece(all, id)
		part := d.Write(id)
		if !utf8.ValidString(part) {
			t.Fatalf("the Decoder returns %q", part)
		}
		stream.WriteString(part)
	}
	stream.WriteString(d.Flush())
	if got, want := stream.String(), string([]rune(string(all))); got != want {
		t.Fatalf("the Decoder returns %q for %q", got, want)
	}
}

// representable returns the form of a text in a vocabulary that does not have all bytes.
func representable(m *byteBPE, text string) string {
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case m.bytes[c] >= 0:
			b.WriteByte(c)
		case c >= utf8.RuneSelf:
			b.WriteString(replacement)
		}
	}
	return b.String()
}

// TestRoundTripOfRealVocabularies checks the property of FuzzRoundTrip on random text with the real
// vocabularies available.
func TestRoundTripOfRealVocabularies(t *testing.T) {
	tier.Normal(t)
	for _, name := range vocabNames(t) {
		t.Run(name, func(t *testing.T) {
			tok := loadVocab(t, name)
			if _, ok := tok.model.(*wordPiece); ok {
				t.Skip("WordPiece does not keep text")
			}
			if m, ok := tok.model.(*byteBPE); ok {
				for b, id := range m.bytes { // control characters may be missing, and bytes that no valid text contains
					if id < 0 && (b == '\t' || b == '\n' || b == '\r' || b >= ' ' && b < 0xC0 || b > 0xC1 && b < 0xF1) {
						t.Errorf("no token for byte %02x", b)
					}
				}
			}
			r := rand.New(rand.NewPCG(5, 6))
			for range 2000 {
				checkRoundTrip(t, tok, randomText(r, unitsOfText), r.IntN(2) == 0)
			}
		})
	}
}

// FuzzConfig builds tokenizers from malformed vocabularies and uses those that New accepts.
func FuzzConfig(f *testing.F) {
	f.Add(uint8(0), "a b ab <s>", "a b", "ab<s>a", []byte{1, 1, 1, 3})
	f.Add(uint8(1), "▁ a ▁a <0x41> \xff", "", "a a\xff", []byte{1, 1, 1, 6, 1})
	f.Add(uint8(2), "▁ a b\n ab", "a b\n▁ a", "ab ab", []byte{1, 4, 1, 5})
	f.Add(uint8(3), "▁the the [UNK]", "", "The théthe", []byte{1, 1, 2})
	f.Add(uint8(0), "<0xZZ> <0x4", "<0xZZ> <0x4", "<0xZZ><0x4", []byte{6, 6})
	models := []string{"gpt2", "llama", "gemma4", "bert", ""}
	f.Fuzz(func(t *testing.T, model uint8, words, merges, text string, kinds []byte) {
		c := Config{Model: models[int(model)%len(models)], Pre: "llama-bpe", Pieces: strings.Split(words, " "), Merges: strings.Split(merges, "\n")}
		for i := range c.Pieces {
			k := Normal
			if i < len(kinds) {
				k = Kind(kinds[i])
			}
			c.Kinds = append(c.Kinds, k)
			c.Scores = append(c.Scores, float32(i%3))
		}
		c.EOS, c.Unknown = new(int32(len(kinds))), new(int32(1))
		tok, err := New(c)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "tokenizer: ") {
				t.Fatalf("the error %q does not say whose it is", err)
			}
			return
		}
		for _, special := range []bool{true, false} {
			ids := tok.Encode(text, special)
			for _, id := range ids {
				if id < 0 || int(id) >= tok.Size() {
					t.Fatalf("Encode yields %d of %d", id, tok.Size())
				}
			}
			tok.Decode(ids)
		}
	})
}

// TestMergeOrders compares both merge algorithms with a naive one.
func TestMergeOrders(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for range 300 {
		symbols := int32(r.IntN(6) + 2)
		table := newPairTable(64)
		next := symbols
		for rank := range r.IntN(40) {
			table.set(r.Int32N(next), r.Int32N(next), merge(rank/2)<<32|merge(next)) // two pairs share a rank
			next++
		}
		word := make([]sym, r.IntN(90)+1)
		for i := range word {
			word[i] = r.Int32N(symbols)
		}
		want := plainMerge(table, slices.Clone(word))
		var s scratch
		if got := table.applyLong(&s, slices.Clone(word)); !slices.Equal(got, want) {
			t.Fatalf("applyLong(%v) is %v, want %v", word, got, want)
		}
		if len(word) <= shortWord {
			if got := table.applyShort(slices.Clone(word)); !slices.Equal(got, want) {
				t.Fatalf("applyShort(%v) is %v, want %v", word, got, want)
			}
		}
	}
}

// plainMerge is a naive implementation of apply.
func plainMerge(t *pairTable, word []sym) []sym {
	for {
		best, at := noMerge>>32, -1
		for i := 0; i+1 < len(word); i++ {
			if m := t.get(word[i], word[i+1]); m != noMerge && m>>32 < best {
				best, at = m>>32, i
			}
		}
		if at < 0 {
			return word
		}
		word[at] = sym(uint32(t.get(word[at], word[at+1])))
		word = slices.Delete(word, at+1, at+2)
	}
}
