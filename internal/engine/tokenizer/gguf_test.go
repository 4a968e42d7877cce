package tokenizer

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

// file returns a GGUF file with the keys of a vocabulary.
func file(t *testing.T, keys map[string]any) *gguf.File {
	t.Helper()
	var w gguf.Writer
	for key, value := range keys {
		w.Set(key, value)
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// keysOf returns the keys that describe a Config.
func keysOf(c Config) map[string]any {
	kinds := make([]int32, len(c.Kinds))
	for i, k := range c.Kinds {
		kinds[i] = int32(k)
	}
	keys := map[string]any{
		"tokenizer.ggml.model":      c.Model,
		"tokenizer.ggml.tokens":     c.Pieces,
		"tokenizer.ggml.token_type": kinds,
	}
	if c.Pre != "" {
		keys["tokenizer.ggml.pre"] = c.Pre
	}
	if c.Scores != nil {
		keys["tokenizer.ggml.scores"] = c.Scores
	}
	if c.Merges != nil {
		keys["tokenizer.ggml.merges"] = c.Merges
	}
	return keys
}

func TestFromGGUF(t *testing.T) {
	keys := keysOf(tinyBytes())
	keys["tokenizer.ggml.bos_token_id"] = uint32(1)
	keys["tokenizer.ggml.eos_token_id"] = uint32(2)
	keys["tokenizer.ggml.eot_token_id"] = uint32(3)
	keys["tokenizer.ggml.add_bos_token"] = true
	keys["tokenizer.ggml.add_eos_token"] = true
	f := file(t, keys)
	tok, err := FromGGUF(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil { // the tokenizer keeps no reference to it
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"hello", "Ġworld", "<|im_end|>"}, written(tok, tok.Encode("hello world<|im_end|>", true))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	bos, _ := tok.BOS()
	eos, _ := tok.EOS()
	end, _ := tok.ID("<|im_end|>")
	if bos != 1 || eos != 2 || !tok.AddBOS() || !tok.AddEOS() {
		t.Errorf("BOS %d %t, EOS %d %t", bos, tok.AddBOS(), eos, tok.AddEOS())
	}
	if diff := cmp.Diff([]int32{2, 3, end}, tok.EndOfGeneration()); diff != "" {
		t.Errorf("EndOfGeneration (-want +got):\n%s", diff)
	}

	keys = keysOf(tinyChars())
	keys["tokenizer.ggml.add_space_prefix"] = false
	tok, err = FromGGUF(file(t, keys))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"hello", "▁the"}, written(tok, tok.Encode("hello the", false))); diff != "" {
		t.Errorf("without a space before (-want +got):\n%s", diff)
	}
	if bos, ok := tok.BOS(); bos != 1 || !ok || !tok.AddBOS() {
		t.Errorf("BOS of llama by default is %d, %t", bos, ok)
	}
}

// TestFromGGUFErrors checks files whose keys are missing or of the wrong type.
func TestFromGGUFErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(keys map[string]any)
		want string
	}{
		{"no model", func(k map[string]any) { delete(k, "tokenizer.ggml.model") }, "no tokenizer.ggml.model"},
		{"no tokens", func(k map[string]any) { delete(k, "tokenizer.ggml.tokens") }, "it is empty; the file needs tokenizer.ggml.tokens"},
		{"tokens of numbers", func(k map[string]any) { k["tokenizer.ggml.tokens"] = []int32{1} }, "tokenizer.ggml.tokens is not an array of strings"},
		{"types of strings", func(k map[string]any) { k["tokenizer.ggml.token_type"] = []string{"1"} }, "tokenizer.ggml.token_type is not an array of integers"},
		{"scores of strings", func(k map[string]any) { k["tokenizer.ggml.scores"] = []string{"1"} }, "tokenizer.ggml.scores is not an array of numbers"},
		{"merges of numbers", func(k map[string]any) { k["tokenizer.ggml.merges"] = []int32{1} }, "tokenizer.ggml.merges is not an array of strings"},
		{"too few types", func(k map[string]any) { k["tokenizer.ggml.token_type"] = []int32{1} }, "1 token types for"},
	} {
		t.Run(c.name, func(t *testing.T) {
			keys := keysOf(tinyBytes())
			c.edit(keys)
			_, err := FromGGUF(file(t, keys))
			if err == nil || !strings.HasPrefix(err.Error(), "tokenizer: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want … %s …", err, c.want)
			}
		})
	}
}
