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

// Texts of tokens that mark the parts of code to be filled in; the first one found is used. A model
// that writes one of these has gone beyond its task.
func fillTexts() [3][]string {
	return [3][]string{
		{"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"},
		{"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"},
		{"<|file_sep|>"},
	}
}

// ends finds the tokens that end generation, in ascending order, and corrects the kinds of special
// tokens whose texts are well known.
func (c *Config) ends(v *vocab) []int32 {
	set := map[int32]bool{}
	for i, id := range []*int32{c.FIMPad, c.FIMRepo, c.FIMSeparator} {
		if id == nil {
			id = firstOf(v, fillTexts()[i])
		}
		if id != nil {
			set[*id] = true
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

// firstOf finds the first of some texts in the vocabulary and marks it as a control token.
func firstOf(v *vocab, texts []string) *int32 {
	for _, text := range texts {
		if id := v.written.find(text); id >= 0 {
			v.kinds[id] = Control
			return &id
		}
	}
	return nil
}
