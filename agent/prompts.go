package agent

import (
	_ "embed"
	"strings"
)

// The texts of more than a sentence that the loop itself puts before a model. Words in braces are
// filled in by [promptText].
var (
	//go:embed prompts/instructions.md
	instructionsPrompt string
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

// promptText returns a prompt without the newline that ends its file, with each name of pairs
// (name, text, name, text, …) replaced by the text after it.
func promptText(prompt string, pairs ...string) string {
	prompt = strings.TrimSpace(prompt)
	if len(pairs) == 0 {
		return prompt
	}
	return strings.NewReplacer(pairs...).Replace(prompt)
}
