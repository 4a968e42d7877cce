package compaction

import (
	"slices"
	"strings"
)

// resultLine summarises the result of a command in one line, and returns the tests that failed.
func resultLine(a *action, text string, code int) (line string, failing []string) {
	if isStub(text) { // everything after the first line of a stub is already the digest
		_, text, _ = strings.Cut(text, "\n")
	}
	d := Digest(ToolOutput{Tool: a.tool, Command: a.command, Text: withoutStatus(text), ExitCode: code}, 200)
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
	return cutMark(oneLine(pick(FactSummary, FactError, FactExpected, FactLine)), 160), failing
}
