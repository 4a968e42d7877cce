package agent

import (
	"strings"
	"testing"
)

// TestPrompts checks that the loop's texts reach the model complete: none is empty, and none still
// contains a name in braces that should have been filled in.
func TestPrompts(t *testing.T) {
	r := repetition{cfg: Repetition{Remind: 3, Warn: 5, Stop: 8}}
	for name, text := range map[string]string{
		"instructions": promptText(instructionsPrompt),
		"plan":         planSystem("Be brief."),
		"empty":        promptText(emptyAnswerPrompt),
		"malformed":    promptText(malformedAnswerPrompt),
		"unfinished":   promptText(unfinishedAnswerPrompt),
		"remind":       r.reminder(rungRemind, "grep"),
		"warn":         r.reminder(rungWarn, "grep"),
		"undone":       restoreNote(EntryUndo, `say "{turn}"`),
		"redone":       restoreNote(EntryRedo, "fix"),
		"sub-agent":    promptText(subAgentPrompt),
		"task":         string(subAgentSchema()),
	} {
		open := strings.Count(text, "{") - strings.Count(text, "}")
		if len(text) < 40 || open != 0 || strings.HasSuffix(text, "\n") {
			t.Errorf("%s: %q", name, text)
		}
	}
	const undone = "<reminder>\nThe user has undone the file changes of the turn \"say \\\"{turn}\\\"\": the workspace differs from what you last saw. " +
		"Read files again before editing them.\n</reminder>"
	if got := restoreNote(EntryUndo, `say "{turn}"`); got != undone {
		t.Errorf("the note is %q", got)
	}
	const warn = "You have now called grep 5 times with the same arguments and the same result, and nothing changed in between. " +
		"Stop repeating it: the run ends at 8."
	if got := r.reminder(rungWarn, "grep"); !strings.HasPrefix(got, warn) {
		t.Errorf("the warning is %q", got)
	}
}
