package compaction

import (
	"slices"
	"strings"
)

// resultLine says in a line what came of a command, and which tests failed.
func resultLine(a *action, text string, code int) (line string, failing []string) {
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
	line = oneLine(firstOf(pick(FactSummary), pick(FactError, FactExpected, FactLine)))
	if _, ok := exitCode(line); ok && strings.HasPrefix(line, "[") { // the tool's own status, which the ledger has
		line = ""
	}
	return cutMark(line, 160), failing
}
