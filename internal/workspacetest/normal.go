package workspacetest

import (
	"regexp"
	"strings"
)

// varying finds what may differ between two runs of the same session: how long something took, and
// the handles of artifacts.
var varying = []struct {
	find *regexp.Regexp
	put  string
}{
	{regexp.MustCompile(`\b(\d+m)?\d+(\.\d+)?\s?(ns|µs|us|ms|s)\b`), "TIME"},
	{regexp.MustCompile(`(?m)[ \t]*\(cached\)`), ""},
	{regexp.MustCompile(`\bartifact-[0-9a-f]+( \(\d+ bytes\))?`), "ARTIFACT"},
}

// normal returns a text that a model reads, without what may differ between two runs.
func normal(text, workspace string) string {
	text = strings.ReplaceAll(text, workspace, "/WORKSPACE")
	for _, v := range varying {
		text = v.find.ReplaceAllString(text, v.put)
	}
	return text
}
