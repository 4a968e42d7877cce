package tokenizer

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/luthier-dev/luthier/internal/tier"
)

func TestEncode(t *testing.T) {
	for _, c := range []struct {
		name    string
		config  Config
		text    string
		special bool
		want    []string
	}{
		{"merges by rank", tinyBytes(), "hello world", false, []string{"hello", "Ġworld"}},
		{"partial merges", tinyBytes(), "hell worse", false, []string{"hell", "Ġwor", "s", "e"}},
		{"control tokens are text", tinyBytes(), "<|im_end|>", false,
			[]string{"<", "|", "i", "m", "_", "e", "n", "d", "|", ">"}},
		{"control tokens asked for", tinyBytes(), "a<|im_end|>\n\n<|im_start|>hello", true,
			[]string{"a", "<|im_end|>", "ĊĊ", "<|im_start|>", "hello"}},
		{"user-defined always, longest first", tinyBytes(), "<tool_call><tool><tool_", false,
			[]string{"<tool_call>", "<tool>", "<", "t", "o", "o", "l", "_"}},
		{"bytes that are no UTF-8", tinyBytes(), "\xff\xc3hello", false, []string{"ÿ", "Ã", "hello"}},
		{"characters of two bytes", tinyBytes(), "é", false, []string{"Ã©"}},
		{"spaces but the last", tinyBytes(), "     world", false, []string{"ĠĠĠĠ", "Ġworld"}},

		{"by score, with a space before", tinyChars(), "the hello", false, []string{"▁the", "▁hello"}},
		{"bytes of what has no piece", tinyChars(), "é🦙", false, []string{"▁", "é", "<0xF0>", "<0x9F>", "<0xA6>", "<0x99>"}},
		{"a space after special tokens", tinyChars(), "<s>the<|user|>the</s>", true,
			[]string{"<s>", "▁the", "<|user|>", "▁the", "</s>"}},
		{"byte tokens are text", tinyChars(), "<0x41>", false,
			[]string{"▁", "<0x3C>", "<0x30>", "<0x78>", "<0x34>", "<0x31>", "<0x3E>"}},
		{"user-defined in text", tinyChars(), "the[tool]hello", false, []string{"▁the", "[tool]", "▁hello"}},
		{"characters without case", tinyChars(), "日本\n", false, []string{"▁", "日本", "\n"}},
		{"nothing", tinyChars(), "", true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			tok := mustNew(t, c.config)
			ids := tok.Encode(c.text, c.special)
			if diff := cmp.Diff(c.want, written(tok, ids), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("Encode(%q) (-want +got):\n%s", c.text, diff)
			}
			if got := tok.Decode(ids); got != c.text {
				t.Errorf("Decode gives %q, want %q", got, c.text)
			}
		})
	}
}

// TestWholeWords checks that a piece that is not a result of merges is used only if the
// pre-tokenizer specifies that.
func TestWholeWords(t *testing.T) {
	for pre, want := range map[string][]string{"qwen2": {"x", "y"}, "llama-bpe": {"xy"}} {
		c := tinyBytes()
		c.Pre = pre
		c.piece("xy", Normal)
		tok := mustNew(t, c)
		for range 2 { // the second time the tokens come from the cache
			if diff := cmp.Diff(want, written(tok, tok.Encode("xy", false))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", pre, diff)
			}
		}
	}
}

// TestSwallowing checks special tokens that remove the white space next to them.
func TestSwallowing(t *testing.T) {
	c := tinyChars()
	c.Name = "Phi-3-mini"
	tok := mustNew(t, c)
	want := []string{"<|user|>", "▁the", "<s>", "▁▁", "hello"}
	if diff := cmp.Diff(want, written(tok, tok.Encode("<|user|>\n\t the<s> hello", true))); diff != "" {
		t.Errorf("Phi-3 (-want +got):\n%s", diff)
	}

	c = tinyBytes()
	c.Name = "modern-bert"
	c.piece("[MASK]", Control)
	tok = mustNew(t, c)
	if diff := cmp.Diff([]string{"a", "[MASK]", "Ġ", "b"}, written(tok, tok.Encode("a \n[MASK] b", true))); diff != "" {
		t.Errorf("modern-bert (-want +got):\n%s", diff)
	}
}

func TestRankedChars(t *testing.T) {
	c := Config{Model: "gemma4", Pre: "whatever"}
	for _, p := range []string{"▁", "a", "b", "\n", "\n\n", "▁a", "ab", "<0xC3>", "<0xA9>"} {
		k := Normal
		if strings.HasPrefix(p, "<0x") {
			k = Byte
		}
		c.piece(p, k)
	}
	c.BOS = new(c.piece("<bos>", Control))
	c.Merges = []string{"a b", "▁ a"}
	c.AddBOS = new(false)
	tok := mustNew(t, c)
	ids := tok.Encode(" a ab\n\né\n\n\n", false)
	want := []string{"▁a", "▁", "ab", "\n\n", "<0xC3>", "<0xA9>", "\n", "\n", "\n"}
	if diff := cmp.Diff(want, written(tok, ids)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := tok.Decode(ids); got != " a ab\n\né\n\n\n" {
		t.Errorf("Decode gives %q", got)
	}
	if !tok.AddBOS() {
		t.Error("Gemma 4 needs BOS even if its file says otherwise")
	}
}

func TestMetadata(t *testing.T) {
	c := tinyBytes()
	c.BOS, c.AddBOS = new(int32(3)), new(true)
	tok := mustNew(t, c)
	if id, ok := tok.BOS(); id != 3 || !ok || !tok.AddBOS() {
		t.Errorf("BOS is %d, %t, added %t", id, ok, tok.AddBOS())
	}
	end, ok := tok.ID("<|im_end|>")
	if eos, has := tok.EOS(); !ok || !has || eos != end || tok.AddEOS() {
		t.Errorf("EOS is %d, %t, want %d", eos, has, end)
	}
	if _, ok := tok.ID("no such piece"); ok {
		t.Error("found a piece that is not there")
	}
	if k := tok.Kind(end); k != Control {
		t.Errorf("Kind(%d) is %d", end, k)
	}
	for _, id := range []int32{-1, int32(tok.Size()), math.MaxInt32, math.MinInt32} {
		if k, p, b := tok.Kind(id), tok.Piece(id), tok.AppendPiece(nil, id); k != Unused || p != "" || b != nil {
			t.Errorf("id %d beyond the vocabulary is %d %q %q", id, k, p, b)
		}
	}
	// If the file does not specify it, llama has a BOS and gpt2 does not.
	if !mustNew(t, tinyChars()).AddBOS() || mustNew(t, tinyBytes()).AddBOS() {
		t.Error("AddBOS by default")
	}
}

func TestEndOfGeneration(t *testing.T) {
	for _, c := range []struct {
		name   string
		pieces []string
		eos    string
		want   []string
	}{
		{"ChatML", []string{"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|file_sep|>", "<|fim_pad|>", "<|fim_prefix|>"}, "<|im_end|>",
			[]string{"<|endoftext|>", "<|im_end|>", "<|file_sep|>", "<|fim_pad|>"}},
		{"Llama 3", []string{"<|eot_id|>", "<|eom_id|>", "<|start_header_id|>", "<|end_of_text|>"}, "<|eot_id|>",
			[]string{"<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"}},
		{"gpt-oss", []string{"<|return|>", "<|call|>", "<|end|>", "<|start|>", "<|channel|>"}, "<|return|>", []string{"<|return|>", "<|call|>"}},
		{"Phi-3", []string{"<|end|>", "<|user|>", "<|endoftext|>"}, "<|endoftext|>", []string{"<|end|>", "<|endoftext|>"}},
		{"Gemma 4", []string{"<eos>", "<turn|>", "</s>", "<|tool_response>"}, "<eos>", []string{"<eos>", "<turn|>", "<|tool_response>"}},
		{"only metadata", []string{"[over]", "[x]"}, "[over]", []string{"[over]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := tinyBytes()
			config.Pieces, config.Kinds = config.Pieces[:270], config.Kinds[:270]
			for _, p := range c.pieces {
				if id := config.piece(p, Control); p == c.eos {
					config.EOS = &id
				}
			}
			tok := mustNew(t, config)
			if diff := cmp.Diff(c.want, written(tok, tok.EndOfGeneration())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*Config)
		want string
	}{
		{"empty", func(c *Config) { c.Pieces = nil }, "tokenizer: read vocabulary: it is empty"},
		{"model", func(c *Config) { c.Model = "t5" }, `unknown model "t5"; supported are bert, gemma4, gpt2, llama`},
		{"twice", func(c *Config) { c.Pieces[7] = c.Pieces[5] }, "is there twice, as ids 5 and 7"},
		{"types", func(c *Config) { c.Kinds = c.Kinds[1:] }, "token types for"},
		{"scores", func(c *Config) { c.Scores = []float32{1} }, "1 scores for"},
		{"not a number", func(c *Config) {
			c.Scores = make([]float32, len(c.Pieces))
			c.Scores[3] = float32(math.NaN())
		}, "the score of piece 3"},
		{"no scores", func(c *Config) { c.Model = "llama" }, "needs tokenizer.ggml.scores"},
		{"no merges", func(c *Config) { c.Merges = nil }, "needs tokenizer.ggml.merges"},
		{"one part", func(c *Config) { c.Merges[2] = "hell" }, `merge 2 ("hell") is not two pieces`},
		{"no part", func(c *Config) { c.Merges[0] = "" }, `merge 0 ("") is not two pieces`},
		{"none known", func(c *Config) { c.Merges = []string{"foo bar", "x yz"} }, "none of the 2 merges"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := tinyBytes()
			c.edit(&config)
			_, err := New(config)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want … %s …", err, c.want)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	c := tinyBytes()
	if w := mustNew(t, c).Warnings(); w != nil {
		t.Errorf("warnings without a reason: %q", w)
	}
	c.Pre = "of-next-year"
	c.Merges = append(c.Merges, "un known")
	c.EOS = new(int32(len(c.Pieces)))
	c.Pieces[255] = ""
	tok := mustNew(t, c)
	var all []string
	for _, w := range tok.Warnings() {
		all = append(all, strings.SplitAfter(w, ";")[0])
	}
	slices.Sort(all)
	want := []string{
		"1 of 15 merges name pieces that the vocabulary lacks;",
		fmt.Sprintf("the eos token %d is beyond the vocabulary of %d;", len(c.Pieces), len(c.Pieces)),
		`unknown pre-tokenizer "of-next-year": text is cut as "default" does;`,
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := written(tok, tok.Encode("hello", false)); len(got) != 1 {
		t.Errorf("hello is %q", got)
	}
	if _, ok := tok.EOS(); ok {
		t.Error("an EOS beyond the vocabulary")
	}
}

// TestConcurrent encodes the same texts from many goroutines; the cache of words is shared.
func TestConcurrent(t *testing.T) {
	for _, c := range []Config{tinyBytes(), tinyChars()} {
		alone, shared := mustNew(t, c), mustNew(t, c)
		var texts []string
		var want [][]int32
		for i := range 200 {
			texts = append(texts, strings.Repeat(fmt.Sprintf("hello the%d world\n", i%37), i%5+1))
			want = append(want, alone.Encode(texts[i], true))
		}
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for k := range texts {
					i := (k*7 + g*31) % len(texts)
					if got := shared.Encode(texts[i], true); !slices.Equal(got, want[i]) {
						t.Errorf("Encode(%q) gives %v, want %v", texts[i], got, want[i])
						return
					}
				}
			})
		}
		wg.Wait()
	}
}

// TestLongRuns encodes texts on which slow algorithms take quadratic time: long runs of one
// character or pattern, for every pre-tokenizer. It fails by timing out.
func TestLongRuns(t *testing.T) {
	tier.Normal(t)
	patterns := []string{"a", "A", " ", "\n", " \n", "\r\n", "1", "٣", "!", "é", "我", "aA", "我A", "ʰA", "\u0301", "'s", "a b ", " \u3000", "\xff", "<", "<|im_", "hello", "\t \u00a0x"}
	const size = 10_000
	var configs []Config
	for _, row := range preTokenizers() {
		c := tinyBytes()
		if row.chars {
			c = tinyChars()
			c.Model, c.Merges = "gpt2", []string{"h e", "l l", "he ll"}
		}
		c.Pre = row.names[0]
		configs = append(configs, c)
	}
	configs = append(configs, tinyChars())
	for _, c := range configs {
		tok := mustNew(t, c)
		for _, p := range patterns {
			text := strings.Repeat(p, size/len(p))
			if got := tok.Decode(tok.Encode(text, true)); got != text {
				t.Errorf("%s %s: a run of %q is not the same after Decode", c.Model, c.Pre, p)
			}
		}
	}
}
