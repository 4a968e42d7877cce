package repair

import (
	"strconv"
	"strings"
)

// Limits on the total length of a report and a function. The model has a context of 1,024 tokens,
// of which the rest is needed for the frame of the prompt and the answer. A token of such texts
// usually has 2.3 bytes or more.
const (
	besideBytes  = 2150
	besideTokens = 870
)

// ReadBeside returns the text in which a model reads a candidate after a report, shortened to fit
// into the model's context. The function count returns the number of tokens in a text; it may be
// nil.
func (r Ranked) ReadBeside(report string, number int, count func(string) int) string {
	return fit(besideBytes-len(report), report, count, func(budget int) string {
		return withPackage(ReadWithin(budget, number, r.Function, r.Marks), r)
	})
}

// fit returns the longest text that fits after a report, trying budgets from the given one
// downwards.
func fit(budget int, report string, count func(string) int, text func(budget int) string) string {
	const least = besideBytes / 4
	for budget = max(budget, least); ; budget -= budget / 10 {
		t := text(budget)
		if count == nil || budget < least || count(report+t) <= besideTokens {
			return t
		}
	}
}

// Shows reports whether a text from [Ranked.ReadBeside] or [Read] shows a line of the function. For
// long functions, some lines are left out.
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
