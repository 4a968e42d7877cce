package synth

import (
	"fmt"
	"strings"
)

// Kinds of tokens in tokenizer.ggml.token_type.
const (
	kindNormal  = int32(1)
	kindControl = int32(3)
	kindUser    = int32(4)
	kindUnused  = int32(5)
)

// specials lists the special tokens of the ChatML family of models, with their kinds.
var specials = []struct {
	text string
	kind int32
}{
	{"<|endoftext|>", kindControl}, {"<|im_start|>", kindControl}, {"<|im_end|>", kindControl},
	{"<tool_call>", kindUser}, {"</tool_call>", kindUser}, {"<tool_response>", kindUser}, {"</tool_response>", kindUser},
	{"<think>", kindUser}, {"</think>", kindUser},
}

// words lists the words that the synthetic vocabulary has in addition to bytes, each with and
// without a leading space.
const words = `the of and to in is for that this with it as be on are not from or by at an if you can use
func return package import type struct interface map range string int error nil var const for else switch case default break continue go defer select chan
name arguments content role user assistant system tool call function path file line text value key true false null command query pattern edit write read
def class self None True False print len while lambda try except raise yield assert`

// ChatTemplate is the chat template of synthetic models: ChatML with tools in the style of Hermes.
const ChatTemplate = `{%- if tools %}
{{- '<|im_start|>system\n' }}
{%- if messages[0].role == 'system' %}{{- messages[0].content + '\n\n' }}{%- endif %}
{{- 'These tools can be called:\n<tools>' }}
{%- for tool in tools %}{{- '\n' }}{{- tool | tojson }}{%- endfor %}
{{- '\n</tools>\nTo call one, write <tool_call>{"name": its name, "arguments": an object}</tool_call>.<|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'system' and tools and loop.first %}
{%- elif message.role == 'tool' %}
{{- '<|im_start|>user\n<tool_response>\n' + message.content + '\n</tool_response><|im_end|>\n' }}
{%- else %}
{{- '<|im_start|>' + message.role + '\n' }}
{%- if message.content is string %}{{- message.content }}{%- endif %}
{%- if message.tool_calls %}
{%- for call in message.tool_calls %}
{%- if call.function %}{%- set call = call.function %}{%- endif %}
{{- '\n<tool_call>\n{"name": "' + call.name + '", "arguments": ' }}
{%- if call.arguments is string %}{{- call.arguments }}{%- else %}{{- call.arguments | tojson }}{%- endif %}
{{- '}\n</tool_call>' }}
{%- endfor %}
{%- endif %}
{{- '<|im_end|>\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}
`

// vocabulary sets the tokenizer's keys, and sets Vocab if it was left at 0.
func (m *maker) vocabulary() error {
	if m.VocabFrom == nil {
		return m.smallVocabulary()
	}
	tokens, ok := m.VocabFrom.Strings("tokenizer.ggml.tokens")
	if !ok {
		return fmt.Errorf("synth: make model: the file to take the vocabulary from has none")
	}
	m.w.CopyMetadata(m.VocabFrom, func(k string) bool { return strings.HasPrefix(k, "tokenizer.") })
	if _, has := m.VocabFrom.String("tokenizer.chat_template"); !has {
		m.w.SetString("tokenizer.chat_template", ChatTemplate)
	}
	if m.Vocab == 0 {
		m.Vocab = len(tokens)
	}
	if m.Vocab != len(tokens) {
		return fmt.Errorf("synth: make model: %d tokens are asked for, the vocabulary has %d", m.Vocab, len(tokens))
	}
	return nil
}

// smallVocabulary builds a byte-level BPE vocabulary with a few hundred merges.
func (m *maker) smallVocabulary() error {
	tokens, merges := wordPieces()
	kinds := make([]int32, len(tokens))
	for i := range kinds {
		kinds[i] = kindNormal
	}
	ids := map[string]uint32{}
	for _, s := range specials {
		ids[s.text] = uint32(len(tokens))
		tokens, kinds = append(tokens, s.text), append(kinds, s.kind)
	}
	if m.Vocab == 0 {
		m.Vocab = len(tokens)
	}
	if m.Vocab < len(tokens) {
		return fmt.Errorf("synth: make model: %d tokens are asked for, the small vocabulary has %d", m.Vocab, len(tokens))
	}
	for i := len(tokens); i < m.Vocab; i++ {
		tokens, kinds = append(tokens, fmt.Sprintf("[PAD%d]", i)), append(kinds, kindUnused)
	}
	m.w.SetString("tokenizer.ggml.model", "gpt2")
	m.w.SetString("tokenizer.ggml.pre", "qwen2")
	m.w.SetStrings("tokenizer.ggml.tokens", tokens)
	m.w.Set("tokenizer.ggml.token_type", kinds)
	m.w.SetStrings("tokenizer.ggml.merges", merges)
	m.w.SetUint32("tokenizer.ggml.eos_token_id", ids["<|im_end|>"])
	m.w.SetUint32("tokenizer.ggml.padding_token_id", ids["<|endoftext|>"])
	m.w.SetUint32("tokenizer.ggml.bos_token_id", ids["<|endoftext|>"])
	m.w.SetBool("tokenizer.ggml.add_bos_token", false)
	m.w.SetString("tokenizer.chat_template", ChatTemplate)
	return nil
}

// byteRunes maps bytes to the printable characters that stand for them in byte-level vocabularies:
// a byte that is printable in Latin-1 stands for itself, and the others are mapped to U+0100 and
// up. order lists the bytes in the order that vocabularies use.
func byteRunes() (runes [256]rune, order []byte) {
	var rest []byte
	for b := range 256 {
		if (b > ' ' && b <= '~') || (b >= 0xa1 && b != 0xad) {
			runes[b] = rune(b)
			order = append(order, byte(b))
		} else {
			runes[b] = rune(0x100 + len(rest))
			rest = append(rest, byte(b))
		}
	}
	return runes, append(order, rest...)
}

// wordPieces returns the bytes and the merges that build each word, in most cases up to a single
// token.
func wordPieces() (tokens, merges []string) {
	runes, order := byteRunes()
	ranks := map[[2]string]int{}
	have := map[string]bool{}
	for _, b := range order {
		tokens = append(tokens, string(runes[b]))
	}
	build := func(word string) {
		var parts []string
		for _, b := range []byte(word) {
			parts = append(parts, string(runes[b]))
		}
		for {
			parts = applyMerges(parts, ranks)
			if len(parts) == 1 {
				return
			}
			// A new merge has the last rank, so the pieces that earlier merges made from the word
			// do not change.
			ranks[[2]string{parts[0], parts[1]}] = len(ranks)
			merges = append(merges, parts[0]+" "+parts[1])
			if joined := parts[0] + parts[1]; !have[joined] {
				have[joined] = true
				tokens = append(tokens, joined)
			}
		}
	}
	for _, run := range []string{"    ", "\n\n", "\t\t", "{\"", "\":", "\",", "()", "//", ":="} {
		build(run)
	}
	for _, word := range strings.Fields(words) {
		build(" " + word)
		build(word)
	}
	return tokens, merges
}

// applyMerges applies byte-pair encoding: it applies the merge of the lowest rank first, from left
// to right.
func applyMerges(parts []string, ranks map[[2]string]int) []string {
	for {
		best, at := len(ranks), -1
		for i := range len(parts) - 1 {
			if r, ok := ranks[[2]string{parts[i], parts[i+1]}]; ok && r < best {
				best, at = r, i
			}
		}
		if at < 0 {
			return parts
		}
		parts = append(append(parts[:at:at], parts[at]+parts[at+1]), parts[at+2:]...)
	}
}
