package router

import (
	"embed"
	"strings"
)

//go:embed prompts/*.md
var promptFiles embed.FS

// promptText returns the text of a file in prompts/, which holds what members are told besides the
// host's own words. A missing file is a fault of this package, which a test reports; the text is
// then empty.
func promptText(file string) string {
	text, err := promptFiles.ReadFile("prompts/" + file)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}
