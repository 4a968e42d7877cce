package compaction

import (
	"slices"
	"strings"
)

// resultLine says in a line how a command ended, which tests failed, and whether it ran tests at all.
func resultLine(a *action, text string, code int) (line string, failing []string, tests bool) {
	if isStub(text) { // what a stub says beyond its head is the digest already
		_, text, _ = strings.Cut(text, "\n")
	}
	d := Digest(ToolOutput{Tool: a.tool, Command: a.command, Text: text, ExitCode: code}, 200)
	pick := func(kinds ...FactKind) string {
		for _, k := range kinds {
			if i := slices.IndexFunc(d.Facts, func(f Fact) bool { return f.Kind == k }); i >= 0 {
				return d.Facts[i].Text
			}
		}
		return ""
	}
	for _, f := range d.Facts {
		if f.Kind == FactTest && len(failing) < ledgerFailing {
			if name := cutAt(oneLine(f.Text), 160); !slices.Contains(failing, name) {
				failing = append(failing, name)
			}
		}
	}
	summary := pick(FactSummary)
	line = oneLine(firstOf(summary, pick(FactError, FactExpected, FactLine)))
	return cutMark(line, 160), failing, len(failing) > 0 || summary != "" && strings.Contains(summary, "pass")
}
