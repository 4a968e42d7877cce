package agent

import (
	_ "embed"
	"strings"
)

// The loop's own texts for the model that are longer than a sentence. Words in braces are filled in
// by [promptText].
var (
	//go:embed prompts/answer_empty.md
	emptyAnswerPrompt string
	//go:embed prompts/answer_malformed.md
	malformedAnswerPrompt string
	//go:embed prompts/answer_unfinished.md
	unfinishedAnswerPrompt string
	//go:embed prompts/instructions.md
	instructionsPrompt string
	//go:embed prompts/output_misfit.md
	outputPrompt string
	//go:embed prompts/plan.md
	planPrompt string
	//go:embed prompts/repeat_remind.md
	repeatRemindPrompt string
	//go:embed prompts/repeat_warn.md
	repeatWarnPrompt string
	//go:embed prompts/restored.md
	restoredPrompt string
	//go:embed prompts/subagent.md
	subAgentPrompt string
	//go:embed prompts/subagent_task.md
	subAgentTaskPrompt string
)

// promptText returns a prompt without its final newline, with each name in pairs (name, text, name,
// text, …) replaced by the text after it.
func promptText(prompt string, pairs ...string) string {
	prompt = strings.TrimSpace(prompt)
	if len(pairs) == 0 {
		return prompt
	}
	return strings.NewReplacer(pairs...).Replace(prompt)
}
