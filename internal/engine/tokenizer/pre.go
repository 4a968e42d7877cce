package tokenizer

import (
	"slices"
	"strings"
	"unicode"
)

// preTokenizer is one row of the table of pre-tokenizers. It defines how text is cut into the words
// that merges do not cross.
type preTokenizer struct {
	names      []string // values of tokenizer.ggml.pre
	stages     []stage  // each one cuts the pieces of the previous one
	wholeWords bool     // a word that is a piece of the vocabulary becomes that piece, even if it is not a result of merges
	addBOS     bool     // unless the file specifies otherwise
	chars      bool     // merges run over characters with spaces written ▁, not over bytes
}

// preTokenizers is the table. A new row needs the split rules of the model's tokenizer.json, its
// names and a test vector.
func preTokenizers() []preTokenizer {
	// These stages are shared by several rows. The rules are those of tokenizer.json, with which
	// the models were trained.
	numbers := isolate(runOf(number, 0))
	oneNumber := isolate(runOf(number, 1))
	threeNumbers := isolate(runOf(number, 3))
	three := isolate(threeDigits)
	newlines := isolate(oneNewline)
	asian := isolate(runIn(table(0x0800, 0x9FA5, 0xAC00, 0xD7FF)))
	japanese := isolate(runIn(table(0x3040, 0x30FF, 0x4E00, 0x9FA5)))
	qwen2 := words{contractions: true, digits: 1, tail: "\r\n"}
	llama3 := words{contractions: true, digits: 3, tail: "\r\n"}
	qwen35 := words{contractions: true, marks: true, digits: 1, tail: "\r\n"}
	gpt4o := words{contractions: true, cased: true, digits: 3, tail: "\r\n/"}
	tekken := words{cased: true, digits: 1, tail: "\r\n/"}
	kimi := words{contractions: true, cased: true, han: true, digits: 3, tail: "\r\n"}
	seed := words{contractions: true, digits: 1}
	minicpm := words{contractions: true, tail: "\r\n"}
	exaone := words{contractions: true, phrases: true, digits: 1, tail: "\r\n/", tailOnce: true}
	youtu := words{contractions: true, cased: true, digits: 1, tail: "\r\n/"}
	rule := func(w words) stage { return w.match }

	return []preTokenizer{
		{names: []string{"default"}, stages: []stage{
			isolate(runOrIn(punct, "$+<=>^~|")), gpt2, numbers, three}},
		{names: []string{"gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "granite-docling", "exaone4", "gigachat", "mellum", "a.x-4.0",
			"modern-bert", "roberta-bpe", "jina-es", "jina-de", "jina-v1-en", "jina-v2-es", "jina-v2-de", "jina-v2-code"},
			stages: []stage{gpt2}},
		{names: []string{"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b", "mellum2"},
			stages: []stage{oneNumber, gpt2}},
		{names: []string{"falcon"}, stages: []stage{
			isolate(runOrIn(punct, "$+<=>^~|`")), gpt2, three}},
		{names: []string{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"},
			stages: []stage{rule(llama3)}, wholeWords: true, addBOS: true},
		{names: []string{"glm4", "chatglm-bpe", "dbrx", "smaug-bpe"}, stages: []stage{rule(llama3)}},
		{names: []string{"qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "megrez", "stablelm2", "hunyuan", "solar-open", "grok-2",
			"bailingmoe", "bailingmoe2", "llada-moe"}, stages: []stage{rule(qwen2)}},
		{names: []string{"qwen35"}, stages: []stage{rule(qwen35)}},
		{names: []string{"laguna"}, stages: []stage{lines, rule(qwen2)}},
		{names: []string{"seed-coder"}, stages: []stage{rule(seed)}},
		{names: []string{"minicpm5"}, stages: []stage{threeNumbers, rule(minicpm)}, wholeWords: true},
		{names: []string{"exaone-moe"}, stages: []stage{rule(exaone)}},
		{names: []string{"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"}, stages: []stage{rule(gpt4o)}},
		{names: []string{"granite-embed-multi-97m"}, stages: []stage{rule(gpt4o)}, wholeWords: true},
		{names: []string{"tiny_aya", "cohere2moe"}, stages: []stage{numbers, groupsOfThree, rule(gpt4o)}},
		{names: []string{"tekken"}, stages: []stage{rule(tekken)}, wholeWords: true, addBOS: true},
		{names: []string{"kimi-k2"}, stages: []stage{rule(kimi)}},
		{names: []string{"deepseek-coder"}, stages: []stage{newlines, isolate(spaced(runOf(letter, 0))), isolate(spaced(runOf(punct, 0))),
			asian, oneNumber}},
		{names: []string{"deepseek-llm"}, stages: []stage{newlines, isolate(spaced(runIn(deepseekLetters()))),
			isolate(spaced(runIn(table('!', '/', ':', '~', '‘', '‟', 0x3000, '。', '！', '／', '：', '～')))),
			trailingSpace, asian, numbers}},
		{names: []string{"deepseek-v3", "hunyuan-dense", "joyai-llm"}, stages: []stage{threeNumbers, japanese, isolate(scripted)}},
		{names: []string{"afmoe"}, stages: []stage{numbers, groupsOfThree, isolate(runIn(asianScripts())), isolate(scripted)}},
		{names: []string{"youtu"}, stages: []stage{isolate(youtuScripts()), rule(youtu)}, wholeWords: true},
		{names: []string{"superbpe"}, stages: []stage{numbers, groupsOfThree}},
		{names: []string{"poro-chat", "bloom", "gpt3-finnish"}, stages: []stage{isolate(sentence)}},
		{names: []string{"viking"}, stages: []stage{isolate(sentence), oneNumber}},
		{names: []string{"gemma4", "granite-embed-multi-311m"}, stages: []stage{lines}, chars: true, addBOS: true},
		{names: []string{"sarvam-moe"}, stages: []stage{lines}, chars: true},
	}
}

// PreTokenizers lists the supported values of tokenizer.ggml.pre.
func PreTokenizers() []string {
	var names []string
	for _, row := range preTokenizers() {
		names = append(names, row.names...)
	}
	slices.Sort(names)
	return names
}

// findPreTokenizer finds a row by name.
func findPreTokenizer(name string) (preTokenizer, bool) {
	for _, row := range preTokenizers() {
		if slices.Contains(row.names, name) {
			return row, true
		}
	}
	return preTokenizer{}, false
}

// sentence matches ` ?[^(\s|.,!?…。，、।۔،)]+`, that is, words up to the punctuation of a sentence.
func sentence(t *classTable, s string, i int) int {
	from := i
	if s[i] == ' ' {
		from++
	}
	for k, r := range s[from:] {
		if t.of(r)&space != 0 || strings.ContainsRune("(|.,!?…。，、।۔،)", r) {
			if k == 0 {
				return i
			}
			return from + k
		}
	}
	if from == len(s) {
		return i
	}
	return len(s)
}

// asianScripts returns the blocks of Chinese, Japanese, Thai, Lao, Khmer, Burmese and Korean that
// afmoe's rules name.
func asianScripts() *unicode.RangeTable {
	return table(0x0E40, 0x0EFF, 0x1000, 0x109F, 0x1100, 0x11FF, 0x1780, 0x17FF, 0x2F00, 0x2FDF, 0x3040, 0x30FF, 0x3400, 0x4DBF,
		0x4E00, 0x9FFF, 0xA9E0, 0xA9FF, 0xAA60, 0xAA7F, 0xAC00, 0xD7AF, 0xF900, 0xFAFF, 0xFF65, 0xFF9F)
}

// youtuScripts matches a run of Korean, of full-width punctuation, of Bopomofo, or of Chinese with
// Japanese.
func youtuScripts() match {
	return oneOf(
		runIn(table(0x3131, 0x318E, 0xAC00, 0xD7A3)),
		runIn(table(0x2014, 0x2014, 0x2018, 0x2019, 0x201C, 0x201D, 0x2026, 0x2026, 0x3001, 0x303F, 0xFE30, 0xFE4F, 0xFF01, 0xFF01,
			0xFF0C, 0xFF0C, 0xFF1A, 0xFF1B)),
		runIn(table(0x3105, 0x312F)),
		runIn(table(0x3040, 0x30FF, 0x4E00, 0x9FA5)),
	)
}
