package toolformat

import "strings"

// headers lists the texts that open an assistant's message in the templates of the formats.
var headers = []string{
	"<|im_start|>assistant\n",
	"<|im_assistant|>assistant<|im_middle|>",
	"<|start_header_id|>assistant<|end_header_id|>\n\n",
	"<|start_of_role|>assistant<|end_of_role|>",
	"<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
	`<|open|>message role="assistant"<|sep|>`,
	"<|assistant_start|>",
	"<|assistant|>\n",
	"<|assistant|>",
	"<|Assistant|>",
	"<｜Assistant｜>",
	"<|turn>model\n",
	"<start_of_turn>model\n",
	"<seed:bos>assistant\n",
	"<SPECIAL_11>Assistant\n",
	"]~b]ai\n",
	"<beginning_of_sentence>ai name=assistant\n",
	"assistant<|role_sep|>\n",
	"<|start|>assistant",
	"[/INST]",
	"assistant:",
}

// afterHeader returns the text that follows the opening of the assistant's message in prompt. If
// there is no known opening, it returns the text from the marker with which the prompt opened
// reasoning. If there is no such marker either, found is false.
func (f *Format) afterHeader(prompt string) (text string, found bool) {
	at, end := len(prompt), -1
	for _, h := range headers {
		if i := strings.Index(prompt, h); i >= 0 && (i < at || i == at && i+len(h) > end) {
			at, end = i, i+len(h)
		}
	}
	if end >= 0 {
		return prompt[end:], true
	}
	for _, o := range f.Think.Open {
		if i := strings.LastIndex(prompt, o); i >= 0 && i < at {
			at = i
		}
	}
	if at < len(prompt) {
		return prompt[at:], true
	}
	return prompt, false
}
