// Package tokenizer turns text into the token ids of a language model and back, with the vocabulary
// of a GGUF file.
//
//	f, err := gguf.Open("qwen3-coder.gguf")
//	if err != nil { … }
//	t, err := tokenizer.FromGGUF(f)
//	if err != nil { … }
//	ids := t.Encode("func main() {}", false)
//	text := t.Decode(ids) // "func main() {}"
//
// A Tokenizer is immutable and safe for concurrent use. It supports four models of vocabularies,
// named as in the key tokenizer.ggml.model:
//
//   - gpt2: byte-level BPE. Text is cut into words by the pre-tokenizer named in
//     tokenizer.ggml.pre, and the bytes of each word are merged by rank. Every string of bytes
//     survives Encode and Decode, valid UTF-8 or not.
//   - llama: SentencePiece BPE. Characters are merged by score, spaces are written ▁, and
//     characters without a piece become byte tokens.
//   - gemma4: like llama, with ranked merges.
//   - bert: WordPiece, for embedding models. It writes text in lower case and drops unknown
//     characters.
//
// # Special tokens
//
// Control tokens such as <|im_start|> frame a conversation, so text from outside must not be able
// to write them: Encode with special false never yields one. With special true they are matched
// wherever they are written, leftmost and longest first. User-defined tokens are ordinary text that
// happens to be one token, and is recognised in both cases. A token is a control token if the file
// says so, or if the file calls it user-defined but names it as BOS, EOS, padding and the like, or
// if its text is well known to end a turn or to frame code to be filled in, such as <|fim_prefix|>.
//
// # What is not reversed
//
// Decode(Encode(x)) is x for gpt2 vocabularies, unless the vocabulary has special tokens that
// remove the white space around them (Phi-3) or does not have all bytes. For llama and gemma4
// vocabularies it is x unless x contains ▁ (U+2581), which those models read as a space, or bytes
// that the vocabulary has no token for.
//
// # Limits
//
//   - The models t5 (unigram), rwkv, plamo2, hybriddna and whitespace are refused by name. The
//     pre-tokenizers jais-2, chameleon and whitespace are read as default with a warning.
//   - gemma4 was compared with llama.cpp only on a synthetic vocabulary (equal on 1,500 random
//     texts).
//   - Text is not normalised. Qwen's tokenizer.json asks for NFC; llama.cpp does not normalise
//     either, and text must not be changed.
package tokenizer
