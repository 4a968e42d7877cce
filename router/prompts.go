package router

import (
	"embed"
	"strings"
)

//go:embed prompts/*.md
var promptFiles embed.FS

// promptText returns the text of a file in prompts/, which holds the prompts that members receive
// in addition to the host's. A missing file is a bug of this package, which a test reports; the
// text is then empty.
func promptText(file string) string {
	text, err := promptFiles.ReadFile("prompts/" + file)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}
