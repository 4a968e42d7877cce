package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dlclark/regexp2"
)

// Patterns of pre-tokenizers, as in the files of the models.
const (
	gpt2Words   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	qwen2Words  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	llamaWords  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwen35Words = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// cutters are the patterns of each pre-tokenizer, applied one after the other: each match is a
// piece, and so is the text between two matches. The original letter pattern of deepseek-llm names
// every script; this one has only the scripts that texts uses.
var cutters = map[string][]string{
	"gpt-2":        {gpt2Words},
	"starcoder":    {`\p{N}`, gpt2Words},
	"command-r":    {`\p{N}`, gpt2Words},
	"qwen2":        {qwen2Words},
	"llama-bpe":    {llamaWords},
	"qwen35":       {qwen35Words},
	"deepseek-llm": {`[\r\n]`, `\s?[A-Za-zÀ-ÖØ-öø-ƺΑ-ΡΣ-ωά-ώЀ-ҁ]+`, `\s?[!-/:-~！-／：-～‘-‟　-。]+`, `\s+$`, `[一-龥ࠀ-一가-퟿]+`, `\p{N}+`},
}

// cut cuts text as the pre-tokenizer does.
func cut(name, text string) []string {
	pieces := []string{text}
	for _, pattern := range cutters[name] {
		re := regexp2.MustCompile(pattern, regexp2.None)
		var next []string
		for _, p := range pieces {
			next = append(next, isolate(re, p)...)
		}
		pieces = next
	}
	return pieces
}

func isolate(re *regexp2.Regexp, text string) (pieces []string) {
	runes, at := []rune(text), 0
	add := func(end int) {
		if end > at {
			pieces = append(pieces, string(runes[at:end]))
		}
		at = end
	}
	m, err := re.FindRunesMatch(runes)
	for ; m != nil && err == nil; m, err = re.FindNextMatch(m) {
		add(m.Index)
		add(m.Index + m.Length)
	}
	if err != nil {
		panic(err)
	}
	add(len(runes))
	return pieces
}

// letters returns the characters that stand for bytes: printable bytes of Latin-1 are mapped to
// themselves, the others to U+0100 and up.
func letters() (of [256]string, order []string) {
	next := rune(256)
	var later []string
	for b := range 256 {
		if b >= '!' && b <= '~' || b >= '¡' && b <= '¬' || b >= '®' {
			of[b] = string(rune(b))
			order = append(order, of[b])
			continue
		}
		of[b] = string(next)
		later = append(later, of[b])
		next++
	}
	return of, append(order, later...)
}

// bpe is a vocabulary of merges over bytes (byte pair encoding).
type bpe struct {
	cutter string
	whole  bool // if true, a piece that is in the vocabulary becomes that token, whatever the merges are
	tokens []string
	merges []string
}

// learn builds a vocabulary from the most frequent pairs of the corpus.
func learn(cutter string, merges int) *bpe {
	of, order := letters()
	v := &bpe{cutter: cutter, tokens: order}
	var words [][]string
	for _, piece := range cut(cutter, corpus) {
		var w []string
		for _, b := range []byte(piece) {
			w = append(w, of[b])
		}
		words = append(words, w)
	}
	v.tokens, v.merges = mergePairs(words, v.tokens, merges)
	return v
}

// mergePairs repeatedly merges the most frequent pair of symbols. If several pairs are equally
// frequent, it takes the first in order.
func mergePairs(words [][]string, tokens []string, n int) (all, merges []string) {
	for range n {
		count := map[[2]string]int{}
		for _, w := range words {
			for i := range len(w) - 1 {
				count[[2]string{w[i], w[i+1]}]++
			}
		}
		var best [2]string
		for p, c := range count {
			if b := count[best]; c > b || c == b && slices.Compare(p[:], best[:]) < 0 {
				best = p
			}
		}
		if count[best] < 2 {
			break
		}
		merges = append(merges, best[0]+" "+best[1])
		if joined := best[0] + best[1]; !slices.Contains(tokens, joined) {
			tokens = append(tokens, joined)
		}
		for i := range words {
			words[i] = join(words[i], best)
		}
	}
	return tokens, merges
}

// join merges every occurrence of pair in w, from the left.
func join(w []string, pair [2]string) (out []string) {
	for i := 0; i < len(w); i++ {
		if i+1 < len(w) && w[i] == pair[0] && w[i+1] == pair[1] {
			out = append(out, w[i]+w[i+1])
			i++
			continue
		}
		out = append(out, w[i])
	}
	return out
}

// encode goes through the merges in order and applies each wherever possible.
func (v *bpe) encode(text string) (ids []int) {
	of, _ := letters()
	for _, piece := range cut(v.cutter, text) {
		var w []string
		for _, b := range []byte(piece) {
			w = append(w, of[b])
		}
		if i := slices.Index(v.tokens, strings.Join(w, "")); v.whole && i >= 0 {
			ids = append(ids, i)
			continue
		}
		for _, m := range v.merges {
			l, r, _ := strings.Cut(m, " ")
			w = join(w, [2]string{l, r})
		}
		for _, s := range w {
			ids = append(ids, slices.Index(v.tokens, s))
		}
	}
	return ids
}

// describe sets the file's keys that describe the vocabulary, with the special tokens at the end.
func (v *bpe) describe(f *file) {
	tokens, kinds := slices.Clone(v.tokens), make([]int32, len(v.tokens))
	for i := range kinds {
		kinds[i] = kindNormal
	}
	end := uint32(len(tokens))
	for _, s := range []string{"<|endoftext|>", "<|im_start|>", "<|im_end|>"} {
		tokens, kinds = append(tokens, s), append(kinds, kindControl)
	}
	f.set("tokenizer.ggml.model", "gpt2")
	f.set("tokenizer.ggml.pre", v.cutter)
	f.set("tokenizer.ggml.tokens", tokens)
	f.set("tokenizer.ggml.token_type", kinds)
	f.set("tokenizer.ggml.merges", v.merges)
	f.set("tokenizer.ggml.bos_token_id", end)
	f.set("tokenizer.ggml.eos_token_id", end+2)
	f.set("tokenizer.ggml.add_bos_token", false)
}

// Token types of the file format.
const (
	kindNormal  = int32(1)
	kindUnknown = int32(2)
	kindControl = int32(3)
	kindByte    = int32(6)
)

// vectors returns two files: the texts, and their token ids.
func vectors(encode func(string) []int) (in, out []byte) {
	for _, text := range texts {
		in = append(in, text+"\n__ggml_vocab_test__\n"...)
		for _, id := range encode(text) {
			if id < 0 {
				panic(fmt.Sprintf("no token for a part of %q", text))
			}
			out = fmt.Appendf(out, " %d", id)
		}
		out = append(out, '\n')
	}
	return in, out
}
