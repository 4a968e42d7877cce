// Package bpe learns byte-level BPE vocabularies like that of GPT-2: 256 bytes, special tokens, and
// pieces that result from merging the most frequent neighbours.
//
//	v, err := bpe.Train(texts, 2048, []string{"<|endoftext|>", "<tool_call>"})
//	if err != nil { … }
//	tok, err := v.Tokenizer() // for use in Go
//	v.Set(&writer)            // for a GGUF file, which llama.cpp also reads
//
// Before merging, text is cut into words by the pre-tokenizer "gpt-2", so that no piece extends
// over a space after a word, two kinds of characters, or a special token. See Sennrich, Haddow,
// Birch: Neural Machine Translation of Rare Words with Subword Units (2016), and Radford et al.:
// Language Models are Unsupervised Multitask Learners (2019) for merging bytes.
//
// The result depends only on the contents of the texts, not on their order.
package bpe
