package digest

import (
	"encoding/json"
	"strings"
)

// IsLog reports whether an output is a log, in which a few lines matter: it reports failing tests,
// the verdict of a build or a diagnostic at a place, or severities or times stand before its lines.
// JSON and diffs are none, whatever they contain.
func IsLog(text string, exitCode int) bool {
	if isData(text) {
		return false
	}
	p := parse(text)
	for _, f := range p.findings {
		if f.name != "" || f.strength >= strengthVerdict || f.strength >= strengthNamed && (len(f.places) > 0 || f.framed() || exitCode != 0) {
			return true
		}
	}
	if len(p.summaries) > 0 {
		return true
	}
	lines, tagged := 0, 0
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		lines++
		if n, _ := tag(line); n > 0 {
			tagged++
		}
	}
	return tagged*3 > lines
}

// isData reports whether a text is JSON or a diff.
func isData(text string) bool {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return true
	case strings.HasPrefix(text, "diff --git "), strings.HasPrefix(text, "--- ") && strings.Contains(text, "\n@@ -"),
		strings.HasPrefix(text, "commit ") && strings.Contains(text, "\ndiff --git "):
		return true
	}
	return (text[0] == '{' || text[0] == '[') && json.Valid([]byte(text))
}
