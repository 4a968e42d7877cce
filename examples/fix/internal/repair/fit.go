package repair

import (
	"strconv"
	"strings"
)

// How long a report and a function together may be: the model has a context of 1,024 tokens, and
// what is left of it is for the frame of the prompt and the answer. A token of such texts holds 2.3
// bytes or more, but not always.
const (
	besideBytes  = 2150
	besideTokens = 870
)

// ReadBeside returns the text in which a model reads a candidate behind a report, as much of it as
// its context has room for. The count tells how many tokens a text is; it is nil where nothing
// tells.
func (r Ranked) ReadBeside(report string, number int, count func(string) int) string {
	return fit(besideBytes-len(report), report, count, func(budget int) string {
		return withPackage(ReadWithin(budget, number, r.Function, r.Marks), r)
	})
}

// fit returns the text of the largest budget, from a first one down, that has room behind a report.
func fit(budget int, report string, count func(string) int, text func(budget int) string) string {
	const least = besideBytes / 4
	for budget = max(budget, least); ; budget -= budget / 10 {
		t := text(budget)
		if count == nil || budget < least || count(report+t) <= besideTokens {
			return t
		}
	}
}

// Shows reports whether a text of [Ranked.ReadBeside] or [Read] has a line of the function: of long
// functions some are left out.
func Shows(text string, line int) bool {
	_, behind, ok := strings.Cut(text, "\n"+strconv.Itoa(line))
	for ok {
		if behind != "" && strings.ContainsRune("\t*!", rune(behind[0])) {
			return true
		}
		_, behind, ok = strings.Cut(behind, "\n"+strconv.Itoa(line))
	}
	return false
}
