package tokenizer

import "slices"

// Texts of tokens that end a turn or a document. Converters do not always mark them in the
// metadata. So a token with such a text is treated as an end token, and as a control token whatever
// its type is.
func endTexts() []string {
	return []string{
		"<|eot_id|>", "<|eom_id|>", // Llama 3
		"<|im_end|>",             // ChatML
		"<|end|>",                // Phi-3; for gpt-oss only the end of a message
		"<|return|>", "<|call|>", // gpt-oss
		"<|flush|>", "<|calls|>", // Solar Open
		"<end_of_turn>",    // Gemma
		"<eos>", "<turn|>", // Gemma 4
		"<|tool_response>",      // Gemma 4: the model waits for a tool
		"<|endoftext|>", "</s>", // end of the document
		"<|end_of_text|>", // Llama 3, Granite
		"<EOT>", "_<EOT>", // CodeLlama
		"[EOT]", "[EOS]", // Kimi K2
		"<｜end▁of▁sentence｜>", // DeepSeek
		"<end_of_utterance>",  // SmolVLM
		"[e~[",                // MiniMax
	}
}

// fillTexts returns the texts of tokens that frame code to be filled in. They are control tokens
// whatever their type says. A model that writes one of the last three groups has gone beyond its
// task; the first one found of each counts.
func fillTexts() [6][]string {
	return [6][]string{
		{"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>", "<|code_prefix|>", "<|prefix|>"},
		{"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>", "<|code_suffix|>", "<|suffix|>"},
		{"<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>", "<|code_middle|>", "<|middle|>"},
		{"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"},
		{"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"},
		{"<|file_sep|>"},
	}
}

// ends finds the tokens that end generation, in ascending order, and corrects the kinds of special
// tokens whose texts are well known.
func (c *Config) ends(v *vocab) []int32 {
	set := map[int32]bool{}
	for i, id := range []*int32{c.FIMPrefix, c.FIMSuffix, c.FIMMiddle, c.FIMPad, c.FIMRepo, c.FIMSeparator} {
		first := markAll(v, fillTexts()[i])
		if id == nil {
			id = first
		}
		if id != nil && i >= 3 {
			set[*id] = true
		}
	}
	for _, id := range c.named() {
		if v.kinds[id] == UserDefined { // the metadata gives it a meaning beyond its text
			v.kinds[id] = Control
		}
	}
	kinds := slices.Clone(v.kinds)
	for _, text := range endTexts() {
		if id := v.written.find(text); id >= 0 {
			v.kinds[id] = Control
			set[id] = true
		}
	}
	for _, id := range []*int32{c.EOS, c.EOT, c.EOM} {
		if id != nil {
			set[*id] = true
		}
	}
	// Some models have other models' tokens with a different meaning.
	not := func(text string) {
		if id := v.written.find(text); id >= 0 {
			delete(set, id)
			v.kinds[id] = kinds[id]
		}
	}
	has := func(text string) bool { return set[v.written.find(text)] }
	if has("<|call|>") && has("<|return|>") || has("<|flush|>") && (has("<|call|>") || has("<|calls|>")) {
		not("<|end|>") // the end of a part of the answer
	}
	if has("<|tool_response>") {
		not("</s>") // HTML
	}
	ids := make([]int32, 0, len(set))
	for id := range set {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// markAll marks the tokens with these texts as control tokens, and returns the first of them.
func markAll(v *vocab, texts []string) (first *int32) {
	for _, text := range texts {
		if id := v.written.find(text); id >= 0 {
			v.kinds[id] = Control
			if first == nil {
				first = &id
			}
		}
	}
	return first
}
