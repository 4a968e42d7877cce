package router

import (
	"embed"
	"strings"
)

//go:embed prompts/*.md
var promptFiles embed.FS

// promptText returns the text of a file in prompts/, which holds the prompts that members receive
// in addition to the host's. If a file is missing, the text is empty; a test would report this bug.
func promptText(file string) string {
	text, err := promptFiles.ReadFile("prompts/" + file)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}
