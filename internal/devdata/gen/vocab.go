package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// vocabularies returns the files of the vocab folder.
func vocabularies() map[string][]byte {
	out := map[string][]byte{}
	const dir = "moe-dev/vocab/ggml-vocab-"
	add := func(name string, describe func(*file), encode func(string) []int) {
		if describe != nil {
			f := &file{}
			f.set("general.architecture", "llama")
			f.set("general.name", "made-up-"+name)
			describe(f)
			out[dir+name+".gguf"] = f.bytes()
		}
		out[dir+name+".gguf.inp"], out[dir+name+".gguf.out"] = vectors(encode)
	}
	for _, name := range []string{"qwen2", "gpt-2", "starcoder", "deepseek-llm"} {
		v := learn(name, 400)
		add(name, v.describe, v.encode)
	}
	// These vectors come without their vocabulary, for the test that learns the pieces from them.
	for _, name := range []string{"llama-bpe", "command-r", "qwen35"} {
		v := learn(name, 400)
		v.whole = name == "llama-bpe"
		add(name, nil, v.encode)
	}
	c := learnChars(300)
	add("llama-spm", c.describe, c.encode)
	w := learnWords(300)
	add("bert-bge", w.describe, w.encode)
	return out
}

// chars is a vocabulary of merges over characters, as SentencePiece makes them: spaces are written
// as ▁, a ▁ is added before the text, and the two neighbours whose merged piece has the highest
// score are merged first.
type chars struct{ tokens []string }

const firstChar = 3 + 256 // after <unk>, <s>, </s> and the bytes

func learnChars(merges int) *chars {
	v := &chars{tokens: []string{"<unk>", "<s>", "</s>"}}
	for b := range 256 {
		v.tokens = append(v.tokens, fmt.Sprintf("<0x%02X>", b))
	}
	var words [][]string
	for _, w := range strings.Fields(corpus) {
		words = append(words, strings.Split("▁"+w, ""))
	}
	words = append(words, strings.Split("▁▁▁▁", ""), strings.Split("▁▁▁▁", ""))
	pieces, _ := mergePairs(words, nil, merges)
	v.tokens = append(v.tokens, pieces...)
	seen := map[string]bool{}
	for _, r := range "▁" + corpus {
		if s := string(r); !seen[s] && r > ' ' {
			seen[s] = true
			v.tokens = append(v.tokens, s)
		}
	}
	return v
}

// encode repeatedly merges the best pair until none is left. If several are equally good, it merges
// the leftmost.
func (v *chars) encode(text string) (ids []int) {
	if text == "" {
		return nil
	}
	w := strings.Split("▁"+strings.ReplaceAll(text, " ", "▁"), "")
	find := func(s string) int {
		if i := slices.Index(v.tokens[firstChar:], s); i >= 0 {
			return firstChar + i
		}
		return -1
	}
	for {
		best, at := len(v.tokens), -1
		for i := range len(w) - 1 {
			if id := find(w[i] + w[i+1]); id >= 0 && id < best {
				best, at = id, i
			}
		}
		if at < 0 {
			break
		}
		w = slices.Replace(w, at, at+2, w[at]+w[at+1])
	}
	for _, s := range w {
		if id := find(s); id >= 0 {
			ids = append(ids, id)
			continue
		}
		for _, b := range []byte(s) {
			ids = append(ids, 3+int(b))
		}
	}
	return ids
}

func (v *chars) describe(f *file) {
	var kinds []int32
	var scores []float32
	for id := range v.tokens {
		k := kindNormal
		switch {
		case id == 0:
			k = kindUnknown
		case id < 3:
			k = kindControl
		case id < firstChar:
			k = kindByte
		}
		kinds, scores = append(kinds, k), append(scores, -float32(id))
	}
	f.set("tokenizer.ggml.model", "llama")
	f.set("tokenizer.ggml.tokens", v.tokens)
	f.set("tokenizer.ggml.scores", scores)
	f.set("tokenizer.ggml.token_type", kinds)
	f.set("tokenizer.ggml.bos_token_id", uint32(1))
	f.set("tokenizer.ggml.eos_token_id", uint32(2))
	f.set("tokenizer.ggml.unknown_token_id", uint32(0))
}

// words is a WordPiece vocabulary: a word is cut, from its start, into the longest possible pieces.
// A piece that starts a word is written with ▁.
type words struct{ tokens []string }

func learnWords(merges int) *words {
	var split [][]string
	v := &words{tokens: []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]"}}
	seen := map[string]bool{}
	add := func(s string) {
		if !seen[s] {
			seen[s] = true
			v.tokens = append(v.tokens, s)
		}
	}
	for _, w := range bertWords(corpus) {
		letters := strings.Split(w, "")
		letters[0] = "▁" + letters[0]
		split = append(split, letters)
		for _, l := range letters {
			add(l)
		}
	}
	pieces, _ := mergePairs(split, nil, merges)
	for _, p := range pieces {
		add(p)
	}
	return v
}

// bertWords cuts text into lower-case words without accents, as BERT's normaliser and pre-tokenizer
// do.
func bertWords(text string) (out []string) {
	var spaced strings.Builder
	for _, r := range norm.NFD.String(text) {
		switch {
		case unicode.IsSpace(r):
			spaced.WriteByte(' ')
		case r == 0, r == unicode.ReplacementChar, unicode.Is(unicode.C, r), unicode.Is(unicode.Mn, r):
		case unicode.IsPunct(r), r < 128 && unicode.IsSymbol(r), r >= 0x4E00 && r <= 0x9FFF:
			spaced.WriteString(" " + strings.ToLower(string(r)) + " ")
		default:
			spaced.WriteString(strings.ToLower(string(r)))
		}
	}
	return strings.Fields(spaced.String())
}

func (v *words) encode(text string) (ids []int) {
	for _, w := range bertWords(text) {
		ids = append(ids, v.word([]rune("▁"+w))...)
	}
	return ids
}

// word returns the pieces of a word, or the id of the unknown token.
func (v *words) word(w []rune) (ids []int) {
	for len(w) > 0 {
		id, n := -1, len(w)
		for ; n > 0 && id < 0; n-- {
			id = slices.Index(v.tokens, string(w[:n]))
		}
		if id < 0 {
			return []int{1}
		}
		ids, w = append(ids, id), w[n+1:]
	}
	return ids
}

func (v *words) describe(f *file) {
	kinds := make([]int32, len(v.tokens))
	for i := range kinds {
		kinds[i] = kindNormal
		if i < 4 {
			kinds[i] = kindControl
		}
	}
	kinds[1] = kindUnknown
	f.set("tokenizer.ggml.model", "bert")
	f.set("tokenizer.ggml.tokens", v.tokens)
	f.set("tokenizer.ggml.token_type", kinds)
	f.set("tokenizer.ggml.unknown_token_id", uint32(1))
	f.set("tokenizer.ggml.bos_token_id", uint32(2))
	f.set("tokenizer.ggml.eos_token_id", uint32(3))
}
