package repair

import (
	"slices"
	"strings"
	"unicode"
)

// Limits of [Ranked.Parts].
const (
	partBytes = 800  // of the lines that a part covers
	partShown = 1000 // of all lines that a part shows
	maxParts  = 8
)

// Parts returns the texts in which a model reads a candidate part by part. If the text of
// [Ranked.ReadBeside] has all lines that may be at fault, Parts returns none. Each part covers a
// few consecutive lines, and also shows the first and the last line of the function and the lines
// nearby. All parts together cover all lines that failing tests ran, or all lines of the function
// if that is unknown. Names and lines of other functions are left out.
func (r Ranked) Parts(report string, number int, count func(string) int) []string {
	lines := strings.Split(r.Text, "\n")
	due, text := r.due(lines), r.ReadBeside(report, number, count)
	if !slices.ContainsFunc(due, func(i int) bool { return !Shows(text, i+1) }) {
		return nil
	}
	var parts []string
	for len(due) > 0 && len(parts) < maxParts {
		about, size, last := make([]Mark, len(lines)), 0, -1
		for len(due) > 0 && size < partBytes {
			i := due[0]
			due, about[i] = due[1:], Run
			size += len("123\t\n") + min(maxShownLine, len(strings.TrimSpace(lines[i])))
			if i > last+1 {
				size += len(gap)
			}
			last = i
		}
		parts = append(parts, fit(partShown, report, count, func(budget int) string {
			return readAbout(budget, number, r.Function, r.Marks, about)
		}))
	}
	return parts
}

// ReadLine returns a text that shows a line of a candidate to a model: the text of ReadBeside, or
// else the first text of Parts that shows the line. It returns false if none does.
func (r Ranked) ReadLine(line int, report string, number int, count func(string) int) (string, bool) {
	if text := r.ReadBeside(report, number, count); Shows(text, line) {
		return text, true
	}
	for _, text := range r.Parts(report, number, count) {
		if Shows(text, line) {
			return text, true
		}
	}
	return "", false
}

// due returns the indices of the lines that may be at fault.
func (r Ranked) due(lines []string) []int {
	known := known(r.Marks)
	var due []int
	for i, l := range lines {
		if (!known || markAt(r.Marks, i) != NotRun) && strings.ContainsFunc(bare(l), unicode.IsLetter) {
			due = append(due, i)
		}
	}
	return due
}
