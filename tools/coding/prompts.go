package coding

import (
	"embed"
	"strings"
)

//go:embed prompts/*.md
var promptFiles embed.FS

// prompt returns the text that describes a tool to the model. Every tool has its file, so that a missing one is a fault
// of this package; the description is then empty, which a test reports.
func prompt(name string) string {
	text, err := promptFiles.ReadFile("prompts/" + name + ".md")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
